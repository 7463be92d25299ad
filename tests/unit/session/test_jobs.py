import threading
from concurrent.futures import wait

import numpy as np
import pytest

from ruda.errors import RudaError, ShapeError
from ruda.progress import Cancelled, Progress
from ruda.session import JobNews, Jobs, JobState
from ruda.tensor import DType, cast


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def jobs(clock):
    jobs = Jobs(clock=clock)
    yield jobs
    assert jobs.shutdown(5.0) == ()


@pytest.fixture
def heard(jobs):
    news: list[JobNews] = []
    jobs.subscribe(news.append)
    return news


def test_a_job_lives_from_pending_to_done(jobs, heard):
    job = jobs.start("Count", lambda monitor: 42)
    assert job.result(5) == 42
    assert [n.state for n in heard] == [JobState.PENDING, JobState.RUNNING, JobState.DONE]
    assert {n.job_id for n in heard} == {job.id}
    assert jobs.live == ()
    assert [n.state for n in jobs.past] == [JobState.DONE]


def test_reports_are_thinned_to_one_per_interval(jobs, heard, clock):
    def work(monitor):
        for step in range(1, 101):
            clock.now = step / 100
            monitor.report(Progress(step, 100, "tensors"))

    job = jobs.start("Scan", work)
    job.result(5)
    told = [n.progress.done for n in heard if n.state is JobState.RUNNING and n.progress]
    assert told[0] == 1
    assert len(told) <= 21
    assert job.progress == Progress(100, 100, "tensors")
    assert heard[-1].progress == Progress(100, 100, "tensors")


def test_the_rate_is_units_per_second(jobs, clock):
    def work(monitor):
        for step in range(5):
            clock.now = step * 0.5
            monitor.report(Progress(step * 100, None, "bytes"))

    job = jobs.start("Read", work)
    job.result(5)
    assert job.rate == pytest.approx(200.0)


def test_the_rate_of_quick_reports_is_not_that_of_the_last_few(jobs, clock):
    def work(monitor):
        for step in range(1000):  # ten steps at once, then a pause
            clock.now = step // 10 * 0.01
            monitor.report(Progress(step, None, "tensors"))

    job = jobs.start("List", work)
    job.result(5)
    assert job.rate == pytest.approx(1000.0, rel=0.05)
    assert job.progress == Progress(999, None, "tensors")


def test_another_unit_starts_the_rate_anew(jobs, clock):
    def work(monitor):
        monitor.report(Progress(1000, None, "bytes"))
        clock.now = 1.0
        monitor.report(Progress(1, None, "tensors"))

    job = jobs.start("Read", work)
    job.result(5)
    assert job.rate is None


def test_a_stop_is_heard_at_the_next_check(jobs, heard):
    begun, go_on = threading.Event(), threading.Event()

    def work(monitor):
        begun.set()
        go_on.wait(5)
        monitor.check()

    job = jobs.start("Slow", work)
    begun.wait(5)
    job.cancel()
    assert heard[-1].stopping
    go_on.set()
    with pytest.raises(Cancelled, match="Slow"):
        job.result(5)
    assert heard[-1].state is JobState.CANCELLED
    assert not heard[-1].stopping


def stopped_late(jobs, lane, end):
    """A job that is asked to stop while it works, and ends without having heard of it."""
    begun, go_on = threading.Event(), threading.Event()

    def work(monitor):
        begun.set()
        go_on.wait(5)
        return end()

    job = jobs.start("Late", work, lane)
    begun.wait(5)
    assert not job.stop_asked
    job.cancel()
    go_on.set()
    wait([job.future], 5)
    assert job.stop_asked
    return job


def broken():
    raise ShapeError("the file was closed")


def test_what_is_read_after_the_stop_counts_as_cancelled(jobs):
    job = stopped_late(jobs, "read", lambda: "late")
    with pytest.raises(Cancelled, match="Late"):
        job.result(5)
    assert job.state is JobState.CANCELLED


def test_what_is_written_after_the_stop_is_written(jobs, heard):
    job = stopped_late(jobs, "write", lambda: "late")
    assert (job.result(5), job.state) == ("late", JobState.DONE)
    assert not heard[-1].stopping


@pytest.mark.parametrize(("lane", "ends"), [("read", "inside"), ("write", "after")])
def test_a_stop_reaches_the_kernels_of_what_reads(jobs, lane, ends):
    """A writer is stopped only where it asks: elsewhere a file might be left half done."""
    seen = []

    def work(monitor):
        started.wait(5)
        job.cancel()
        seen.append("inside")
        cast(np.ones(3_000_000, np.float32), DType.F32, DType.BF16)
        seen.append("after")

    started = threading.Event()
    job = jobs.start("Cast", work, lane=lane)
    started.set()
    wait([job.future], 5)
    assert seen[-1] == ends
    assert job.state is (JobState.CANCELLED if lane == "read" else JobState.DONE)


def test_a_failure_during_the_stop_is_a_stop_with_a_report(jobs):
    job = stopped_late(jobs, "read", broken)
    with pytest.raises(ShapeError, match="closed"):
        job.result(5)
    assert job.state is JobState.CANCELLED
    assert job.error is not None


def test_a_writer_that_fails_during_the_stop_has_failed(jobs):
    """Its sentence may say how it left the file."""
    job = stopped_late(jobs, "write", broken)
    assert job.state is JobState.FAILED
    assert job.error.sentence == "the file was closed"


def test_a_waiting_job_is_cancelled_at_once_and_never_runs(jobs):
    begun, go_on = threading.Event(), threading.Event()
    ran = []

    def block(monitor):
        begun.set()
        go_on.wait(5)

    first = jobs.start("First", block, lane="write")
    begun.wait(5)
    second = jobs.start("Second", lambda monitor: ran.append(1), lane="write")
    second.cancel()
    assert second.state is JobState.CANCELLED
    go_on.set()
    first.result(5)
    assert ran == []


FAILURES = [
    pytest.param(ShapeError("axis 1 is negative"), "axis 1 is negative", True, id="ruda"),
    pytest.param(ZeroDivisionError("oops"), "ZeroDivisionError: oops", False, id="fault"),
    pytest.param(ZeroDivisionError(), "ZeroDivisionError", False, id="without text"),
]


@pytest.mark.parametrize(("error", "summary", "expected"), FAILURES)
def test_a_failure_keeps_a_report(jobs, heard, error, summary, expected):
    def work(monitor):
        raise error

    job = jobs.start("Break", work)
    with pytest.raises(type(error), match=f"^{error}$"):
        job.result(5)
    assert job.state is JobState.FAILED
    assert heard[-1].error is job.error
    assert job.error.summary == summary
    assert job.error.expected is expected
    assert job.error.report.startswith(f"Break\n{summary}\n\nTraceback")


def test_the_write_lane_runs_one_at_a_time(jobs):
    inside = []
    most = []

    def work(monitor):
        inside.append(1)
        most.append(len(inside))
        inside.pop()

    for job in [jobs.start(f"w{i}", work, lane="write") for i in range(20)]:
        job.result(5)
    assert max(most) == 1


def test_a_listener_may_ask_for_the_result(jobs):
    asked = []
    made = {}

    def listen(news):
        if news.state is JobState.DONE:
            asked.append(made[news.title].result(5))

    go = threading.Event()
    jobs.subscribe(listen)
    made["Sum"] = jobs.start("Sum", lambda monitor: go.wait(5) and 7)
    go.set()
    made["Sum"].result(5)
    jobs.shutdown(5)
    assert asked == [7]


def test_a_broken_listener_does_not_take_the_job_with_it(jobs, caplog):
    def broken(news):
        raise ValueError("listener")

    jobs.subscribe(broken)
    assert jobs.start("Fine", lambda monitor: 1).result(5) == 1
    jobs.shutdown(5)
    assert "a listener of job 'Fine' failed" in caplog.text


def test_an_unsubscribed_listener_hears_nothing(jobs):
    news = []
    jobs.subscribe(news.append)()
    jobs.start("Quiet", lambda monitor: 1).result(5)
    assert news == []


def test_shutdown_names_what_did_not_stop(clock):
    jobs = Jobs(clock=clock)
    begun, go_on = threading.Event(), threading.Event()

    def deaf(monitor):
        begun.set()
        go_on.wait(10)

    job = jobs.start("Deaf work", deaf)
    begun.wait(5)
    assert jobs.shutdown(0.05) == ("Deaf work",)
    with pytest.raises(RudaError, match="Another: the program is closing"):
        jobs.start("Another", lambda monitor: 1)
    go_on.set()
    with pytest.raises(Cancelled, match="Deaf work"):
        job.result(5)


@pytest.mark.parametrize("quick", [True, False])
def test_the_end_says_what_it_waits_for(clock, quick):
    jobs = Jobs(clock=clock)
    begun, go_on = threading.Event(), threading.Event()

    def work(monitor):
        begun.set()
        while not quick and not go_on.wait(0.01):
            pass

    jobs.start("Quick", lambda monitor: None).result(5)
    jobs.start("Slow", work)
    begun.wait(5)
    told = []

    def waiting(titles):
        told.append(titles)
        go_on.set()

    assert jobs.shutdown(5.0, waiting) == ()
    assert told == ([] if quick else [("Slow",)])


def test_a_thousand_cancels_lose_nothing(jobs, heard):
    started = [jobs.start(f"j{i}", lambda monitor: monitor.check()) for i in range(1000)]
    for job in started:
        job.cancel()
    jobs.shutdown(10)
    final = [n for n in heard if n.state.is_final]
    assert len(final) == 1000
    assert jobs.live == ()
