"""TrainingRecord: exact restoring, all or nothing, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ruda.data import DataLoader, InMemDataset
from ruda.errors import (
    HeaderError,
    LoadError,
    SaveError,
    SettingError,
    StateMismatchError,
    UnsupportedContentError,
)
from ruda.nn import BatchNorm, Linear, Module, ParamId
from ruda.record import TrainingRecord
from ruda.store import TensorIndex, TensorSnapshot, collect, open_store, save
from ruda.tensor import DType, Tensor
from ruda.testing import ListBatcher


class Net(Module):
    def __init__(self, seed: int, width: int = 3) -> None:
        super().__init__()
        self.first = Linear(2, width, seed=seed)
        self.norm = BatchNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.first(x))


def loader(count: int = 10) -> DataLoader[int, list[int]]:
    return DataLoader(InMemDataset(range(count)), ListBatcher(), batch_size=3, shuffle=5)


def parts(model: Module) -> dict[str, tuple[ParamId, DType, bytes]]:
    return {
        entry.key: (entry.param.id, entry.param.dtype, entry.param.data().to_bytes())
        for entry in model.walk()
    }


USER = {
    "step": 2**70,
    "best": math.inf,
    "rate": 0.1 + 0.2,
    "name": "Ünïcode",
    "done": False,
    "none": None,
    "history": [1, 2.5, {"deep": ["x"]}],
}


def test_everything_comes_back_exactly(tmp_path: Path) -> None:
    model, data = Net(1), loader()
    next(iter(data))
    moments = {
        "m/first.weight": Tensor.from_data(np.arange(6, dtype=np.float64).reshape(2, 3)),
        "half": Tensor.from_data(np.array([1.5], dtype=ml_dtypes.bfloat16)),
        "count": Tensor.from_data(np.array(7, dtype=np.int64)),
    }
    record = TrainingRecord.capture(model, loader=data, state=moments, user=USER)
    record.save(tmp_path / "run.bpk", verify=True)

    fresh, fresh_data = Net(2), loader()
    assert parts(fresh) != parts(model)
    with TrainingRecord.open(tmp_path / "run.bpk") as opened:
        result = opened.restore(fresh, loader=fresh_data)
        assert opened.user == USER
        assert {name: type(value) for name, value in opened.user.items()} == {
            name: type(value) for name, value in USER.items()
        }
        found = opened.tensors()
    assert sorted(result.applied) == sorted(parts(model))
    assert parts(fresh) == parts(model)
    assert fresh_data.state_dict() == data.state_dict()
    assert list(found) == list(moments)
    for name, tensor in moments.items():
        assert found[name].dtype is tensor.dtype
        np.testing.assert_array_equal(found[name].numpy(), tensor.numpy())


def test_not_a_number_comes_back(tmp_path: Path) -> None:
    TrainingRecord.capture(Net(1), user={"loss": math.nan}).save(tmp_path / "run.bpk")
    with TrainingRecord.open(tmp_path / "run.bpk") as opened:
        assert math.isnan(opened.user["loss"])


def test_a_capture_is_of_its_moment(tmp_path: Path) -> None:
    model = Net(1)
    before = parts(model)
    record = TrainingRecord.capture(model)
    for entry in model.walk():
        entry.param.assign(np.zeros(entry.param.shape, np.float32), DType.F32)
    record.save(tmp_path / "run.bpk")
    with TrainingRecord.open(tmp_path / "run.bpk") as opened:
        opened.restore(model)
    assert parts(model) == before


def test_opening_reads_no_tensor(tmp_path: Path) -> None:
    TrainingRecord.capture(Net(1, width=4000)).save(tmp_path / "run.bpk")
    with TrainingRecord.open(tmp_path / "run.bpk") as opened:
        assert list(opened.model) == list(collect(Net(1)))
        assert opened.loader is None


def test_the_file_is_a_rudapack_that_anyone_can_look_at(tmp_path: Path) -> None:
    state = {"m": Tensor.from_data([1.0])}
    TrainingRecord.capture(Net(1), state=state, user={"step": 3}).save(tmp_path / "run.bpk")
    with open_store(tmp_path / "run.bpk") as index:
        assert index.format == "rudapack"
        assert [next(iter(index)), list(index)[-1]] == ["model.first.weight", "state.m"]
        assert index.metadata["ruda.record.user"] == '{"step": 3}'


def test_an_old_record_is_replaced_only_when_asked(tmp_path: Path) -> None:
    TrainingRecord.capture(Net(1), user={"step": 1}).save(tmp_path / "run.bpk")
    later = TrainingRecord.capture(Net(1), user={"step": 2})
    with pytest.raises(SaveError, match="overwrite=True"):
        later.save(tmp_path / "run.bpk")
    later.save(tmp_path / "run.bpk", overwrite=True)
    with TrainingRecord.open(tmp_path / "run.bpk") as opened:
        assert opened.user == {"step": 2}
        opened.save(tmp_path / "copy.bpk")
    assert (tmp_path / "copy.bpk").read_bytes() == (tmp_path / "run.bpk").read_bytes()


def test_another_model_moves_nothing(tmp_path: Path) -> None:
    data = loader()
    next(iter(data))
    record = TrainingRecord.capture(Net(1), loader=data)
    other, fresh_data = Net(2, width=5), loader()
    before, position = parts(other), fresh_data.state_dict()
    with pytest.raises(LoadError, match=r"first\.weight"):
        record.restore(other, loader=fresh_data)
    assert parts(other) == before
    assert fresh_data.state_dict() == position


def test_another_loader_moves_nothing() -> None:
    record = TrainingRecord.capture(Net(1), loader=loader())
    model = Net(2)
    before = parts(model)
    with pytest.raises(StateMismatchError, match="dataset length 10"):
        record.restore(model, loader=loader(11))
    with pytest.raises(StateMismatchError, match="the record holds no position"):
        TrainingRecord.capture(Net(1)).restore(model, loader=loader())
    assert parts(model) == before


NOT_PLAIN = [
    pytest.param((1, 2), r"user\['x'\] is of type tuple", id="tuple"),
    pytest.param(np.float32(1), r"user\['x'\] is of type float32", id="NumPy"),
    pytest.param([1, {"y": {3}}], r"user\['x'\]\[1\]\['y'\] is of type set", id="deep"),
    pytest.param({1: 2}, r"user\['x'\] has the key 1; keys are text", id="key"),
]


@pytest.mark.parametrize(("value", "told"), NOT_PLAIN)
def test_what_would_not_come_back_exactly_is_refused(value: Any, told: str) -> None:
    with pytest.raises(SettingError, match=told):
        TrainingRecord.capture(Net(1), user={"x": value})


def write(path: Path, metadata: dict[str, str], key: str = "model.x") -> Path:
    snapshot = TensorSnapshot.from_array(key, np.zeros(2, np.float32))
    save(TensorIndex.of([snapshot], format="test"), path, metadata=metadata)
    return path


GOOD = {"ruda.record": "1", "ruda.record.user": "{}"}
BAD = [
    pytest.param({}, "model.x", UnsupportedContentError, "holds no training record", id="weights"),
    pytest.param(
        {"ruda.record": "2"},
        "model.x",
        UnsupportedContentError,
        "holds record version '2', expected version '1'",
        id="version",
    ),
    pytest.param(GOOD, "x", HeaderError, "a record has no tensor 'x'", id="stray tensor"),
    pytest.param(
        {**GOOD, "ruda.record.user": "{"}, "model.x", HeaderError, "user .* not JSON", id="JSON"
    ),
    pytest.param(
        {**GOOD, "ruda.record.loader": "[]"}, "model.x", HeaderError, "no table: ", id="table"
    ),
]


@pytest.mark.parametrize(("metadata", "key", "error", "told"), BAD)
def test_a_file_that_is_no_record(
    tmp_path: Path, metadata: dict[str, str], key: str, error: type[Exception], told: str
) -> None:
    path = write(tmp_path / "run.bpk", metadata, key)
    with pytest.raises(error, match=told) as caught:
        TrainingRecord.open(path)
    assert type(caught.value) is error
    assert str(caught.value).startswith(str(path))
