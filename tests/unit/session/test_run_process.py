"""Models in another process: the same figures as here, and a death that ends nothing else."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from ruda.errors import DTypeError
from ruda.progress import Cancelled, Progress
from ruda.session import (
    Document,
    ModelProcess,
    RunWeights,
    TargetChoice,
    WorkError,
    load_model,
)
from ruda.session.run_frames import Frame, read_frame, write_frame
from ruda.store import Recipe, TensorIndex, TensorSnapshot, open_store, save
from ruda.store._processes import is_running

RECIPE = Recipe().with_rule(r"^net\.", "").with_adapt("pytorch-to-ruda")
IMAGES = np.random.default_rng(7).integers(0, 256, (9, 28, 28), dtype=np.uint8)
needs_signals = pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to kill with")


@pytest.fixture(scope="module")
def process() -> Iterator[ModelProcess]:
    """One process for the tests of this file; those that end it leave the next one a fresh one."""
    made = ModelProcess()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _no_stray_threads() -> None:
    """The process of this file keeps its thread from one test to the next."""


@pytest.fixture
def weights(pytorch_file: Path, digits_target: TargetChoice) -> RunWeights:
    return weights_of(pytorch_file, digits_target)


def weights_of(path: Path, choice: TargetChoice, recipe: Recipe = RECIPE) -> RunWeights:
    with open_store(path) as index:
        return RunWeights.of(Document(1, path, index, recipe), choice, 1 << 30)


def wait_until(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.005)


def is_gone(pid: int) -> bool:
    """True if there is no process of this number, not even a dead one that nobody fetched."""
    return not is_running(pid)


class Stop:
    """A monitor that can be told to stop, and remembers what was reported."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.reports: list[Progress] = []

    def report(self, progress: Progress) -> None:
        self.reports.append(progress)

    def check(self) -> None:
        if self.asked.is_set():
            raise Cancelled("stop")


# What it says


def test_the_figures_are_those_of_this_process(
    process: ModelProcess, weights: RunWeights, digits_target: TargetChoice
) -> None:
    with open_store(weights.path) as index:
        here = load_model(digits_target, index, RECIPE)
    there = process.load(weights)
    np.testing.assert_array_equal(there.outputs(IMAGES), here.outputs(IMAGES))
    outputs, layers = there.timed(IMAGES)
    np.testing.assert_array_equal(outputs, here.outputs(IMAGES))
    assert [(each.path, each.kind, each.output_shape) for each in layers] == [
        (each.path, each.kind, each.output_shape) for each in here.timed(IMAGES)[1]
    ]
    assert (there.sizes, there.warning) == (here.sizes, "")
    assert there.architecture is here.architecture


def test_it_is_kept_and_loads_again_only_what_is_another(
    process: ModelProcess, weights: RunWeights, digits_target: TargetChoice
) -> None:
    first = process.load(weights)
    pid = process.pid
    assert process.load(weights).left == first.left == ()
    other = weights_of(weights.path, digits_target, RECIPE.with_rule(r"^fc2\.bias$", "fc2.offset"))
    assert process.load(other).warning == "1 parameter keeps its initial value: fc2.bias"
    assert first.outputs(IMAGES).shape == (9, 10)
    assert process.pid == pid


def test_what_a_merge_made_of_the_weights_is_told_there_too(
    process: ModelProcess, pytorch_file: Path, digits_target: TargetChoice, tmp_path: Path
) -> None:
    path = tmp_path / "normed.safetensors"
    with open_store(pytorch_file) as index:
        values = index["net.fc2.weight"].read().copy()
        values[3] = 0
        parts = {"net.fc2.weight_v": values, "net.fc2.weight_g": np.ones((len(values), 1), "<f4")}
        made = [TensorSnapshot.from_array(key, part) for key, part in parts.items()]
        rest = [s for key, s in index.items() if key != "net.fc2.weight"]
        save(TensorIndex.of([*rest, *made], format="pytorch"), path)
    recipe = RECIPE.with_merge("weight-norm")
    with open_store(path) as index:
        here = load_model(digits_target, index, recipe)
    there = process.load(weights_of(path, digits_target, recipe))
    assert there.warning == here.warning
    assert "values became infinite or NaN: 1 of 10 directions have the length 0" in here.warning


def test_a_refusal_is_the_same_sentence(
    process: ModelProcess, weights: RunWeights, digits_target: TargetChoice
) -> None:
    with open_store(weights.path) as index:
        here = load_model(digits_target, index, RECIPE)
    small = IMAGES[:, :9, :9]
    with pytest.raises(Exception, match="expected images of 28 × 28 pixels") as expected:
        here.outputs(small)
    there = process.load(weights)
    with pytest.raises(WorkError) as told:
        there.outputs(small)
    assert str(told.value) == str(expected.value)
    assert told.value.expected
    assert "Traceback" in told.value.report
    assert there.outputs(IMAGES).shape == (9, 10), "it lives on"


def test_pixels_of_another_type_never_leave(process: ModelProcess, weights: RunWeights) -> None:
    there = process.load(weights)
    with pytest.raises(DTypeError, match="expected u8 pixels"):
        there.outputs(IMAGES.astype(object))


def test_a_file_that_took_the_place_of_the_opened_one_is_refused(
    process: ModelProcess, weights: RunWeights, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.write_bytes(weights.path.read_bytes())
    os.utime(other, ns=(1, 1))
    other.replace(weights.path)
    with pytest.raises(WorkError, match="has changed since it was opened; open it again"):
        process.load(weights)


def test_the_bundled_program_serves_by_a_word(weights: RunWeights) -> None:
    made = ModelProcess(lambda: (sys.executable, "-P", "-m", "ruda_workbench", "--run-models"))
    try:
        assert made.load(weights).outputs(IMAGES).shape == (9, 10)
    finally:
        made.close()


def test_what_a_bundle_starts_is_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    from ruda.session.run_process import command

    assert command() == (sys.executable, "--run-models")


# How it ends


@needs_signals
@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV"])
def test_a_death_amid_a_call_is_an_error_and_the_next_call_works(
    process: ModelProcess, weights: RunWeights, name: str
) -> None:
    there = process.load(weights)
    pid, number = process.pid, signal.Signals[name]
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    errors: list[WorkError] = []

    def ask() -> None:
        with pytest.raises(WorkError) as told:
            there.outputs(IMAGES)
        errors.append(told.value)

    asking = threading.Thread(target=ask)
    asking.start()
    wait_until(lambda: process.is_at_work)
    os.kill(pid, number)
    os.kill(pid, signal.SIGCONT)
    asking.join(30)
    (error,) = errors
    assert f"ended: signal {int(number)} ({name})" in str(error)
    assert not error.expected
    assert ("Segmentation fault" in error.report) == (name == "SIGSEGV")
    assert is_gone(pid)
    assert there.outputs(IMAGES).shape == (9, 10)
    assert process.pid != pid


@needs_signals
def test_a_stop_ends_a_process_that_hears_nothing(
    process: ModelProcess, weights: RunWeights
) -> None:
    there = process.load(weights)
    pid, stop = process.pid, Stop()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    timer = threading.Timer(0.1, stop.asked.set)
    timer.start()
    with pytest.raises(Cancelled):
        # More than a pipe holds: the question itself is not taken.
        there.outputs(np.zeros((400, 28, 28), np.uint8), stop)
    timer.join()
    assert is_gone(pid)
    assert there.outputs(IMAGES).shape == (9, 10)


def test_a_stop_before_the_answer_drops_it(process: ModelProcess, weights: RunWeights) -> None:
    there, stop = process.load(weights), Stop()
    expected = there.outputs(IMAGES[:2])
    stop.asked.set()
    with pytest.raises(Cancelled):
        there.outputs(IMAGES, stop)
    np.testing.assert_array_equal(there.outputs(IMAGES[:2]), expected)


@needs_signals
def test_a_death_between_two_calls_is_no_error_and_leaves_no_zombie(
    process: ModelProcess, weights: RunWeights
) -> None:
    there = process.load(weights)
    pid = process.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: is_gone(pid))
    wait_until(lambda: process.pid is None)
    assert there.outputs(IMAGES).shape == (9, 10)


def test_what_is_released_or_closed_leaves_nothing(weights: RunWeights) -> None:
    threads = set(threading.enumerate())
    made = ModelProcess()
    there = made.load(weights)
    first = made.pid
    made.release()
    assert there.outputs(IMAGES).shape == (9, 10)
    second = made.pid
    made.close()
    assert first is not None
    assert second is not None
    wait_until(lambda: is_gone(first) and is_gone(second))
    wait_until(lambda: set(threading.enumerate()) <= threads)
    with pytest.raises(Cancelled):
        made.load(weights)
    assert made.pid is None


def test_one_that_cannot_start_says_what_it_wrote(weights: RunWeights) -> None:
    made = ModelProcess(lambda: (sys.executable, "-c", "raise SystemExit('no such module')"))
    with pytest.raises(WorkError, match="ended: exit code 1") as told:
        made.load(weights)
    made.close()
    assert told.value.report == "no such module"


def test_one_that_writes_anything_else_is_ended(weights: RunWeights) -> None:
    code = "import sys, time; print('x' * 4000, flush=True); sys.stdin.read()"
    made = ModelProcess(lambda: (sys.executable, "-c", code))
    with pytest.raises(WorkError) as told:
        made.load(weights)
    made.close()
    assert "could not be read: a frame of" in told.value.report


WINDOW = """
import sys, time
from pathlib import Path
from ruda.session import Document, ModelProcess, RunWeights, TargetChoice
from ruda.store import Recipe, TensorIndex, TensorSnapshot, open_store, save
path = Path(sys.argv[1])
recipe = Recipe().with_rule("^net[.]", "").with_adapt("pytorch-to-ruda")
process = ModelProcess()
with open_store(path) as index:
    document = Document(1, path, index, recipe)
    process.load(RunWeights.of(document, TargetChoice.of("digits"), 1 << 30))
print(process.pid, flush=True)
time.sleep(60)
"""


@needs_signals
def test_it_leaves_when_its_window_is_killed(pytorch_file: Path) -> None:
    window = subprocess.Popen(
        [sys.executable, "-c", WINDOW, str(pytorch_file)], stdout=subprocess.PIPE, text=True
    )
    assert window.stdout is not None
    pid = int(window.stdout.readline())
    assert not is_gone(pid)
    window.kill()
    window.wait()
    window.stdout.close()
    wait_until(lambda: is_gone(pid) or _is_zombie(pid))


def _is_zombie(pid: int) -> bool:
    """Where no init fetches orphans, as in some containers, they stay listed."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"


# Frames


@pytest.mark.parametrize(
    "arrays",
    [
        pytest.param((), id="none"),
        pytest.param((IMAGES,), id="u8"),
        pytest.param((np.arange(6, dtype=np.float32).reshape(2, 3).T, IMAGES[:0]), id="strides"),
    ],
)
def test_a_frame_comes_as_it_went(arrays: tuple[np.ndarray, ...]) -> None:
    stream = io.BytesIO()
    write_frame(stream, Frame("kind", {"a": [1, None, "ü"]}, arrays))
    stream.seek(0)
    found = read_frame(stream)
    assert found is not None
    assert (found.kind, dict(found.values)) == ("kind", {"a": [1, None, "ü"]})
    for array, expected in zip(found.arrays, arrays, strict=True):
        np.testing.assert_array_equal(array, expected)
        assert array.dtype == expected.dtype
    assert read_frame(stream) is None


def test_a_frame_that_is_cut_short_is_the_end() -> None:
    stream = io.BytesIO()
    write_frame(stream, Frame("kind", {}, (IMAGES,)))
    for length in (0, 3, 20, len(stream.getvalue()) - 1):
        assert read_frame(io.BytesIO(stream.getvalue()[:length])) is None


def test_only_numbers_go_through() -> None:
    with pytest.raises(ValueError, match="expected numbers of a fixed size"):
        write_frame(io.BytesIO(), Frame("kind", {}, (np.array([object()]),)))
