from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from ruda import nn
from ruda.errors import DecisionError, LoadError, RecipeError
from ruda.nn import ModuleSpec, ParamSpec
from ruda.store import (
    CastPolicy,
    Cause,
    DiffReport,
    Flag,
    Recipe,
    Status,
    TensorIndex,
    TensorSnapshot,
    apply,
    collect,
    convert,
    diff,
    read_recipe,
    recipe_from_json,
    recipe_from_toml,
    recipe_to_json,
    recipe_to_toml,
    save,
    write_recipe,
)
from ruda.store.decisions import Decision, Take
from ruda.store.recipe import DTypePolicy
from ruda.tensor import DType


def index_of(arrays: dict[str, np.ndarray]) -> TensorIndex:
    return TensorIndex.of(
        [TensorSnapshot.from_array(key, values) for key, values in arrays.items()], format="test"
    )


def spec_of(shapes: dict[str, tuple[int, ...]], dtype: DType = DType.F32) -> ModuleSpec:
    return ModuleSpec(tuple(ParamSpec(key, shape, dtype) for key, shape in shapes.items()))


def decided(**texts: str | tuple[str, ...]) -> Recipe:
    """A recipe of decisions: ``w_weight`` stands for ``w.weight``."""
    found = []
    for key, text in texts.items():
        for each in (text,) if isinstance(text, str) else text:
            found.append(Decision.parse(key.replace("_", "."), each))
    return Recipe(decide=tuple(found))


def only_row(report: DiffReport, key: str):
    (row,) = [row for row in report.rows if row.target is not None and row.target.key == key]
    return row


WIDE = np.arange(12, dtype="<f4").reshape(3, 4)

FITS = [
    pytest.param("transpose 1,0", (4, 3), WIDE.T, "transpose 1,0", Flag.TRANSPOSED, id="transpose"),
    pytest.param("slice 0 0:2", (2, 4), WIDE[:2], "slice 0 0:2", Flag.SHAPED, id="slice"),
    pytest.param(
        "pad 1 0:1 9",
        (3, 5),
        np.pad(WIDE, ((0, 0), (0, 1)), constant_values=9),
        "pad 1 0:1 9",
        Flag.SHAPED,
        id="pad",
    ),
    pytest.param(
        "reshape 2,6", (2, 6), WIDE.reshape(2, 6), "reshape 2,6", Flag.SHAPED, id="reshape"
    ),
]


@pytest.mark.parametrize(("text", "shape", "values", "step", "flag"), FITS)
def test_a_decision_makes_a_row_fit(
    text: str, shape: tuple[int, ...], values: np.ndarray, step: str, flag: Flag
) -> None:
    source, target = index_of({"w": WIDE}), spec_of({"w": shape})
    assert only_row(diff(source, target), "w").cause is Cause.SHAPE
    recipe = decided(w=text)
    report = diff(source, target, recipe=recipe)
    row = only_row(report, "w")
    assert (row.status, row.trail) == (Status.APPLIED, (step,))
    assert flag in row.flags
    assert report.totals_hold
    assert row.adapted is not None
    np.testing.assert_array_equal(row.adapted.read(), values)
    np.testing.assert_array_equal(convert(source, recipe=recipe)["w"].read(), values)


def test_values_that_are_not_the_files_are_noted() -> None:
    report = diff(index_of({"w": WIDE}), spec_of({"w": (2, 4)}), recipe=decided(w="slice 0 0:2"))
    assert report.notes == (
        "1 tensor is applied by your decision, 'w' first, with values cut off, padded, or of "
        "another file",
    )
    report = diff(index_of({"w": WIDE}), spec_of({"w": (4, 3)}), recipe=decided(w="transpose 1,0"))
    assert report.notes == ()


BAD = [
    pytest.param("transpose 0,2,1", r"it has 2 axes, \[3, 4\], not 3", id="permutation"),
    pytest.param("slice 1 0:9", "axis 1 ends at 4", id="range"),
    pytest.param("take absent.bpk w", "absent.bpk: there is no file here", id="no file"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_what_cannot_be_done_is_a_row_and_the_rest_goes_on(text: str, message: str) -> None:
    source = index_of({"w": WIDE, "b": WIDE[0]})
    target = spec_of({"w": (3, 4), "b": (4,)})
    report = diff(source, target, recipe=decided(w=text))
    row = only_row(report, "w")
    assert (row.status, row.cause) == (Status.ERROR, Cause.DECISION)
    assert only_row(report, "b").status is Status.APPLIED
    assert report.totals_hold
    assert re.search(message, row.reason)
    with pytest.raises(DecisionError, match=f"'w': the decision .* cannot be done: .*{message}"):
        convert(source, recipe=decided(w=text))


def test_decisions_come_after_the_adapters_and_before_the_cast() -> None:
    torch = index_of({"fc.weight": WIDE, "fc.bias": np.zeros(3, "<f4")})
    model = nn.Linear(4, 2, seed=0)
    recipe = decided(weight="slice 1 0:2", bias="slice 0 0:2")
    recipe = recipe.with_rule(r"^fc\.", "").with_adapt("pytorch-to-ruda")
    report = diff(torch, model, recipe=recipe)
    assert only_row(report, "weight").trail == ("rename", "transpose 1,0", "slice 1 0:2")
    apply(torch, model, recipe=recipe)
    np.testing.assert_array_equal(model.weight.value().numpy(), WIDE.T[:, :2])


def donor(tmp_path: Path) -> Path:
    path = tmp_path / "donor.safetensors"
    save(index_of({"head.w": WIDE + 100, "x": WIDE[0]}), path)
    return path


def test_a_tensor_is_taken_from_another_file(tmp_path: Path) -> None:
    path = donor(tmp_path)
    source = index_of({"w": WIDE, "b": WIDE[0]})
    target = spec_of({"w": (3, 4), "b": (4,), "c": (4,)})
    recipe = Recipe().with_further(
        Decision.of("w", Take(str(path), "head.w")), Decision.of("c", Take(str(path), "x"))
    )
    report = diff(source, target, recipe=recipe)
    rows = [(row.status, row.source_key, row.target_key) for row in report.rows]
    assert rows == [
        (Status.APPLIED, "donor.safetensors:head.w", "w"),
        (Status.APPLIED, "b", "b"),
        (Status.APPLIED, "donor.safetensors:x", "c"),
        (Status.SKIPPED, "w", None),
    ]
    assert report.rows[0].trail == ("take donor.safetensors:head.w",)
    assert report.rows[0].flags == {Flag.TAKEN}
    assert report.rows[3].reason.startswith("left out by your decision: the tensor of another file")
    assert report.totals_hold
    assert report.source_tensors == 4
    view = convert(source, recipe=recipe)
    assert list(view) == ["w", "b", "c"]
    np.testing.assert_array_equal(view["w"].read(), WIDE + 100)
    np.testing.assert_array_equal(view["c"].read(), WIDE[0])


def test_a_taken_tensor_goes_through_the_other_steps(tmp_path: Path) -> None:
    path = donor(tmp_path)
    model = nn.Linear(4, 3, seed=0)
    recipe = (
        Recipe()
        .with_adapt("pytorch-to-ruda")
        .with_further(
            Decision.of("weight", Take(str(path), "head.w")),
            Decision.parse("weight", "transpose 1,0"),
            Decision.parse("weight", "transpose 1,0"),
        )
    )
    source = index_of({"weight": WIDE, "bias": np.zeros(3, "<f4")})
    apply(source, model, recipe=recipe)
    np.testing.assert_array_equal(model.weight.value().numpy(), WIDE.T + 100)


def test_the_norm_that_an_adapter_would_rename_is_displaced(tmp_path: Path) -> None:
    path = donor(tmp_path)
    source = index_of({"weight": np.ones(4, "<f4"), "bias": np.zeros(4, "<f4")})
    model = nn.LayerNorm(4)
    recipe = Recipe(adapt=("pytorch-to-ruda",)).with_further(
        Decision.of("gamma", Take(str(path), "x"))
    )
    report = diff(source, model, recipe=recipe)
    assert only_row(report, "gamma").source_key == "donor.safetensors:x"
    assert [row.source_key for row in report.of(Status.SKIPPED)] == ["weight"]
    assert report.totals_hold
    view = convert(source, recipe=recipe, target=model)
    assert sorted(view) == ["beta", "gamma"]
    np.testing.assert_array_equal(view["gamma"].read(), WIDE[0])


def test_a_tensor_for_nobody_is_unused(tmp_path: Path) -> None:
    recipe = Recipe().with_further(Decision.of("z", Take(str(donor(tmp_path)), "x")))
    report = diff(index_of({"w": WIDE}), spec_of({"w": (3, 4)}), recipe=recipe)
    assert [row.status for row in report.rows] == [Status.APPLIED, Status.UNUSED]
    assert report.totals_hold


def test_a_key_that_the_other_file_lacks(tmp_path: Path) -> None:
    recipe = Recipe().with_further(Decision.of("w", Take(str(donor(tmp_path)), "head.v")))
    report = diff(index_of({"w": WIDE}), spec_of({"w": (3, 4)}), recipe=recipe)
    assert "did you mean 'head.w'" in only_row(report, "w").reason


def test_a_file_that_changed_between_diff_and_load_is_refused(tmp_path: Path) -> None:
    path = donor(tmp_path)
    recipe = Recipe().with_further(Decision.of("w", Take(str(path), "head.w")))
    source = index_of({"w": WIDE})
    row = only_row(diff(source, spec_of({"w": (3, 4)}), recipe=recipe), "w")
    save(index_of({"head.w": WIDE, "much": np.zeros(100)}), path, overwrite=True)
    assert row.adapted is not None
    with pytest.raises(OSError, match=r"donor\.safetensors: has changed since it was opened"):
        row.adapted.read()


OTHERS = [
    pytest.param(np.ascontiguousarray(WIDE.T), id="another shape"),
    pytest.param(WIDE + 1, id="other values"),
]


@pytest.mark.parametrize("other", OTHERS)
def test_a_set_whose_files_changed_beside_its_index_is_refused(
    tmp_path: Path, other: np.ndarray
) -> None:
    first, second = (tmp_path / name for name in ("one", "two"))
    for folder, values in ((first, WIDE), (second, other)):
        folder.mkdir()
        save(
            index_of({"head.w": values, "more": WIDE}),
            folder / "model.safetensors",
            shard_size=64,
        )
    index = first / "model.safetensors.index.json"
    recipe = Recipe().with_further(Decision.of("w", Take(str(index), "head.w")))
    row = only_row(diff(index_of({}), spec_of({"w": WIDE.shape}), recipe=recipe), "w")
    assert row.adapted is not None
    np.testing.assert_array_equal(row.adapted.read(), WIDE)
    for shard in second.glob("*.safetensors"):
        shutil.copy(shard, first)
    with pytest.raises(OSError, match=r"safetensors: has changed since it was opened; open it"):
        row.adapted.read()


def test_a_failed_take_of_a_missing_target_loads_nothing(tmp_path: Path) -> None:
    model = nn.Linear(4, 3, seed=0)
    recipe = Recipe().with_further(Decision.of("weight", Take(str(tmp_path / "no.bpk"), "w")))
    source = index_of({"bias": np.zeros(3, "<f4")})
    report = diff(source, model, recipe=recipe)
    assert report.totals_hold
    assert report.counts[Status.ERROR] == 1
    with pytest.raises(LoadError, match=r"nothing was loaded: .*there is no file here"):
        apply(source, model, recipe=recipe)


def test_a_key_that_no_tensor_has_is_told() -> None:
    report = diff(index_of({"w": WIDE}), spec_of({"w": (3, 4)}), recipe=decided(v="slice 0 0:1"))
    assert "no tensor has the key 'v' of a decision" in report.notes
    view = convert(index_of({"w": WIDE}), recipe=decided(v="slice 0 0:1"))
    assert "no tensor has the key 'v' of a decision" in view.notes


EVERYTHING = decided(
    a="skip", b="keep", c="cast bf16", d="clamp f16", e=("transpose 1,0", "slice 0 0:3"),
    f="pad 1 2:0 0.25", g="reshape 2,3", h="reshape []",
).with_policy(DTypePolicy.parse("router=keep"), DTypePolicy.parse("^e=clamp:f16")).with_merge(
    "scales", "weight-norm"
)  # fmt: skip


def test_files_hold_every_decision(tmp_path: Path) -> None:
    recipe = EVERYTHING.with_further(Decision.of("t", Take(str(tmp_path / "sub/o.pt"), "k")))
    assert recipe_from_toml(recipe_to_toml(recipe)) == recipe
    assert recipe_from_json(recipe_to_json(recipe)) == recipe
    for name in ("r.toml", "r.json"):
        write_recipe(recipe, tmp_path / name)
        assert read_recipe(tmp_path / name) == recipe
        assert "sub/o.pt" in (tmp_path / name).read_text()
        assert str(tmp_path) not in (tmp_path / name).read_text()


def test_files_of_a_recipe_move_with_it(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    donor(before)
    recipe = Recipe().with_further(
        Decision.of("w", Take(str(before / "donor.safetensors"), "head.w"))
    )
    write_recipe(recipe, before / "r.toml")
    before.rename(after)
    report = diff(
        index_of({"w": WIDE}), spec_of({"w": (3, 4)}), recipe=read_recipe(after / "r.toml")
    )
    assert only_row(report, "w").status is Status.APPLIED


HEAD = 'format = "ruda-recipe"\nversion = 1\n[[decide]]\nkey = "a"\n'

BAD_FILES = [
    pytest.param(
        'action = "slice"', r"line 3: decide\[1\]: the entry 'axis' is missing", id="axis"
    ),
    pytest.param(
        'action = "slice"\naxis = 0\nstart = 3\nstop = 1',
        r"line 3: decide\[1\]: slice needs an axis and START:STOP",
        id="range",
    ),
    pytest.param(
        'action = "pad"\naxis = 0\nafter = 2',
        r"decide\[1\]\.value: pad needs the number to fill with; none is there",
        id="value",
    ),
    pytest.param(
        'action = "transpose"\naxes = [0, "1"]',
        r"line 6: decide\[1\]\.axes: expected whole numbers, found '1'",
        id="axes",
    ),
    pytest.param(
        'action = "skip"\naxes = [0]', r"line 6: decide\[1\]\.axes: unknown entry", id="foreign"
    ),
    pytest.param(
        'action = "take"\nfile = "https://a/b"\nfrom = "w"', "not an address", id="address"
    ),
]


@pytest.mark.parametrize(("lines", "message"), BAD_FILES)
def test_bad_decisions_of_a_file_have_their_place(lines: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        recipe_from_toml(HEAD + lines)


def test_edits_of_decisions() -> None:
    recipe = decided(w=("slice 0 0:1", "transpose 1,0"))
    assert [d.text for d in recipe.with_decision(Decision.parse("w", "skip")).decide] == ["skip"]
    assert recipe.without_decision("w").is_identity
    with pytest.raises(RecipeError, match="two decisions for 'w': slice 0 0:1 and skip"):
        recipe.with_further(Decision.parse("w", "skip"))


JOINED = [
    pytest.param("slice 0 0:4", (4, 4), "f16", id="shape"),
    pytest.param("cast f64", (12, 4), "f64", id="type"),
    pytest.param("keep", (12, 4), "f32", id="kept"),
]


@pytest.mark.parametrize(("text", "shape", "dtype"), JOINED)
def test_a_tensor_that_is_joined_is_decided_as_a_whole(text, shape, dtype) -> None:
    model = nn.MultiHeadAttention(4, 2, seed=0)
    source = collect(model)
    recipe = Recipe(adapt=("ruda-to-pytorch",), cast=CastPolicy.every(DType.F16))
    recipe = recipe.with_further(Decision.parse("in_proj_weight", text))
    view = convert(source, recipe=recipe)
    assert (view["in_proj_weight"].shape, str(view["in_proj_weight"].dtype)) == (shape, dtype)
    assert view["in_proj_weight"].read().shape == shape
    assert str(view["in_proj_bias"].dtype) == "f16"
