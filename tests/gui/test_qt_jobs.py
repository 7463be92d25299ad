"""The bridge: every handler once, in the GUI thread, and never for an owner that is gone."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject
from pytestqt.qtbot import QtBot

from ruda.errors import SettingError
from ruda.progress import Monitor, Progress
from ruda.session import Job, JobFailure, JobNews, Jobs, JobState
from ruda_workbench.qt_jobs import Latest, QtJobs

pytestmark = pytest.mark.gui


@pytest.fixture
def bridge(qapp: QCoreApplication) -> Iterator[QtJobs]:
    made = QtJobs(Jobs())
    yield made
    assert made.shutdown() == ()
    made.deleteLater()


def until_stopped(monitor: Monitor) -> None:
    pause = threading.Event()
    while True:
        monitor.check()
        pause.wait(0.002)


def test_a_result_arrives_in_the_gui_thread(bridge: QtJobs, qtbot: QtBot) -> None:
    heard: list[tuple[int, bool]] = []
    gui = threading.current_thread()
    owner = QObject()
    bridge.start(
        "answer",
        lambda _: 42,
        owner=owner,
        done=lambda n: heard.append((n, threading.current_thread() is gui)),
    )
    qtbot.waitUntil(lambda: bool(heard))
    assert heard == [(42, True)]


def test_a_refusal_goes_to_failed(bridge: QtJobs, qtbot: QtBot) -> None:
    heard: list[JobFailure] = []

    def work(_: Monitor) -> None:
        raise SettingError("it must not be")

    bridge.start("refused", work, owner=bridge, done=lambda _: None, failed=heard.append)
    qtbot.waitUntil(lambda: bool(heard))
    assert (heard[0].summary, heard[0].expected) == ("it must not be", True)


def test_a_failure_without_a_handler_is_told(bridge: QtJobs, qtbot: QtBot) -> None:
    with qtbot.waitSignal(bridge.unhandled) as told:
        bridge.start("broken", lambda _: 1 / 0, owner=bridge, done=lambda _: None)
    assert told.args[0].error.summary.startswith("ZeroDivisionError")


def test_a_stop_goes_to_cancelled(bridge: QtJobs, qtbot: QtBot) -> None:
    heard: list[str] = []
    job = bridge.start(
        "long",
        until_stopped,
        owner=bridge,
        done=lambda _: heard.append("done"),
        cancelled=lambda: heard.append("cancelled"),
    )
    qtbot.waitUntil(lambda: job.state is JobState.RUNNING)
    job.cancel()
    qtbot.waitUntil(lambda: bool(heard))
    assert heard == ["cancelled"]


def test_an_owner_that_is_gone_hears_nothing(bridge: QtJobs, qtbot: QtBot) -> None:
    heard: list[int] = []
    gate = threading.Event()
    owner = QObject()
    with qtbot.waitSignal(bridge.news, check_params_cb=lambda news: news.state is JobState.DONE):
        bridge.start("late", lambda _: gate.wait(5), owner=owner, done=heard.append)
        owner.deleteLater()
        QCoreApplication.sendPostedEvents(owner, QEvent.Type.DeferredDelete)
        gate.set()
    assert heard == []


def test_news_carries_progress(bridge: QtJobs, qtbot: QtBot) -> None:
    seen: list[float | None] = []
    bridge.news.connect(
        lambda news: seen.append(None if news.progress is None else news.progress.fraction)
    )
    done: list[None] = []

    def work(monitor: Monitor) -> None:
        monitor.report(Progress(1, 2))

    bridge.start("half", work, owner=bridge, done=done.append)
    qtbot.waitUntil(lambda: bool(done))
    assert 0.5 in seen


def test_only_the_newest_question_is_answered(bridge: QtJobs, qtbot: QtBot) -> None:
    heard: list[int] = []
    owner = QObject()
    latest = Latest(bridge, owner)
    gate = threading.Event()

    def slow(_: Monitor) -> int:
        gate.wait(5)
        return 1

    latest.ask("first", slow, heard.append)
    latest.ask("second", lambda _: 2, heard.append)
    gate.set()
    qtbot.waitUntil(lambda: not bridge.running)
    qtbot.wait(30)
    assert heard == [2]
    assert not latest.is_waiting


def test_a_dropped_question_is_not_answered(bridge: QtJobs, qtbot: QtBot) -> None:
    heard: list[int] = []
    owner = QObject()
    latest = Latest(bridge, owner)
    latest.ask("dropped", lambda _: 1, heard.append)
    latest.drop()
    qtbot.waitUntil(lambda: not bridge.running)
    qtbot.wait(30)
    assert heard == []


def alive(prefix: str) -> int:
    """Jobs with such a title that something still refers to."""
    gc.collect()
    jobs = [thing for thing in gc.get_objects() if isinstance(thing, Job)]
    return sum(job.title.startswith(prefix) for job in jobs)


def test_a_thousand_starts_and_stops_lose_and_leak_nothing(bridge: QtJobs, qtbot: QtBot) -> None:
    ends: list[str] = []
    threads = threading.active_count()
    for number in range(1000):
        job = bridge.start(
            f"job {number}",
            until_stopped if number % 2 else (lambda _: None),
            owner=bridge,
            done=lambda _: ends.append("done"),
            cancelled=lambda: ends.append("cancelled"),
        )
        if number % 2:
            job.cancel()
    qtbot.waitUntil(lambda: len(ends) == 1000, timeout=60_000)
    assert ends.count("cancelled") == 500
    assert bridge.running == ()
    assert bridge._handlers == {}
    assert threading.active_count() <= threads + 2  # the two readers
    # `job` of this loop is left; a reader may be about to leave the last that it ran.
    qtbot.waitUntil(lambda: alive("job ") <= 1, timeout=10_000)


def test_a_job_runs_until_its_answer_is_handed_over(qapp: QCoreApplication, qtbot: QtBot) -> None:
    """Its thread may be held up between the end of the work and the news of it."""
    jobs = Jobs()
    ended, told = threading.Event(), threading.Event()

    def held_up(news: JobNews) -> None:
        if news.state.is_final:
            ended.set()
            told.wait(10)

    jobs.subscribe(held_up)
    made = QtJobs(jobs)
    heard: list[int] = []
    job = made.start("answer", lambda _: 42, owner=made, done=heard.append)
    assert ended.wait(10)
    qtbot.wait(100)
    assert jobs.live == ()
    assert (made.running, heard) == ((job,), []), "the answer is still to come"
    told.set()
    qtbot.waitUntil(lambda: not made.running)
    assert heard == [42]
    assert made.shutdown() == ()
    made.deleteLater()


def test_the_news_of_an_end_finds_the_job_gone(bridge: QtJobs, qtbot: QtBot) -> None:
    seen: list[tuple[JobState, int]] = []
    bridge.news.connect(lambda news: seen.append((news.state, len(bridge.running))))
    bridge.start("answer", lambda _: 42, owner=bridge, done=lambda _: None)
    qtbot.waitUntil(lambda: bool(seen) and seen[-1][0] is JobState.DONE)
    assert seen[-1] == (JobState.DONE, 0)


def test_shutdown_stops_what_runs(qapp: QCoreApplication, qtbot: QtBot) -> None:
    made = QtJobs(Jobs())
    heard: list[str] = []
    job = made.start(
        "long",
        until_stopped,
        owner=made,
        done=lambda _: heard.append("done"),
        cancelled=lambda: heard.append("cancelled"),
    )
    qtbot.waitUntil(lambda: job.state is JobState.RUNNING)
    assert made.shutdown() == ()
    qtbot.wait(30)
    assert (job.state, heard) == (JobState.CANCELLED, [])


def test_a_question_ends_with_its_panel(bridge: QtJobs, qtbot: QtBot) -> None:
    owner = QObject()
    latest = Latest(bridge, owner)
    latest.ask("of a panel that is closed", until_stopped, lambda _: None)
    job = bridge.running[0]
    qtbot.waitUntil(lambda: job.state is JobState.RUNNING)
    owner.deleteLater()
    QCoreApplication.sendPostedEvents(owner, QEvent.Type.DeferredDelete)
    qtbot.waitUntil(lambda: not bridge.running, timeout=2000)
    assert job.state is JobState.CANCELLED


def test_a_question_that_fails_is_told_unless_somebody_hears_it(
    bridge: QtJobs, qtbot: QtBot
) -> None:
    owner = QObject()
    latest = Latest(bridge, owner)
    heard: list[JobFailure] = []
    told: list[JobNews] = []
    bridge.unhandled.connect(told.append)
    latest.ask("heard", lambda _: 1 / 0, lambda _: None, heard.append)
    qtbot.waitUntil(lambda: not bridge.running)
    assert (len(heard), told) == (1, [])
    latest.ask("not heard", lambda _: 1 / 0, lambda _: None)
    qtbot.waitUntil(lambda: bool(told))
    assert told[0].title == "not heard"
    assert told[0].error is not None
    assert "ZeroDivisionError" in told[0].error.report
    assert not latest.is_waiting


def test_a_question_that_was_stopped_can_be_asked_again(bridge: QtJobs, qtbot: QtBot) -> None:
    owner = QObject()
    latest = Latest(bridge, owner)
    halts: list[tuple[str, Callable[[], None]]] = []
    bridge.halted.connect(lambda title, again: halts.append((title, again)))
    heard: list[int] = []
    gate = threading.Event()

    failures: list[JobFailure] = []

    def work(monitor: Monitor) -> int:
        if not gate.is_set():
            until_stopped(monitor)
        if heard:
            raise SettingError("it must not be")
        return 42

    latest.ask("stopped", work, heard.append, failures.append)
    bridge.running[0].cancel()
    qtbot.waitUntil(lambda: bool(halts))
    assert (halts[0][0], latest.is_waiting) == ("stopped", False)
    gate.set()
    halts[0][1]()
    qtbot.waitUntil(lambda: bool(heard))
    assert heard == [42]
    halts[0][1]()  # another question was asked since
    assert not latest.is_waiting
    gate.clear()
    latest.ask("stopped", work, heard.append, failures.append)
    bridge.running[0].cancel()
    qtbot.waitUntil(lambda: len(halts) == 2)
    gate.set()
    halts[1][1]()
    qtbot.waitUntil(lambda: bool(failures))
