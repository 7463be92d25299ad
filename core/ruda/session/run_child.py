"""The process in which a window's models run: it is asked through a pipe and answers through one.

A fault in a model that no exception can stop (a crash in compiled code, an endless loop, no memory
left) ends this process, and nothing else. It holds one model at a time. When the window is gone
the pipe ends, and so does the process, also amid a call.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

from ruda.errors import FileChangedError, RudaError
from ruda.progress import Progress
from ruda.session.document import TargetChoice
from ruda.session.jobs import failure_of
from ruda.session.run_frames import Frame, read_frame, write_frame
from ruda.session.runner import LoadedModel, load_model
from ruda.store import Stamp

PROGRESS_INTERVAL = 0.05
"""Seconds between two reports of a load."""
FIRST_TO_GO = "800"
"""How readily Linux ends this process when memory runs out, of 1000: before the window."""


def run_models() -> int:
    """Serve the process at the other end of standard input and output until it is gone."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything else prints is no answer
    faulthandler.enable(2)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(FIRST_TO_GO)
    # A Ctrl+C in the terminal is for the window, which ends this process when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked: queue.SimpleQueue[Frame] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(questions, asked), daemon=True).start()
    serve(asked, answers)
    return 0


def serve(asked: queue.SimpleQueue[Frame], answers: BinaryIO) -> None:
    """Answer one question after the other, for ever: one ``told``, or ``failed`` with a report."""
    room = _Room(answers)
    while True:
        frame = asked.get()
        try:
            told = room.answer(frame)
        except BaseException as error:  # noqa: BLE001 - every failure is told to the window
            failure = failure_of("in the process that runs models", error)
            told = Frame(
                "failed",
                {
                    "summary": failure.summary,
                    "report": failure.report,
                    "expected": failure.expected,
                },
            )
        write_frame(answers, told)


class _Room:
    """The model that is held, and what can be asked of it."""

    def __init__(self, answers: BinaryIO) -> None:
        self._answers = answers
        self._loaded: LoadedModel | None = None

    def answer(self, frame: Frame) -> Frame:
        if frame.kind == "load":
            self._loaded = None  # two models at once may not fit
            self._loaded = loaded = _load(frame.values, _Told(self._answers))
            sizes = [(each.path, each.kind, each.parameters) for each in loaded.sizes]
            return Frame(
                "told",
                {"left": loaded.left, "remarks": loaded.result.remarks, "sizes": sizes},
            )
        if self._loaded is None:
            raise RudaError(f"{frame.kind} was asked of a model before one was loaded")
        (images,) = frame.arrays
        if frame.kind == "outputs":
            return Frame("told", {}, (self._loaded.outputs(images),))
        outputs, layers = self._loaded.timed(images)
        times = [(each.path, each.kind, each.seconds, each.output_shape) for each in layers]
        return Frame("told", {"layers": times}, (outputs,))


def _load(values: Any, monitor: _Told) -> LoadedModel:
    from ruda.store import available_formats, open_store, recipe_from_json

    for each in available_formats():
        if hasattr(each, "header_limit"):
            each.header_limit = values["header_limit"]
    path = Path(values["path"])
    choice = TargetChoice.of(values["target"], values["settings"])
    recipe = recipe_from_json(values["recipe"])
    key = values["top_level_key"]
    with open_store(path, top_level_key=key, monitor=monitor) as index:
        if index.stamps != tuple(Stamp(*each) for each in values["stamps"]):
            raise FileChangedError(path)
        loaded = load_model(choice, index, recipe, allow_partial=True, monitor=monitor)
        for stamp in index.stamps:
            stamp.require_current()
        return loaded


class _Told:
    """A monitor whose reports go to the window; a stop comes as the end of this process."""

    def __init__(self, answers: BinaryIO) -> None:
        self._answers = answers
        self._told_at = 0.0

    def report(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._told_at < PROGRESS_INTERVAL:
            return
        self._told_at = now
        values = {"done": progress.done, "total": progress.total, "unit": progress.unit}
        write_frame(self._answers, Frame("progress", values))

    def check(self) -> None:
        pass


def _listen(questions: BinaryIO, asked: queue.SimpleQueue[Frame]) -> None:
    """Queue what is asked; leave at once when the pipe ends, whatever is being worked on."""
    status = 0
    try:
        while (frame := read_frame(questions)) is not None:
            asked.put(frame)
    except (OSError, ValueError) as error:
        os.write(2, f"what came through the pipe is no question: {error}\n".encode())
        status = 1
    finally:
        os._exit(status)


if __name__ == "__main__":
    sys.exit(run_models())
