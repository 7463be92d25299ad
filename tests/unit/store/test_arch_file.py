from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda import models
from ruda.errors import FileAccessError, SpecError
from ruda.nn import ModuleSpec, ParamSpec
from ruda.store import (
    Status,
    TensorIndex,
    TensorSnapshot,
    arch_from_json,
    arch_from_toml,
    arch_to_json,
    arch_to_toml,
    diff,
    is_arch_file,
    read_arch,
    write_arch,
)
from ruda.tensor import DType, Kind

HEAD = 'format = "ruda-arch"\nversion = 1\n'


@pytest.mark.parametrize("name", [each.name for each in models.architectures()])
def test_every_architecture_is_described_and_read_back(name: str, tmp_path: Path) -> None:
    model = models.get(name).build()
    expected = [param._replace(param_id=None) for param in ModuleSpec.of(model)]
    for file in ("a.toml", "a.json"):
        write_arch(model, tmp_path / file)
        assert list(read_arch(tmp_path / file)) == expected
        assert is_arch_file(tmp_path / file)


def test_a_description_stands_for_the_model() -> None:
    model = models.get("digits").build()
    spec = arch_from_toml(arch_to_toml(model))
    source = TensorIndex.of(
        [
            TensorSnapshot.from_array(p.key, np.zeros(p.shape, p.dtype.numpy))
            for p in ModuleSpec.of(model)
        ],
        format="test",
    )
    one, other = diff(source, model), diff(source, spec)
    assert [str(row.reason) for row in one.rows] == [str(row.reason) for row in other.rows]
    assert other.target_name == one.target_name
    assert other.is_complete


REPEATED = (
    HEAD
    + """
name = "Tagger"

[[module]]
path = "layers.*.experts.*.up"
repeat = [2, 2]
kind = ["Tagger", "Vec", "Linear"]

[module.params]
weight = [8, 4]
bias = { shape = [4], dtype = "f16" }

[[module]]
dtype = "bf16"
params = { scale = [], "odd.key" = [0, 3] }
"""
)


def test_repeats_are_counted_through() -> None:
    spec = arch_from_toml(REPEATED)
    assert [param.key for param in spec] == [
        *("layers.0.experts.0.up.weight", "layers.0.experts.0.up.bias"),
        *("layers.0.experts.1.up.weight", "layers.0.experts.1.up.bias"),
        *("layers.1.experts.0.up.weight", "layers.1.experts.0.up.bias"),
        *("layers.1.experts.1.up.weight", "layers.1.experts.1.up.bias"),
        *("scale", "odd.key"),
    ]
    kinds = ("Struct:Tagger", "Vec", "Struct:Linear")
    assert spec.entries[1] == ParamSpec("layers.0.experts.0.up.bias", (4,), DType.F16, kinds)
    assert spec.entries[-2:] == (
        ParamSpec("scale", (), DType.BF16),
        ParamSpec("odd.key", (0, 3), DType.BF16),
    )
    assert spec.name == "Tagger"


PARTS = st.sampled_from(["a", "b", "0", "1", "w", "x-y", "ä ö", 'quo"te', "*", ""])
DTYPES = st.sampled_from([dtype for dtype in DType if dtype.kind is not Kind.QUANTIZED])
PARAMS = st.builds(
    ParamSpec,
    st.lists(PARTS, min_size=1, max_size=4).map(".".join).filter(bool),
    st.lists(st.integers(0, 9), max_size=4).map(tuple),
    DTYPES,
    st.lists(st.sampled_from(["Struct:A", "Vec", "Enum:E", "Struct:Vec"]), max_size=3).map(tuple),
    st.none(),
    st.none(),
)


@given(st.lists(PARAMS, min_size=1, max_size=12, unique_by=lambda param: param.key))
def test_what_is_written_is_read_back(params: list[ParamSpec]) -> None:
    spec = ModuleSpec(tuple(params), "net")
    assert arch_from_toml(arch_to_toml(spec)) == spec
    assert arch_from_json(arch_to_json(spec)) == spec


MODULE = HEAD + '[[module]]\npath = "a"\n'

BAD = [
    pytest.param("a = = 1", "not a TOML file: .*line 1", id="syntax"),
    pytest.param('format = "ruda-recipe"', "line 1: format: expected 'ruda-arch'", id="format"),
    pytest.param(
        'format = "ruda-arch"\nversion = 2', "line 2: version: this Ruda reads version 1", id="new"
    ),
    pytest.param(HEAD, "it describes no parameter", id="empty"),
    pytest.param(
        HEAD + "modul = []", r"line 3: modul: unknown entry \(did you mean 'module'", id="slip"
    ),
    pytest.param(MODULE, r"module\[1\]\.params: expected a table of names", id="no params"),
    pytest.param(
        MODULE
        + "[module.params]\nw = [1]\n[[module]]\npath = 'b'\n[module.params]\nw = [1]\nv = 3",
        r"line 11: module\[2\]\.params\.v: expected a table, found 3",
        id="shape",
    ),
    pytest.param(
        MODULE + "[module.params]\nw = [1, -2]",
        r"line 6: module\[1\]\.params\.w: sizes are from 0, found \[1, -2\]",
        id="negative size",
    ),
    pytest.param(
        MODULE + "[module.params]\nw = [1.5]", r"w\.shape: expected whole numbers", id="fraction"
    ),
    pytest.param(
        MODULE + "[module.params]\nw = {shape = [1], dtype = 'f17'}",
        r"line 6: module\[1\]\.params\.w\.dtype: no dtype is called 'f17'",
        id="dtype",
    ),
    pytest.param(
        MODULE + "dtype = 'qint8'\nparams = {w = [1]}",
        r"line 5: module\[1\]\.dtype: a description cannot tell how qint8 is packed",
        id="quantized",
    ),
    pytest.param(
        MODULE + "params = {w = [1]}\n[[module]]\npath = 'a'\nparams = {w = [2]}",
        r"line 8: module\[2\]\.params\.w: the key 'a\.w' is there already",
        id="twice",
    ),
    pytest.param(
        HEAD + "[[module]]\npath = 'a.*'\nparams = {w = [1]}",
        r"line 3: module\[1\]\.repeat: 'a\.\*' has 1 \* and 0 numbers to repeat",
        id="no repeat",
    ),
    pytest.param(
        HEAD + "[[module]]\npath = 'a.*.*'\nrepeat = [99999, 99999]\nparams = {w = [1]}",
        r"line 5: module\[1\]\.repeat: expected numbers from 1 to 1000000 together",
        id="too many",
    ),
    pytest.param(
        MODULE + "params = {w = [999999999999, 999999999999]}",
        "more elements than can be addressed",
        id="too large",
    ),
    pytest.param(MODULE + "kind = 3\nparams = {w = [1]}", "expected list, found 3", id="kind"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_descriptions_are_refused_with_their_line(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        arch_from_toml(text)


def test_reading_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text(HEAD + "x = 1")
    with pytest.raises(SpecError, match=r"net\.toml: line 3: x: unknown entry") as caught:
        read_arch(path)
    assert caught.value.line == 3
    with pytest.raises(FileAccessError, match=r"none\.toml: there is no file here"):
        read_arch(tmp_path / "none.toml")


def test_a_weights_file_is_described_by_its_headers(tmp_path: Path) -> None:
    index = TensorIndex.of(
        [TensorSnapshot.from_array("fc.weight", np.zeros((3, 4), "<f2"))], format="test"
    )
    write_arch(index, tmp_path / "a.toml")
    spec = read_arch(tmp_path / "a.toml")
    assert [(p.key, p.shape, p.dtype) for p in spec] == [("fc.weight", (3, 4), DType.F16)]
    assert diff(index, spec).counts[Status.APPLIED] == 1


def test_quantized_parameters_are_not_described() -> None:
    spec = ModuleSpec((ParamSpec("w", (4,), DType.QINT8),))
    with pytest.raises(SpecError, match=r"'w' is quantized .*: take the file itself"):
        arch_to_toml(spec)


def test_an_index_of_shards_is_no_description(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors.index.json"
    path.write_text('{"weight_map": {}}')
    assert not is_arch_file(path)
    assert not is_arch_file(tmp_path / "absent.json")


def test_half_of_a_character_is_no_key_of_a_description(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("old")
    with pytest.raises(SpecError, match=r"a\.toml: '.ud800' is half of a character"):
        write_arch(ModuleSpec((ParamSpec("w\ud800", (1,), DType.F32),)), path)
    assert path.read_text() == "old"
