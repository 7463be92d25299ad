"""A file of a million tensors in the window while a conversion and a scan run: nothing blocks.

Two things are watched. A turn of the event loop counts the time that the GUI thread itself works:
time in which it waits for its turn says nothing of the code, so the limit of a tenth of a second is
firm. It is of a processor that does ``reference_work`` in ``REFERENCE`` seconds: where others use
it as well, the same work takes up to twice the time; that is measured before and after each step.
A heartbeat counts how late the window hears of it, which is what a person feels. Of that the
wait for Python's lock is told apart: the thread slept although its time had come, and other threads
of this process worked; a wait for a processor of a busy machine is neither. What was measured is
printed and kept as a property of the test.

``RUDA_TENSORS`` gives another number of tensors. ``RUDA_MILLION=all`` adds a rule over every key
and a comparison by structure, which take minutes.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import (
    QAbstractEventDispatcher,
    QCoreApplication,
    QEventLoop,
    QObject,
    Qt,
    QTimer,
)
from PySide6.QtWidgets import QApplication

from ruda._freeing import free_aside, free_at_once
from ruda.progress import Monitor, Progress
from ruda.session import SaveOptions, TargetChoice, plan_saving, scan_tensor
from ruda.store import (
    CastPolicy,
    Recipe,
    TensorIndex,
    TensorSnapshot,
    convert,
    open_store,
    save,
    write,
)
from ruda.tensor import DType
from ruda_workbench import GARBAGE_THRESHOLDS, operations
from ruda_workbench.application import SWITCH_INTERVAL, settle
from ruda_workbench.main_window import MainWindow
from ruda_workbench.workspaces.compare import CompareWorkspace
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = [pytest.mark.gui, pytest.mark.slow, pytest.mark.alone]

MILLION = int(os.environ.get("RUDA_TENSORS", "1000000"))
LIMIT = 0.1
"""Seconds of work that one turn of the event loop may take."""
HELD_LIMIT = 1.0
"""Seconds that other threads may have Python's lock while the window wants it. It is generous: who
has it may be waiting for a processor."""
BEAT = 0.01
"""Seconds between two heartbeats."""
REFERENCE = 0.0055
"""Seconds that ``reference_work`` takes of the processor that the limit is of."""
PAUSE = 0.01
"""Seconds that the conversion and the scan rest at each of their stops, so that they last."""
EVERYTHING = os.environ.get("RUDA_MILLION") == "all"


@dataclass(frozen=True)
class Watched:
    """The longest of each since the watchdog was last asked, in seconds."""

    worked: float
    """One turn of the event loop, in time of the GUI thread."""
    held: float
    """One wait for Python's lock, which other threads of this process had."""
    late: float
    """One wait for the next turn by the clock, which a busy machine makes longer."""

    def __str__(self) -> str:
        return "  ".join(
            f"{name} {1000 * seconds:5.0f} ms"
            for name, seconds in (("worked", self.worked), ("held", self.held), ("late", self.late))
        )


def reference_work() -> float:
    """Seconds of this thread that a loop takes which is always the same."""
    start, found = time.thread_time(), 0
    for number in range(200_000):
        found += number & 7
    return time.thread_time() - start


def queued() -> float:
    """Seconds that this thread has waited for a processor so far; 0 where the system keeps none."""
    try:
        told = Path("/proc/thread-self/schedstat").read_text()
    except OSError:
        return 0.0
    return int(told.split()[1]) / 1e9


class Watchdog(QObject):
    """Watches the turns of the GUI thread's event loop, and how late its heartbeat is."""

    def __init__(self) -> None:
        super().__init__()
        self._worst = [0.0, 0.0, 0.0]
        self._since = time.thread_time()
        self._beat_at = self._clocks()
        dispatcher = QAbstractEventDispatcher.instance()
        assert dispatcher is not None
        # Which of the two comes before the work is another matter with every dispatcher: GLib's
        # works between "about to block" and "awake", the plain one on both sides of its wait.
        dispatcher.awake.connect(self._turn, Qt.ConnectionType.DirectConnection)
        dispatcher.aboutToBlock.connect(self._turn, Qt.ConnectionType.DirectConnection)
        self._timer = QTimer(self, timerType=Qt.TimerType.PreciseTimer, interval=int(1000 * BEAT))
        self._timer.timeout.connect(self._beat)
        self._timer.start()

    @staticmethod
    def _clocks() -> tuple[float, float, float, float]:
        return time.perf_counter(), time.process_time(), time.thread_time(), queued()

    def _note(self, place: int, seconds: float) -> None:
        self._worst[place] = max(self._worst[place], seconds)

    def _turn(self) -> None:
        now = time.thread_time()
        self._note(0, now - self._since)
        self._since = now

    def _beat(self) -> None:
        now, before = self._clocks(), self._beat_at
        wall, process, own, waited = (a - b for a, b in zip(now, before, strict=True))
        late = max(0.0, wall - own - BEAT)
        self._note(1, min(max(0.0, late - waited), process - own))
        self._note(2, late)
        self._beat_at = now

    def take(self) -> Watched:
        """The longest of each since the last call."""
        found, self._worst = Watched(*self._worst), [0.0, 0.0, 0.0]
        return found


@pytest.fixture(autouse=True)
def as_the_program() -> Iterator[None]:
    """Python looks for cycles as seldom as in the program: here it would look at all tests, too."""
    thresholds, switching = gc.get_threshold(), sys.getswitchinterval()
    gc.collect()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    sys.setswitchinterval(SWITCH_INTERVAL)
    free_aside()
    yield
    free_at_once()
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(switching)


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A safetensors file of a million one-byte tensors, written by hand."""
    path = tmp_path_factory.mktemp("million") / "million.safetensors"
    kinds = ("attn.q.weight", "attn.k.weight", "mlp.up.weight", "mlp.down.weight")
    entries = (
        f'"layers.{n // 4}.{kinds[n % 4]}":'
        f'{{"dtype":"U8","shape":[1],"data_offsets":[{n},{n + 1}]}}'
        for n in range(MILLION)
    )
    header = ("{" + ",".join(entries) + "}").encode()
    header += b" " * (-len(header) % 8)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        file.write(np.arange(MILLION, dtype=np.uint32).astype(np.uint8).tobytes())
    return path


@pytest.fixture(scope="module")
def heavy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 96 MB, f32: what is converted and scanned meanwhile."""
    path = tmp_path_factory.mktemp("heavy") / "heavy.safetensors"
    values = np.random.default_rng(5).standard_normal((1024, 2048)).astype(np.float32)
    tensors = [TensorSnapshot.from_array(f"w{n}", values) for n in range(12)]
    save(TensorIndex.of(tensors, format="safetensors"), path)
    return path


class Unhurried:
    """The monitor of a job, with a rest at every stop."""

    def __init__(self, monitor: Monitor, over: threading.Event) -> None:
        self._monitor = monitor
        self._over = over

    def report(self, progress: Progress) -> None:
        self._monitor.report(progress)

    def check(self) -> None:
        self._monitor.check()
        self._over.wait(PAUSE)


class Meanwhile:
    """A conversion and a scan of statistics that run, again and again, until the person is done."""

    def __init__(self, window: MainWindow, path: Path) -> None:
        self.over = threading.Event()
        self.rounds = {"converted": 0, "scanned": 0}
        self._path = path
        self._faults: list[str] = []
        self._window = window
        self._jobs = [
            window.context.jobs.start(
                work.__name__,
                work,
                owner=window,
                done=lambda _: None,
                failed=lambda failure: self._faults.append(failure.report),
                write=write,
            )
            for work, write in ((self._convert, True), (self._scan, False))
        ]

    def _convert(self, monitor: Monitor) -> None:
        unhurried = Unhurried(monitor, self.over)
        options = SaveOptions(self._path.with_name("half.safetensors"), overwrite=True)
        with open_store(self._path) as index:
            half = convert(index, recipe=Recipe().with_cast(CastPolicy(DType.F16)))
            while not self.over.is_set():
                write(plan_saving(half, options), verify=True, monitor=unhurried)
                self.rounds["converted"] += 1

    def _scan(self, monitor: Monitor) -> None:
        unhurried = Unhurried(monitor, self.over)
        with open_store(self._path) as index:
            while not self.over.is_set():
                for snapshot in index.values():
                    scan_tensor(snapshot, monitor=unhurried)
                self.rounds["scanned"] += 1

    @property
    def ids(self) -> set[int]:
        return {job.id for job in self._jobs}

    def end(self) -> None:
        """Let both come to their ends. Both must have been at work all the time."""
        assert {job.id for job in self._window.context.jobs.running} == self.ids, self._faults
        self.over.set()
        settle(self._window)
        assert self._faults == []
        assert min(self.rounds.values()) >= 1, self.rounds


@contextmanager
def meanwhile(window: MainWindow, path: Path) -> Iterator[Meanwhile]:
    made = Meanwhile(window, path)
    try:
        yield made
        made.end()
    finally:
        made.over.set()


def settle_but(window: MainWindow, ids: set[int]) -> None:
    """Run the event loop until no other job is left and every answer has been drawn."""
    loop, quiet = QEventLoop(), 0

    def look() -> None:
        nonlocal quiet
        busy = any(job.id not in ids for job in window.context.jobs.running)
        quiet = 0 if busy else quiet + 1
        if quiet >= 3:
            loop.quit()

    timer = QTimer(interval=20)
    timer.timeout.connect(look)
    timer.start()
    loop.exec()
    timer.stop()
    QCoreApplication.processEvents()


class Person:
    """Does one thing after the other; the watchdog's findings are kept under its name."""

    def __init__(self, window: MainWindow, others: Meanwhile) -> None:
        self.found: dict[str, Watched] = {}
        self._window, self._others = window, others
        self._dog = Watchdog()
        self._dog.setParent(window)

    def does(self, name: str, act: Callable[[], object]) -> None:
        before = reference_work()
        self._dog.take()
        start = time.thread_time()
        act()
        called = time.thread_time() - start
        settle_but(self._window, self._others.ids)
        seen = self._dog.take()
        slowed = max(1.0, before / REFERENCE, reference_work() / REFERENCE)
        self.found[name] = Watched(max(called, seen.worked) / slowed, seen.held, seen.late)
        sys.stdout.write(f"{name:22} {self.found[name]}  slowed {slowed:.1f} times\n")

    def over(self, limit: float, of: Callable[[Watched], float]) -> dict[str, str]:
        """What took longer than a limit."""
        return {
            name: f"{1000 * of(seen):.0f} ms"
            for name, seen in self.found.items()
            if of(seen) > limit
        }


def test_nothing_blocks_the_window_for_a_tenth_of_a_second(
    qapp: QApplication,
    window: MainWindow,
    weights: WeightsWorkspace,
    million: Path,
    heavy: Path,
    record_property: Callable[[str, object], None],
) -> None:
    # What the first file of all imports is another matter.
    window.open_paths([heavy])
    settle(window)
    operations.close_active(window.context)
    with meanwhile(window, heavy) as others:
        person = Person(window, others)
        look_around(person, window, weights, million)
        lay_onto_itself(person, window, weights, million)
        if EVERYTHING:
            rename_everything(person, window, weights)
            compare_with_itself(person, window, weights)
        put_away(person, window, heavy)
    for name, seen in person.found.items():
        record_property(f"watchdog {name}", str(seen))
    assert person.over(LIMIT, lambda seen: seen.worked) == {}
    assert person.over(HELD_LIMIT, lambda seen: seen.held) == {}


def look_around(
    person: Person, window: MainWindow, weights: WeightsWorkspace, million: Path
) -> None:
    panel = weights.tensors
    person.does("open", lambda: window.open_paths([million]))
    assert panel.model.page is not None
    assert panel.model.page.total == MILLION
    person.does("search", lambda: panel.filter.asked.emit("layers.77", False, False))
    begin_so = sum(str(layer).startswith("77") for layer in range(MILLION // 4))
    assert panel.model.page.shown == 4 * begin_so > 0
    person.does("regex", lambda: panel.filter.asked.emit(r"77\.mlp", True, False))
    person.does("all again", lambda: panel.filter.asked.emit("", False, False))
    person.does("unfold", panel.fold.click)
    assert panel.model.rowCount() == MILLION
    down = Qt.SortOrder.DescendingOrder
    person.does("sort", lambda: panel.table.sortByColumn(0, down))
    person.does("end", panel.table.scrollToBottom)
    person.does("inspect", lambda: panel.table.select_row(5))
    person.does("convert", lambda: weights.show_view("convert"))


def lay_onto_itself(
    person: Person, window: MainWindow, weights: WeightsWorkspace, million: Path
) -> None:
    document = weights.watch.document
    assert document is not None
    target = TargetChoice.of(str(million), is_file=True)
    person.does("target", lambda: operations.choose_target(window.context, document, target))
    person.does("load diff", lambda: weights.show_view("diff"))
    assert weights.diff.page is not None
    assert weights.diff.page.total == MILLION
    person.does("next problem", lambda: window.book.run("view.next-problem"))


def rename_everything(person: Person, window: MainWindow, weights: WeightsWorkspace) -> None:
    document = weights.watch.document
    assert document is not None
    recipe = document.recipe.with_rule(r"^layers\.", "blocks.")
    person.does("rule", lambda: window.context.session.edit(document.id, "Rename", recipe))
    person.does("undo", lambda: window.book.run("edit.undo"))


def compare_with_itself(person: Person, window: MainWindow, weights: WeightsWorkspace) -> None:
    document = weights.watch.document
    assert document is not None
    compare = window.workspace("compare")
    assert isinstance(compare, CompareWorkspace)
    person.does("compare", lambda: window.show_workspace("compare"))
    person.does("other side", lambda: compare.watch.choose(1, document.id))
    assert compare.lines.page is not None
    assert compare.lines.page.headline.startswith("All of 1 000 000 tensors")
    person.does("unfold the comparison", compare.lines.fold.click)
    assert compare.lines.model.rowCount() == MILLION
    person.does("next difference", lambda: window.book.run("view.next-problem"))


def put_away(person: Person, window: MainWindow, small: Path) -> None:
    document = window.context.session.active
    assert document is not None
    person.does("close", lambda: operations.close_document(window.context, document.id))
    person.does("open another", lambda: window.open_paths([small]))
    person.does("close that", lambda: operations.close_active(window.context))
