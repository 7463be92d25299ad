"""A training that is stopped and goes on in another process ends with the same bits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# Least squares with momentum, by hand: enough of a training to have parameters, optimizer state,
# a shuffled loader with workers, and values of its own.
PROGRAM = """
import sys
import numpy as np
from ruda.data import DataLoader, InMemDataset, StackBatcher
from ruda.nn import Linear
from ruda.record import TrainingRecord
from ruda.tensor import DType, Tensor

path, stop, workers, resume = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "on"
points = np.random.Generator(np.random.PCG64(3)).normal(size=(37, 2)).astype(np.float32)
items = [{"x": p, "y": np.float32(3 * p[0] - p[1] + 0.5)} for p in points]
loader = DataLoader(
    InMemDataset(items), StackBatcher(), batch_size=5, shuffle=11, num_workers=workers
)
model, step, losses = Linear(2, 1, seed=0), 0, []
speed = {e.key: np.zeros(e.param.shape, np.float32) for e in model.walk()}
if resume:
    with TrainingRecord.open(path) as record:
        record.restore(model, loader=loader)
        speed = {name: tensor.numpy() for name, tensor in record.tensors().items()}
        step, losses = record.user["step"], record.user["losses"]
while step < stop:
    for batch in loader:
        x, y = batch["x"].numpy(), batch["y"].numpy()[:, None]
        gap = model(batch["x"]).numpy() - y
        losses.append(float((gap**2).mean()))
        slopes = {"weight": x.T @ gap / len(x), "bias": gap.mean(axis=0)}
        for entry in model.walk():
            speed[entry.key] = np.float32(0.9) * speed[entry.key] + slopes[entry.key]
            new = entry.param.data().array - np.float32(0.05) * speed[entry.key]
            entry.param.assign(new, DType.F32)
        step += 1
        if step == stop:
            break
state = {name: Tensor.from_data(array) for name, array in speed.items()}
user = {"step": step, "losses": losses}
record = TrainingRecord.capture(model, loader=loader, state=state, user=user)
record.save(path, overwrite=True)
"""


def run(path: Path, stop: int, workers: int, resume: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), str(stop), str(workers), resume],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_a_resumed_training_ends_with_the_same_bits(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.bpk", tmp_path / "parts.bpk"
    run(whole, 30, 0, "fresh")
    run(parts, 11, 2, "fresh")
    run(parts, 16, 0, "on")
    run(parts, 30, 3, "on")

    from ruda.record import TrainingRecord

    with TrainingRecord.open(whole) as one, TrainingRecord.open(parts) as other:
        assert one.user == other.user
        assert one.loader == other.loader
        assert one.user["losses"][-1] < one.user["losses"][0] / 10
        for left, right in ((one.model, other.model), (one.state, other.state)):
            assert list(left) == list(right)
            assert [s.sha256() for s in left.values()] == [s.sha256() for s in right.values()]
