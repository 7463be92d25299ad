from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ruda import nn
from ruda.errors import AdapterError, KeyCollisionError
from ruda.nn import ParamId
from ruda.store import CastPolicy, KeyRemapper, PathFilter, Recipe, convert
from ruda.store.index import TensorIndex, TreeNode
from ruda.store.snapshot import ArraySource, TensorSnapshot
from ruda.tensor import DType

TORCH = Recipe(adapt=("pytorch-to-ruda",))


def index(shapes: dict[str, tuple[int, ...]], **fields: Any) -> TensorIndex:
    snapshots = (
        TensorSnapshot.from_array(
            key, np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
        )
        for key, shape in shapes.items()
    )
    return TensorIndex.of(snapshots, **{"format": "pytorch", **fields})


LAYERS = {
    "fc.weight": (2, 3),
    "fc.bias": (2,),
    "bn.weight": (2,),
    "bn.bias": (2,),
    "bn.running_mean": (2,),
    "bn.running_var": (2,),
}


def made(source: TensorIndex, recipe: Recipe, **options: Any) -> dict[str, tuple[Any, ...]]:
    view = convert(source, recipe=recipe, **options)
    return {s.key: (s.shape, str(s.dtype), s.trail) for s in view.values()}


def test_nothing_to_do_is_the_source_itself() -> None:
    source = index(LAYERS)
    assert convert(source, recipe=Recipe()) is source


def test_kinds_are_inferred_and_noted() -> None:
    view = convert(index(LAYERS), recipe=TORCH)
    assert list(view) == [
        "fc.weight",
        "fc.bias",
        "bn.gamma",
        "bn.beta",
        "bn.running_mean",
        "bn.running_var",
    ]
    assert (view["fc.weight"].shape, view["fc.weight"].trail) == ((3, 2), ("transpose 1,0",))
    np.testing.assert_array_equal(view["fc.weight"].read(), [[0, 3], [1, 4], [2, 5]])
    assert view.notes == ("kinds of module inferred from names and shapes: 1 BatchNorm, 1 Linear",)


def test_a_target_without_the_keys_is_not_said_to_be_missing() -> None:
    said = "kinds of module inferred from names and shapes: 1 Linear"
    source = index({"fc.weight": (2, 3), "fc.bias": (2,)})
    owners = ("Struct:Net", "Struct:Linear")
    other, weight = (
        nn.ModuleSpec((nn.ParamSpec(key, (3, 2), DType.F32, owners),))
        for key in ("other.weight", "fc.weight")
    )
    view = convert(source, recipe=TORCH, target=other)
    assert view.notes == (f"the target has none of these keys: {said}",)
    source = index({"fc.weight": (2, 3), "head.weight": (2, 3), "head.bias": (2,)})
    view = convert(source, recipe=TORCH, target=weight)
    assert view.notes == (f"the target does not have every key: {said}",)


def test_half_leaves_batch_norm() -> None:
    recipe = Recipe(adapt=TORCH.adapt, cast=CastPolicy.half(keep=["BatchNorm"]))
    found = made(index(LAYERS), recipe)
    assert found["fc.weight"] == ((3, 2), "f16", ("transpose 1,0", "cast f16"))
    assert found["bn.running_var"] == ((2,), "f32", ())
    assert found["bn.gamma"] == ((2,), "f32", ("rename",))


def test_an_open_matrix_is_left_and_reported() -> None:
    view = convert(index({"x.weight": (2, 3)}), recipe=TORCH)
    assert view["x.weight"].shape == (2, 3)
    assert view.notes == (
        "1 module could be Embedding or Linear: only what is the same for both was done; "
        "name a target model to decide",
        "the adapter 'pytorch-to-ruda' touches nothing: no tensor that is taken has the names and "
        "the kind of module that it is for",
    )


def test_a_target_decides() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            self.x = nn.Linear(3, 2, bias=False, seed=0)
            self.norm = nn.BatchNorm(2)

    source = index({"m.x.weight": (2, 3), "m.norm.weight": (2,), "m.other.weight": (2, 3)})
    spec = nn.ModuleSpec.of(Net())
    found = made(source, TORCH.with_rule(r"^m\.", ""), target=spec)
    assert found == {
        "x.weight": ((3, 2), "f32", ("rename", "transpose 1,0")),
        "norm.gamma": ((2,), "f32", ("rename",)),
        "other.weight": ((2, 3), "f32", ("rename",)),
    }


def test_filter_and_decisions_see_the_new_keys() -> None:
    recipe = replace(TORCH, select=~PathFilter.of("running")).with_skip("bn.gamma", "fc.bias")
    assert list(convert(index(LAYERS), recipe=recipe)) == ["fc.weight", "bn.beta"]


def test_everything_around_the_tensors_is_carried_over() -> None:
    closed: list[int] = []
    source = TensorIndex.of(
        [replace(s, param_id=ParamId(n)) for n, s in enumerate(index(LAYERS).values())],
        format="rudapack",
        metadata={"k": "v"},
        extra={"scalars": {}},
        notes=("note",),
        unsafe=("os.system",),
        tree=TreeNode("a", "dict", "dict of 6"),
        closers=(lambda: closed.append(1),),
    )
    view = convert(source, recipe=Recipe(remap=KeyRemapper.of(("^fc", "head"))))
    assert [s.param_id for s in view.values()] == list(range(6))
    assert (view.metadata, view.extra, view.format) == ({"k": "v"}, {"scalars": {}}, "rudapack")
    assert (view.notes, view.unsafe, view.tree) == (source.notes, source.unsafe, source.tree)
    view.close()
    assert closed == [1]


def test_collision_of_rules() -> None:
    with pytest.raises(KeyCollisionError, match=r"'a\.w' and 'b\.w' .* 'c\.w' by remap"):
        convert(
            index({"a.w": (1,), "b.w": (1,)}), recipe=Recipe(remap=KeyRemapper.of(("^[ab]", "c")))
        )


def test_collision_of_an_adapter() -> None:
    shapes = {"n.weight": (2,), "n.gamma": (2,), "n.bias": (2,)}
    with pytest.raises(KeyCollisionError, match=r"become 'n.gamma' by pytorch-to-ruda"):
        convert(index(shapes), recipe=TORCH)


def test_what_an_adapter_cannot_take_is_refused_unless_skipped() -> None:
    snapshots = [
        TensorSnapshot("fc.weight", DType.QFLOAT, (2, 3), 6, ArraySource(np.zeros(6, np.uint8))),
        TensorSnapshot.from_array("fc.bias", np.zeros(2, np.float32)),
    ]
    source = TensorIndex.of(snapshots, format="rudapack")
    with pytest.raises(AdapterError, match=r"'fc.weight': qfloat values cannot be transposed"):
        convert(source, recipe=TORCH)
    assert list(convert(source, recipe=TORCH.with_skip("fc.weight"))) == ["fc.bias"]


def test_aliases_follow_their_owner() -> None:
    source = index(
        {"a.weight": (2, 3), "a.bias": (2,), "b.weight": (2, 3), "b.bias": (2,), "c.weight": (2, 3)}
    )
    tied = TensorIndex.of(
        [
            replace(s, shared_with="a.weight") if s.key in ("b.weight", "c.weight") else s
            for s in source.values()
        ],
        format="pytorch",
    )
    renamed = convert(tied, recipe=Recipe(remap=KeyRemapper.of(("^a", "z"))))
    assert renamed["b.weight"].shared_with == "z.weight"
    adapted = convert(tied, recipe=TORCH)
    assert adapted["b.weight"].shared_with == "a.weight"
    assert adapted["c.weight"].shared_with is None  # a.weight was transposed, this was not
    alone = convert(tied, recipe=Recipe().with_skip("a.weight"))
    assert alone["b.weight"].shared_with is None


def test_there_and_back() -> None:
    source = index(LAYERS)
    there = convert(source, recipe=TORCH)
    back = convert(there, recipe=Recipe(adapt=("ruda-to-pytorch",)))
    assert list(back) == list(source)
    for key, snapshot in source.items():
        np.testing.assert_array_equal(back[key].read(), snapshot.read())


def test_casting_needs_no_names() -> None:
    recipe = Recipe(cast=CastPolicy.every(DType.BF16))
    found = made(index({"anything": (2,)}), recipe)
    assert found == {"anything": ((2,), "bf16", ("cast bf16",))}


def test_a_collision_that_is_left_out_does_not_matter() -> None:
    source = index({"a.w": (1,), "b.w": (1,), "z": (1,)})
    recipe = Recipe(remap=KeyRemapper.of(("^[ab]", "c")))
    assert list(convert(source, recipe=recipe.with_skip("b.w"))) == ["c.w", "z"]
    assert list(convert(source, recipe=recipe.with_select(PathFilter.of("z")))) == ["z"]


def test_a_layout_that_is_turned_twice_is_noted() -> None:
    native = index({"fc.weight": (3, 2), "fc.bias": (2,)})
    view = convert(native, recipe=TORCH)
    assert view.notes[-1] == (
        "1 tensor, 'fc.weight' first: had its axes in order already, by the size of its bias, "
        "and is turned all the same"
    )
    back = convert(native, recipe=Recipe(adapt=("ruda-to-pytorch",)))
    assert len(back.notes) == 1


def test_shapes_unlike_the_target_are_noted() -> None:
    target = index({"fc.weight": (5, 3), "fc.bias": (2,)})
    view = convert(index(LAYERS), recipe=Recipe().with_skip("bn.bias"), target=target)
    assert view.notes == (
        "1 tensor, 'fc.weight' first: will not have the shape that the target expects",
    )


IDLE = [
    pytest.param(
        Recipe(select=PathFilter.of("nothing")), "the filter takes none of the keys", id="filter"
    ),
    pytest.param(
        Recipe().with_skip("fc.wieght"),
        "no tensor has the key 'fc.wieght' of a decision",
        id="misspelt decision",
    ),
]


@pytest.mark.parametrize(("recipe", "note"), IDLE)
def test_a_step_without_effect_is_noted(recipe: Recipe, note: str) -> None:
    assert convert(index(LAYERS), recipe=recipe).notes == (note,)


def test_a_step_with_effect_is_not_noted() -> None:
    recipe = Recipe(select=PathFilter.of("^fc"), remap=KeyRemapper.of(("^fc", "head")))
    renamed = replace(recipe, select=PathFilter.of("head")).with_skip("fc.bias")
    assert convert(index(LAYERS), recipe=renamed).notes == ()
    assert convert(index({}), recipe=recipe).notes == ()
