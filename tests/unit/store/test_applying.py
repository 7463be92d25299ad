from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ruda import nn
from ruda.errors import LoadError, TruncatedFileError
from ruda.nn import ParamId
from ruda.progress import Cancelled, Progress
from ruda.store import CastPolicy, Cause, PathFilter, Recipe, apply
from ruda.store.index import TensorIndex
from ruda.store.snapshot import ArraySource, TensorSnapshot
from ruda.tensor import CastCounts, DType

TORCH = Recipe(adapt=("pytorch-to-ruda",))


class Net(nn.Module):
    def __init__(self) -> None:
        self.norm = nn.BatchNorm(2)
        self.fc = nn.Linear(3, 2, seed=0)


def values() -> dict[str, np.ndarray[Any, Any]]:
    return {
        "norm.weight": np.array([1.5, 2.5], np.float32),
        "norm.bias": np.array([-1.0, 1.0], np.float32),
        "norm.running_mean": np.array([0.5, 0.25], np.float32),
        "norm.running_var": np.array([4.0, 9.0], np.float32),
        "norm.num_batches_tracked": np.array(7, np.int64),
        "fc.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
        "fc.bias": np.array([1.0, 2.0], np.float32),
    }


def index(arrays: dict[str, np.ndarray[Any, Any]]) -> TensorIndex:
    snapshots = (TensorSnapshot.from_array(key, array) for key, array in arrays.items())
    return TensorIndex.of(snapshots, format="pytorch")


def state(module: nn.Module) -> dict[str, tuple[bytes, DType, int | None]]:
    return {
        e.key: (e.param.value().numpy().tobytes(), e.param.dtype, e.param.known_id)
        for e in module.walk()
    }


def array_of(module: nn.Module, key: str) -> np.ndarray[Any, Any]:
    return next(e.param for e in module.walk() if e.key == key).value().numpy()


class Broken:
    def read(self) -> np.ndarray[Any, Any]:
        raise TruncatedFileError("the file ends too early", offset=12)


def broken(key: str, shape: tuple[int, ...]) -> TensorSnapshot:
    return TensorSnapshot(key, DType.F32, shape, 4 * int(np.prod(shape)), Broken())


def test_everything_is_applied() -> None:
    module = Net()
    result = apply(index(values()), module, recipe=TORCH)
    assert result.is_success
    assert result.applied == (
        "norm.gamma",
        "norm.beta",
        "norm.running_mean",
        "norm.running_var",
        "fc.weight",
        "fc.bias",
    )
    assert (result.skipped, result.missing, result.errors) == ((), (), ())
    assert result.unused == ("norm.num_batches_tracked",)
    assert result.casts is None
    np.testing.assert_array_equal(array_of(module, "fc.weight"), values()["fc.weight"].T)
    np.testing.assert_array_equal(array_of(module, "norm.gamma"), values()["norm.weight"])


REFUSED = [
    pytest.param(
        {"fc.bias": np.zeros(3, np.float32)},
        "Shape mismatch for 'fc.bias': expected "
        r"\[2\], found \[3\]",
        id="shape",
    ),
    pytest.param(
        {"fc.bias": np.zeros(2, np.float16)},
        "DType mismatch for 'fc.bias': expected f32, found f16",
        id="dtype",
    ),
    pytest.param({"fc.bias": np.zeros(2, np.int32)}, "DType mismatch for 'fc.bias'", id="kind"),
    pytest.param(
        {"fc.bias": None},
        "1 of 6 tensors are missing in the source, 'fc.bias' first"
        ".*allow_partial=True loads the rest",
        id="missing",
    ),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_a_refused_load_changes_nothing(change: dict[str, Any], message: str) -> None:
    module = Net()
    before = state(module)
    arrays = {k: v for k, v in {**values(), **change}.items() if v is not None}
    with pytest.raises(LoadError, match=message) as caught:
        apply(index(arrays), module, recipe=TORCH)
    assert state(module) == before
    assert caught.value.result.report.totals_hold
    assert "Tensor Loading Summary" in str(caught.value.result)


def test_a_tensor_that_cannot_be_read_changes_nothing() -> None:
    module = Net()
    before = state(module)
    snapshots = dict(index(values())) | {"fc.bias": broken("fc.bias", (2,))}
    source = TensorIndex.of(snapshots.values(), format="pytorch")
    with pytest.raises(LoadError, match=r"Load error for 'fc.bias': byte 12: the file ends") as e:
        apply(source, module, recipe=TORCH)
    assert state(module) == before
    (issue,) = e.value.result.errors
    assert (issue.cause, issue.key) == (Cause.LOAD, "fc.bias")
    result = apply(source, module, recipe=TORCH, validate=False)
    assert len(result.applied) == 5
    assert [issue.key for issue in result.errors] == ["fc.bias"]


def test_partial_load_keeps_the_rest() -> None:
    module = Net()
    before = array_of(module, "fc.weight").copy()
    result = apply(index({"fc.bias": np.ones(2, np.float32)}), module, allow_partial=True)
    assert result.applied == ("fc.bias",)
    assert [m.key for m in result.missing][:2] == ["fc.weight", "norm.beta"]
    assert result.missing[0].containers == ("Struct:Net", "Struct:Linear")
    np.testing.assert_array_equal(array_of(module, "fc.weight"), before)


def test_without_validation_errors_are_only_reported() -> None:
    module = Net()
    arrays = values() | {"fc.bias": np.zeros(3, np.float32)}
    result = apply(index(arrays), module, recipe=TORCH, validate=False)
    assert not result.is_success
    assert len(result.applied) == 5


def test_a_filtered_target_is_skipped_with_or_without_source() -> None:
    arrays = {"fc.weight": values()["fc.weight"], "fc.bias": values()["fc.bias"]}
    recipe = Recipe(select=PathFilter.of("^fc.bias$"), adapt=TORCH.adapt)
    result = apply(index(arrays), Net(), recipe=recipe)
    assert result.applied == ("fc.bias",)
    assert result.skipped == (
        "fc.weight",
        "norm.beta",
        "norm.gamma",
        "norm.running_mean",
        "norm.running_var",
    )
    assert result.missing == result.unused == ()


def test_ids_of_the_file_are_restored_and_others_kept() -> None:
    module = Net()
    ids = {e.key: e.param.id for e in module.walk()}
    snapshots = dict(index(values()))
    snapshots["fc.bias"] = TensorSnapshot.from_array(
        "fc.bias", values()["fc.bias"], param_id=ParamId(77)
    )
    apply(TensorIndex.of(snapshots.values(), format="rudapack"), module, recipe=TORCH)
    assert {e.key: e.param.id for e in module.walk()} == ids | {"fc.bias": ParamId(77)}


def test_cast_counts_are_summed() -> None:
    arrays = values() | {"fc.bias": np.array([1e6, 1e-9], np.float32)}
    recipe = Recipe(adapt=TORCH.adapt, cast=CastPolicy.half())
    module = Net()
    result = apply(index(arrays), module, recipe=recipe)
    assert result.casts == CastCounts(numel=8, overflow=1, underflow=1)
    assert "1 values became infinite, 1 became zero" in str(result)
    dtypes = {e.key: e.param.dtype for e in module.walk()}
    assert (dtypes["fc.bias"], dtypes["norm.gamma"]) == (DType.F16, DType.F32)


def test_values_are_not_shared_with_the_source() -> None:
    arrays = {"fc.weight": np.zeros((3, 2), np.float32), "fc.bias": np.zeros(4, np.float32)[::2]}
    module = Net()
    apply(index(arrays), module, allow_partial=True)
    arrays["fc.bias"][:] = 5
    np.testing.assert_array_equal(array_of(module, "fc.bias"), [0, 0])


def test_cancel_changes_nothing() -> None:
    class Impatient:
        def __init__(self) -> None:
            self.done = 0

        def report(self, progress: Progress) -> None:
            self.done = progress.done

        def check(self) -> None:
            if self.done >= 3:
                raise Cancelled

    module = Net()
    before = state(module)
    with pytest.raises(Cancelled, match=r"^$"):
        apply(index(values()), module, recipe=TORCH, monitor=Impatient())
    assert state(module) == before


def test_summary_says_what_to_do() -> None:
    arrays = {f"module.{key}": array for key, array in values().items()}
    result = apply(index(arrays), Net(), allow_partial=True)
    text = str(result)
    for line in (
        "Tensor Loading Summary",
        "  missing in source            6",
        "nothing would be loaded: 0 of 6; stripping 'module.' would match 4",
        "  fc.bias   did you mean 'module.fc.bias'?",
        "  allow_partial=True loads the rest",
        "  module.norm.num_batches_tracked   (harmless)",
    ):
        assert line in text.splitlines()


def test_summary_cuts_long_lists_and_names_enum_variants() -> None:
    spec = [
        TensorSnapshot("a", DType.F32, (1,), 4, ArraySource(np.zeros(1, np.float32))),
    ]

    class Many(nn.Module):
        def __init__(self) -> None:
            self.layers = [nn.Linear(1, 1, seed=n) for n in range(8)]

    result = apply(TensorIndex.of(spec, format="x"), Many(), allow_partial=True)
    assert "  … and 6 more" in str(result).splitlines()


@pytest.mark.cases
def test_real_file_fills_its_model(cases: Any) -> None:
    from ruda.models import get
    from ruda.store import open_store

    model = get("import-mnist").build()
    with open_store(cases / "models" / "burn_import_mnist" / "mnist.pt") as source:
        result = apply(source, model, recipe=TORCH)
        expected = source["fc2.weight"].read().T
    assert len(result.applied) == 18
    assert result.unused == ("norm1.num_batches_tracked", "norm2.num_batches_tracked")
    np.testing.assert_array_equal(array_of(model, "fc2.weight"), expected)
