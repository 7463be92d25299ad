from __future__ import annotations

import numpy as np
import pytest

from ruda.nn import ParamSpec
from ruda.store.nearest import NearestKeys, jaro, probe_prefixes, without_variant
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType

JARO = [
    pytest.param("MARTHA", "MARHTA", 0.9444, id="one swap"),
    pytest.param("DIXON", "DICKSONX", 0.7667, id="textbook"),
    pytest.param("JELLYFISH", "SMELLYFISH", 0.8963, id="shifted"),
    pytest.param("same", "same", 1.0, id="equal"),
    pytest.param("abc", "xyz", 0.0, id="nothing in common"),
    pytest.param("", "a", 0.0, id="empty"),
]


@pytest.mark.parametrize(("one", "other", "expected"), JARO)
def test_jaro(one: str, other: str, expected: float) -> None:
    assert jaro(one, other) == pytest.approx(expected, abs=1e-4)
    assert jaro(other, one) == pytest.approx(expected, abs=1e-4)


VARIANTS = [
    pytest.param("feature.BaseConv.weight", "feature.weight", id="middle"),
    pytest.param("BaseConv.weight", None, id="first is a field"),
    pytest.param("a.Conv", None, id="last is a parameter"),
    pytest.param("a.ABC.weight", None, id="capitals only"),
    pytest.param("a.X.weight", None, id="one letter"),
]


@pytest.mark.parametrize(("key", "expected"), VARIANTS)
def test_without_variant(key: str, expected: str | None) -> None:
    assert without_variant(key) == expected


def nearest(target: str, shape: tuple[int, ...], sources: dict[str, tuple[int, ...]]) -> object:
    unused = {k: TensorSnapshot.from_array(k, np.zeros(s)) for k, s in sources.items()}
    found = NearestKeys(unused).of(ParamSpec(target, shape, DType.F32))
    return found[0].key if found else None


NEAREST = [
    pytest.param(
        "head.proj.weight",
        (2,),
        {"head.projection.weight": (2,), "b": (2,)},
        "head.projection.weight",
        id="alike",
    ),
    pytest.param("abc", (2,), {"xyz": (2,)}, None, id="below the threshold"),
    pytest.param(
        "fc.weight",
        (2, 3),
        {"fc1.weight": (9,), "fcx.weights": (2, 3)},
        "fcx.weights",
        id="the same shape goes first",
    ),
    pytest.param(
        "fc.weight",
        (2, 3),
        {"fcs.weight": (3, 2), "fc_.weight": (9,)},
        "fcs.weight",
        id="a turned shape counts",
    ),
    pytest.param(
        "layer.7.wq",
        (2,),
        {f"layers.{n}.wq": (2,) for n in range(9)},
        "layers.7.wq",
        id="the same numbers",
    ),
    pytest.param(
        "m.Variant.weight",
        (2,),
        {"m.weight": (2,), "m.Variantt.weight": (2,)},
        "m.weight",
        id="enum variant",
    ),
    pytest.param(
        "b.weight", (2,), {"long.prefix.a.b.weight": (2,)}, "long.prefix.a.b.weight", id="prefix"
    ),
    pytest.param("a", (2,), {}, None, id="nothing is left"),
]


@pytest.mark.parametrize(("target", "shape", "sources", "expected"), NEAREST)
def test_nearest(
    target: str, shape: tuple[int, ...], sources: dict[str, tuple[int, ...]], expected: str | None
) -> None:
    assert nearest(target, shape, sources) == expected


def test_probe_counts_matches() -> None:
    hints = probe_prefixes(["m.a", "m.b", "n.c", "d"], ["a", "b", "c", "x.d"])
    assert [tuple(hint) for hint in hints] == [("strip", "m.", 2), ("add", "x.", 1)]


def test_rule_of_a_hint_takes_the_prefix_literally() -> None:
    (hint,) = probe_prefixes(["m+.a"], ["a"])
    assert hint.rule == (r"^m\+\.", "")
    (hint,) = probe_prefixes(["a"], ["$1.a"])
    assert hint.rule == ("^", "$$1.")
