"""Running models in a process of their own, so that a window outlives whatever they do.

``ModelProcess`` starts one when it is first needed and keeps it, with the model in it, for the next
run. A process that dies is an error of the run that was on, and the next run starts another.
"""

from __future__ import annotations

import contextlib
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ruda.errors import SettingError
from ruda.progress import SILENT, Cancelled, Monitor, Progress
from ruda.session.document import Document, TargetChoice
from ruda.session.jobs import WorkError
from ruda.session.run_frames import Frame, read_frame, write_frame
from ruda.session.runner import caution_text

if TYPE_CHECKING:
    import subprocess

    from ruda.models import Architecture
    from ruda.nn import LayerSize, LayerTime
    from ruda.store import Recipe, Stamp

Array = np.ndarray[Any, Any]

FROZEN_WORD = "--run-models"
"""First argument of a bundled program that is to be this process, not a window."""
STOP_GRACE = 0.5
"""Seconds that a call may still take after a stop was asked for; then its process is ended."""
END_GRACE = 0.5
"""Seconds that a process may take to leave when its pipe is closed."""
POLL = 0.05
"""Seconds between two looks whether a stop was asked for."""
REPORT_TAIL = 20_000
"""Bytes of what a process wrote before it died that its report keeps."""


def command() -> tuple[str, ...]:
    """What starts the process: this interpreter, or the bundled program itself."""
    if getattr(sys, "frozen", False):
        return (sys.executable, FROZEN_WORD)
    # -P: a folder in which the program was started must not lend it modules.
    code = "import sys; from ruda.session import run_models; sys.exit(run_models())"
    return (sys.executable, "-P", "-c", code)


@dataclass(frozen=True, slots=True)
class RunWeights:
    """Which weights stand in which model: everything that the process needs to load them."""

    path: Path
    top_level_key: str | None
    stamps: tuple[Stamp, ...]
    """The files as they were opened; another file of the same name is refused."""
    recipe: Recipe
    choice: TargetChoice
    header_limit: int = 1 << 30

    @classmethod
    def of(cls, document: Document, choice: TargetChoice, header_limit: int) -> RunWeights:
        """Those of a document, in the model of a choice. Raises SettingError for a file."""
        if choice.is_file:
            raise SettingError(f"{choice.name}: a weights file cannot be run; name an architecture")
        return cls(
            document.path,
            document.top_level_key,
            document.index.stamps,
            document.recipe,
            choice,
            header_limit,
        )

    def frame(self) -> Frame:
        """The question that loads them. Raises RecipeError for a recipe that no file can hold."""
        from ruda.store import recipe_to_json, with_absolute_files

        return Frame(
            "load",
            {
                "path": str(self.path),
                "top_level_key": self.top_level_key,
                "stamps": self.stamps,
                "recipe": recipe_to_json(with_absolute_files(self.recipe)),
                "target": self.choice.name,
                "settings": dict(self.choice.settings),
                "header_limit": self.header_limit,
            },
        )


@dataclass(frozen=True, slots=True, eq=False)
class RemoteModel:
    """A model that stands in another process; ``Runnable`` as a ``LoadedModel`` is.

    Where the process was ended meanwhile, the next call starts one and loads the model again.
    """

    process: ModelProcess
    weights: RunWeights
    left: tuple[str, ...]
    """Parameters that keep their initial value."""
    remarks: tuple[str, ...]
    """What computing the weights found."""
    sizes: tuple[LayerSize, ...]

    @property
    def architecture(self) -> Architecture:
        """What it is, and what it takes."""
        from ruda.models import get

        return get(self.weights.choice.name)

    @property
    def warning(self) -> str:
        """Said above every output; empty when every parameter was filled with numbers."""
        return caution_text(self.left, self.remarks)

    def outputs(self, images: Array, monitor: Monitor = SILENT) -> Array:
        """f32 (item, class) for stacked pictures of items.

        Raises WorkError where the model does not take them, or its process died.
        """
        return self._ask("outputs", images, monitor).arrays[0]

    def timed(
        self, images: Array, monitor: Monitor = SILENT
    ) -> tuple[Array, tuple[LayerTime, ...]]:
        """The same, and the time of every layer. Raises as ``outputs``."""
        from ruda.nn import LayerTime

        told = self._ask("timed", images, monitor)
        layers = [
            LayerTime(path, kind, seconds, tuple(shape))
            for path, kind, seconds, shape in told.values["layers"]
        ]
        return told.arrays[0], tuple(layers)

    def _ask(self, kind: str, images: Array, monitor: Monitor) -> Frame:
        if images.dtype != np.uint8:
            self.architecture.input.prepare(images)  # says what is expected instead
        return self.process.ask(self.weights, Frame(kind, {}, (images,)), monitor)


class ModelProcess:
    """The process that runs models: started when needed, kept, and started anew when it died.

    Every method may be called from any thread; questions are answered one after the other.
    """

    def __init__(self, start: Callable[[], Sequence[str]] = command) -> None:
        self._command = start
        self._turn = threading.Lock()
        self._child: _Child | None = None
        self._held: tuple[RunWeights, Frame] | None = None
        self._closed = False
        self._at_work = False

    @property
    def pid(self) -> int | None:
        """Number of the process; None while there is none."""
        child = self._child
        return None if child is None or child.is_over else child.pid

    @property
    def is_at_work(self) -> bool:
        """True while an answer is due."""
        return self._at_work

    def load(self, weights: RunWeights, monitor: Monitor = SILENT) -> RemoteModel:
        """The model with these weights in it; at once where it is the one that is held.

        Raises WorkError with the sentence of what refuses them, and Cancelled.
        """
        from ruda.nn import LayerSize

        with self._my_turn(monitor):
            told = self._with(weights, monitor)
        sizes = [LayerSize(path, kind, count) for path, kind, count in told.values["sizes"]]
        left, remarks = (tuple(told.values[name]) for name in ("left", "remarks"))
        return RemoteModel(self, weights, left, remarks, tuple(sizes))

    def ask(self, weights: RunWeights, question: Frame, monitor: Monitor = SILENT) -> Frame:
        """What a model says; it is loaded first where it is not held. Raises as ``load``."""
        with self._my_turn(monitor):
            self._with(weights, monitor)
            return self._answer(question, monitor)

    def release(self) -> None:
        """End the process, unless it is at work: its memory is given back."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            child, self._child, self._held = self._child, None, None
            if child is not None:  # not in the thread of the window, which would wait for it
                threading.Thread(target=child.end, name="ruda-run-end", daemon=True).start()
        finally:
            self._turn.release()

    def close(self) -> None:
        """End the process, also amid a call, which fails then; nothing is started afterwards."""
        self._closed = True
        self._end()

    @contextmanager
    def _my_turn(self, monitor: Monitor) -> Iterator[None]:
        while not self._turn.acquire(timeout=POLL):
            monitor.check()
        try:
            yield
        finally:
            self._turn.release()

    def _with(self, weights: RunWeights, monitor: Monitor) -> Frame:
        """What loading the weights told, now or before."""
        child, held = self._child, self._held
        if child is not None and not child.is_over and held is not None and held[0] == weights:
            return held[1]
        self._held = None
        told = self._answer(weights.frame(), monitor)
        self._held = (weights, told)
        return told

    def _answer(self, question: Frame, monitor: Monitor) -> Frame:
        monitor.check()
        child = self._child
        if child is None or child.is_over:
            self._end()
            self._child = child = _Child(self._command())
        if self._closed:
            self._end()
            raise Cancelled("the window is closing")
        child.send(question)
        self._at_work = True
        try:
            told = child.receive(monitor)
        except Cancelled:
            # A call that is nearly done may end; one that hears nothing is ended.
            if not child.is_quiet_within(STOP_GRACE):
                child.kill()
                self._end()
            raise
        finally:
            self._at_work = False
        if told is None:
            if self._closed:
                raise Cancelled("the window is closing")
            death = child.death()
            self._end()
            raise death
        if told.kind == "failed":
            raise WorkError(
                told.values["summary"], told.values["report"], expected=told.values["expected"]
            )
        return told

    def _end(self) -> None:
        child, self._child, self._held = self._child, None, None
        if child is not None:
            child.end()


class _Child:
    """One process, from its start to its end, and the thread that hears its answers."""

    def __init__(self, words: Sequence[str]) -> None:
        # Here, because a window that runs no model does not need them.
        import subprocess
        import tempfile

        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end()
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError:
            self._words.close()
            raise
        self._answers: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self._over = threading.Event()
        self._noise = ""
        self._ear = threading.Thread(target=self._listen, name="ruda-run", daemon=True)
        self._ear.start()
        self._mouth: threading.Thread | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def send(self, frame: Frame) -> None:
        """Put a question; in a thread, because a process that stands still reads nothing."""
        self._mouth = threading.Thread(
            target=self._tell, args=(frame,), name="ruda-run-ask", daemon=True
        )
        self._mouth.start()

    def receive(self, monitor: Monitor) -> Frame | None:
        """The answer; None where the process died. Raises Cancelled from the monitor."""
        while True:
            monitor.check()
            try:
                frame = self._answers.get(timeout=POLL)
            except queue.Empty:
                continue
            if frame is None or frame.kind != "progress":
                return frame
            told = frame.values
            monitor.report(Progress(told["done"], told["total"], told["unit"]))

    def is_quiet_within(self, seconds: float) -> bool:
        """Wait for the answer that is due and drop it; False where none comes in time."""
        end = time.monotonic() + seconds
        while True:
            try:
                frame = self._answers.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return False
            if frame is None or frame.kind != "progress":
                return frame is not None

    def death(self) -> WorkError:
        """Why there is no answer, with all that the process wrote."""
        code = self._process.wait()
        summary = (
            f"the process that ran the model ended: {_cause(code)}. The window and its documents "
            "are as they were; the next run starts a new process"
        )
        report = "\n\n".join(filter(None, (self._noise, self._written())))
        return WorkError(summary, report or "It wrote nothing.", expected=False)

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def end(self) -> None:
        """Close the pipe, and end the process where it does not leave by itself. Waits for it."""
        process = self._process
        if self._mouth is not None and self._mouth.is_alive():
            process.kill()  # it reads nothing, so it would not hear of the end
        else:
            _close(process.stdin)
        if not self._over.wait(END_GRACE):
            process.kill()
        for thread in (self._mouth, self._ear):
            if thread is not None:
                thread.join()
        _close(process.stdin)
        self._words.close()

    def _tell(self, frame: Frame) -> None:
        assert self._process.stdin is not None
        # Where it is gone, the one who waits for the answer hears of it.
        with contextlib.suppress(OSError, ValueError):
            write_frame(self._process.stdin, frame)  # type: ignore[arg-type]

    def _listen(self) -> None:
        process = self._process
        assert process.stdout is not None
        try:
            while (frame := read_frame(process.stdout)) is not None:  # type: ignore[arg-type]
                self._answers.put(frame)
        except (OSError, ValueError, KeyError, TypeError) as error:
            self._noise = f"Its answer could not be read: {error}"
            process.kill()
        process.wait()
        process.stdout.close()
        self._over.set()
        self._answers.put(None)

    def _written(self) -> str:
        size = self._words.seek(0, 2)
        self._words.seek(max(0, size - REPORT_TAIL))
        return self._words.read().decode("utf-8", "replace").strip()


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with contextlib.suppress(OSError):  # what was not sent yet has no one to hear it
            pipe.close()


def _cause(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        name = f" ({signal.Signals(-code).name})"
    except ValueError:
        name = ""
    more = ", as the system does when memory runs out" if -code == 9 else ""
    return f"signal {-code}{name}{more}"
