"""The columns of a load diff say what its rows say, and equal headers are judged alike."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ruda.nn import ModuleSpec, ParamSpec
from ruda.store import (
    CastPolicy,
    Decision,
    KeyRemapper,
    ModuleAdapter,
    PathFilter,
    Recipe,
    RemapRule,
    Status,
    TensorIndex,
    TensorSnapshot,
    diff,
    fold,
)
from ruda.store.adapt import Chaining, adapter_named, pieces_of
from ruda.store.regroup import Piece
from ruda.store.snapshot import ArraySource
from ruda.tensor import DType

SOURCE = ArraySource(np.zeros(1, np.uint8))
DTYPES = [DType.F32, DType.F16, DType.I64, DType.BOOL, DType.QINT8]
KINDS = ["Linear", "BatchNorm", "PRelu", "MultiHeadAttention", "Mine"]
ADAPTERS = ["pytorch-to-ruda", "ruda-to-pytorch", "gpt2-to-ruda", "tied-head", "rope-to-pairs:1"]

keys = st.builds(
    ".".join,
    st.tuples(
        st.sampled_from(["a", "b", "module", "1"]),
        st.sampled_from(["wq", "c_fc", "lm_head", "embed_tokens", "query"]),
        st.sampled_from(["weight", "bias", "gamma", "alpha", "num_batches_tracked"]),
    ),
)
shapes = st.sampled_from([(), (2,), (2, 3), (3, 2), (2, 2), (6, 2), (0, 2)])
recipes = st.builds(
    Recipe,
    select=st.sampled_from([PathFilter(), PathFilter.of("weight"), ~PathFilter.of("^a")]),
    remap=st.builds(
        KeyRemapper,
        st.lists(
            st.builds(
                RemapRule,
                st.sampled_from([r"^module\.", "^a", r"(\w+)$", "1"]),
                st.sampled_from(["", "b", "${0}", "a"]),
            ),
            max_size=2,
        ).map(tuple),
    ),
    adapt=st.lists(st.sampled_from(ADAPTERS), max_size=2, unique=True).map(tuple),
    cast=st.sampled_from([None, CastPolicy.every(DType.F16), CastPolicy.half(DType.BF16)]),
    decide=st.sets(keys, max_size=2).map(lambda some: tuple(map(Decision, sorted(some)))),
)


def _snapshot(key: str, shape: tuple[int, ...], dtype: DType) -> TensorSnapshot:
    return TensorSnapshot(key, dtype, shape, 0, SOURCE)


sources = st.lists(
    st.builds(_snapshot, keys, shapes, st.sampled_from(DTYPES)),
    unique_by=lambda s: s.key,
    max_size=12,
).map(lambda some: TensorIndex.of(some, format="pytorch"))
targets = st.lists(
    st.builds(
        ParamSpec,
        keys,
        shapes,
        st.sampled_from(DTYPES),
        st.sampled_from(KINDS).map(lambda kind: ("Struct:Model", "", f"Struct:{kind}")),
        st.none(),
    ),
    unique_by=lambda p: p.key,
    max_size=12,
).map(lambda some: ModuleSpec(tuple(some)))


@dataclass(frozen=True)
class Unpromised(Chaining):
    """An adapter of the house that does not say what it looks at: every row is judged alone."""

    inner: ModuleAdapter

    @property
    def name(self) -> str:
        return self.inner.name

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        return self.inner.adapt(snapshot)

    def alternative_name(self, name: str, kind: str | None) -> str | None:
        return self.inner.alternative_name(name, kind)

    def pieces(self, key: str, containers: tuple[str, ...]) -> tuple[tuple[Piece, ...], ...]:
        return pieces_of(self.inner, key, containers)

    def reverse(self) -> ModuleAdapter:
        return self.inner.reverse()


@given(sources, st.one_of(targets, sources), recipes)
def test_columns_say_what_the_rows_say(
    source: TensorIndex, target: ModuleSpec | TensorIndex, recipe: Recipe
) -> None:
    report = diff(source, target, recipe=recipe)
    table, rows = report.table, list(report.rows)
    kinds = [table.known[kind] for kind in table.kinds]
    assert [(k.status, k.cause) for k in kinds] == [(row.status, row.cause) for row in rows]
    assert table.keys == [row.key for row in rows]
    assert table.source_keys == [row.source_key for row in rows]
    assert table.target_keys == [row.target_key for row in rows]
    assert table.uses() == Counter(s.key for row in rows for s in row.sources)
    assert report.counts == {s: sum(row.status is s for row in rows) for s in Status}
    wanted = [row for row in rows if row.target is not None]
    taken = [row for row in wanted if row.status is Status.APPLIED]
    assert report.coverage == (
        len(taken),
        len(wanted),
        sum(row.numel for row in taken),
        sum(row.numel for row in wanted),
    )
    grouped: dict[str, list[str]] = {}
    for row in rows:
        grouped.setdefault(fold(row.key), []).append(row.key)
    assert {f.name: [row.key for row in f.rows] for f in report.families()} == grouped


@given(sources, targets, recipes)
def test_equal_headers_are_judged_as_each_one_would_be(
    source: TensorIndex, target: ModuleSpec, recipe: Recipe
) -> None:
    alone = Recipe(
        recipe.select,
        recipe.remap,
        tuple(Unpromised(adapter_named(str(name))) for name in recipe.adapt) or (_idle(),),
        recipe.cast,
        recipe.decide,
    )
    fast, slow = diff(source, target, recipe=recipe), diff(source, target, recipe=alone)
    assert [row.as_data() for row in fast.rows] == [row.as_data() for row in slow.rows]
    assert (fast.counts, fast.coverage) == (slow.counts, slow.coverage)
    assert len(set(slow.table.kinds[: len(target)])) == len(target)


def _idle() -> ModuleAdapter:
    return Unpromised(adapter_named("tied-head").reverse())
