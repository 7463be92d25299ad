"""A child process that is stopped at each system call that changes files, to end or fail it there.

Linux on x86-64 only; ``can_trace`` says whether this machine lets us. Nothing depends on how a save
is written, only on what it asks the system for. Run it where there are no other children.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_TRACEME, _SYSCALL, _GETREGS, _SETREGS, _SETOPTIONS, _SYSCALL_INFO = (
    *(0, 24, 12, 13),
    *(0x4200, 0x420E),
)
_SYSGOOD, _CLONE, _EXITKILL = 1, 8, 1 << 20
_STOPPED_IN_CALL = signal.SIGTRAP | 0x80
_WALL = 0x40000000
_CREAT = 0o100
_REGISTERS = 27
_RAX, _RDX, _ORIG_RAX = 10, 12, 15

WRITES = {"write": 1, "pwrite64": 18, "writev": 20, "pwritev": 296, "pwritev2": 328}
OF_HANDLES = {
    **WRITES,
    **{"fsync": 74, "fdatasync": 75, "ftruncate": 77, "fchmod": 91, "fchown": 93},
    **{"fallocate": 285, "sync_file_range": 277},
}
OF_OUTPUTS = {"sendfile": 40, "copy_file_range": 326, "splice": 275}
OF_NAMES = {
    **{"truncate": 76, "rename": 82, "mkdir": 83, "rmdir": 84, "creat": 85, "link": 86},
    **{"unlink": 87, "symlink": 88, "chmod": 90, "chown": 92, "unlinkat": 263},
    **{"renameat": 264, "linkat": 265, "fchmodat": 268, "renameat2": 316},
}
_OPENS = {2: ("open", 1), 257: ("openat", 2)}
_NAMES = {number: name for name, number in (OF_HANDLES | OF_OUTPUTS | OF_NAMES).items()}
_BEHIND_OUR_BACK = {425: "io_uring_setup"}


class Fate(Enum):
    """What becomes of the step that was chosen."""

    KILLED = "the process ends before it"
    TORN = "half of the bytes are written, and then the process ends"
    SHORT = "half of the bytes are written, and the process is told so"


@dataclass(frozen=True)
class Run:
    """What a child did."""

    steps: tuple[str, ...]
    """The calls that change files, as far as it came."""
    ended: bool
    """False if it was killed."""
    said: str = ""
    """The error that it ended with; empty if none."""


def can_trace() -> bool:
    """True if this machine can run what is here."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    try:
        return run(lambda: None, Path("/")).ended
    except OSError:
        return False


def run(
    work: Callable[[], object],
    folder: Path,
    *,
    at: int | None = None,
    fate: Fate | int = Fate.KILLED,
    look: Callable[[str], None] | None = None,
) -> Run:
    """Run ``work`` in a child; let ``fate`` befall its step ``at`` (an int: the error it gets).

    ``look`` is called before each step with its name, while the child stands still. Raises OSError
    where tracing is not allowed.
    """
    told, telling = os.pipe()
    child = os.fork()
    if not child:
        os.close(told)
        _live(work, telling)
    os.close(telling)
    try:
        tracer = _Tracer(child, folder, at, fate, look)
        ended = tracer.follow()
        with os.fdopen(told, "rb", closefd=False) as pipe:
            said = pipe.read().decode()
    finally:
        os.close(told)
    return Run(tuple(tracer.steps), ended, said)


def _live(work: Callable[[], object], telling: int) -> None:
    code = 1
    try:
        if _ptrace(_TRACEME, 0, 0, 0):
            os._exit(3)
        os.kill(os.getpid(), signal.SIGSTOP)
        work()
        code = 0
    except BaseException as error:  # noqa: BLE001 - it is told to the parent
        line = f"{type(error).__name__}: {error}"
        known = type(error).__module__.startswith("ruda.")
        os.write(telling, (line if known else line + "\n" + traceback.format_exc()).encode())
    finally:
        os._exit(code)


class _Tracer:
    def __init__(
        self,
        child: int,
        folder: Path,
        at: int | None,
        fate: Fate | int,
        look: Callable[[str], None] | None,
    ) -> None:
        self.steps: list[str] = []
        self._child = child
        self._folder = os.fspath(folder.resolve())
        self._at = at
        self._fate = fate
        self._look = look
        self._owed: dict[int, Fate | int] = {}
        # A process that dies does not divide a write within one sector.
        self._least = 512 if fate is Fate.TORN else 1

    def follow(self) -> bool:
        """Let the child run to its end; False if it was killed on the way."""
        _, status = os.waitpid(self._child, 0)
        if not os.WIFSTOPPED(status):
            raise OSError(errno.EPERM, "a child cannot be traced here")
        _ptrace(_SETOPTIONS, self._child, 0, _SYSGOOD | _CLONE | _EXITKILL)
        _ptrace(_SYSCALL, self._child, 0, 0)
        while True:
            task, status = os.waitpid(-1, _WALL)
            if not os.WIFSTOPPED(status):
                if task == self._child:
                    return os.WIFEXITED(status)
                continue
            stop = os.WSTOPSIG(status)
            if stop == _STOPPED_IN_CALL and self._in_call(task):
                os.kill(self._child, signal.SIGKILL)
                continue
            passed = 0 if stop in (_STOPPED_IN_CALL, signal.SIGTRAP, signal.SIGSTOP) else stop
            _ptrace(_SYSCALL, task, 0, passed)

    def _in_call(self, task: int) -> bool:
        """Act at the beginning or the end of a call; True if the child has to die now."""
        info = ctypes.create_string_buffer(88)
        _ptrace(_SYSCALL_INFO, task, len(info), ctypes.addressof(info))
        if info.raw[0] == 1:
            number, *arguments = struct.unpack_from("<7Q", info.raw, 24)
            return self._at_entry(task, number, arguments)
        owed = self._owed.pop(task, None)
        if owed is Fate.TORN:
            return True
        if isinstance(owed, int):
            self._change(task, {_RAX: -owed & (1 << 64) - 1})
        return False

    def _at_entry(self, task: int, number: int, arguments: list[int]) -> bool:
        name = self._name(number, arguments)
        if name is None:
            return False
        if self._look is not None:
            self._look(name)
        self.steps.append(name)
        if len(self.steps) - 1 != self._at:
            return False
        if self._fate is Fate.KILLED:
            return True
        if isinstance(self._fate, int):
            self._change(task, {_ORIG_RAX: (1 << 64) - 1})
        elif name in ("write", "pwrite64") and arguments[2] > self._least:
            self._change(task, {_RDX: arguments[2] // 2})
        self._owed[task] = self._fate
        return False

    def _name(self, number: int, arguments: list[int]) -> str | None:
        if number in _BEHIND_OUR_BACK:
            raise AssertionError(f"{_BEHIND_OUR_BACK[number]} would hide what is written")
        if number in _OPENS:
            name, place = _OPENS[number]
            return f"{name} to create" if arguments[place] & _CREAT else None
        found = _NAMES.get(number)
        if found in OF_HANDLES and not self._is_ours(arguments[0]):
            return None
        return found

    def _is_ours(self, handle: int) -> bool:
        try:
            return os.readlink(f"/proc/{self._child}/fd/{handle}").startswith(self._folder)
        except OSError:
            return False

    def _change(self, task: int, values: dict[int, int]) -> None:
        registers = (ctypes.c_uint64 * _REGISTERS)()
        _ptrace(_GETREGS, task, 0, ctypes.addressof(registers))
        for place, value in values.items():
            registers[place] = value
        _ptrace(_SETREGS, task, 0, ctypes.addressof(registers))


def _ptrace(request: int, task: int, address: int, data: int) -> int:
    function = ctypes.CDLL(None, use_errno=True).ptrace
    function.restype = ctypes.c_long
    function.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    return int(function(request, task, address, data))
