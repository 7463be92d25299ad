"""Telling whether the process that made a file still runs: by its number, and by when it began.

A number alone does not do: systems give the numbers of ended processes to new ones, and containers
begin with the same few each time.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from ruda.store._windows import is_windows

CLOCKS_DIFFER = 3.0
"""Seconds by which the time of a file and that of a process may be apart on one machine."""
_QUERY_LIMITED, _STILL_ACTIVE = 0x1000, 259
_EPOCH_1601 = 11_644_473_600.0


def may_be_writing(process: int, since: float) -> bool:
    """True if a process of this number runs that was there at ``since`` (seconds of the epoch)."""
    if not is_running(process):
        return False
    began = began_at(process)
    return began is None or began <= since + CLOCKS_DIFFER


def is_running(process: int) -> bool:
    """True if there is a process of this number, or if the system does not say."""
    if is_windows():
        return _windows_times(process) is not None
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def began_at(process: int) -> float | None:
    """When a process began, in seconds of the epoch; None where the system does not say."""
    if is_windows():
        ticks = _windows_times(process)
        return None if ticks is None else ticks / 1e7 - _EPOCH_1601
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        lines = Path("/proc/stat").read_text().splitlines()
        booted = next(int(line.split()[1]) for line in lines if line.startswith("btime "))
        return booted + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _windows_times(process: int) -> int | None:
    """When a process of Windows began (100 ns since 1601), or None if there is none."""
    kernel: Any = _kernel32()
    handle = kernel.OpenProcess(_QUERY_LIMITED, 0, process)
    if not handle:
        return None
    try:
        code = ctypes.c_ulong()
        if kernel.GetExitCodeProcess(handle, ctypes.byref(code)) and code.value != _STILL_ACTIVE:
            return None  # it ended, and someone still holds its handle
        times = [ctypes.c_uint64() for _ in range(4)]
        kernel.GetProcessTimes(handle, *(ctypes.byref(each) for each in times))
        return times[0].value
    finally:
        kernel.CloseHandle(handle)


def _kernel32() -> Any:
    kernel = getattr(ctypes, "WinDLL")("kernel32", use_last_error=True)  # noqa: B009 - Windows only
    kernel.OpenProcess.restype = ctypes.c_void_p
    kernel.GetExitCodeProcess.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    kernel.GetProcessTimes.argtypes = [ctypes.c_void_p] * 5
    kernel.CloseHandle.argtypes = [ctypes.c_void_p]
    return kernel
