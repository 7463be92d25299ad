"""Blocks of GGML in f32: the values of the gguf package, lazily, and by a cast in a recipe."""

import builtins
import hashlib
import json
import sys

import gguf  # noqa: TID253 - tests have every extra
import numpy as np
import pytest
from gguf import quants  # noqa: TID253

from ruda.errors import AdapterError, DTypeError, MissingExtraError
from ruda.store import CastPolicy, Recipe, Status, TensorIndex, convert, diff, open_store, save
from ruda.store.dequantizing import dequantize
from ruda.store.formats._ggml import GGML_TYPES
from ruda.tensor import DType
from ruda.testing.foreign_bytes import gguf_entry, gguf_raw

Q4_0, Q8_0, Q8_1, Q6_K = 2, 8, 9, 14
KNOWN = [t for t in GGML_TYPES.values() if t.dtype is DType.GGML and t.label not in
         ("q8_1", "q8_k", "q1_0")]  # fmt: skip


def blocks_of(tmp_path, number, *, rows=3, order="<", name="file.gguf"):
    """A file of one tensor with random blocks of a type."""
    kind = GGML_TYPES[number]
    raw = np.random.default_rng(number).integers(0, 256, rows * 2 * kind.block_bytes, np.uint8)
    entry = gguf_entry("w", (rows, 2 * kind.block), number, 0, order=order)
    path = tmp_path / name
    path.write_bytes(gguf_raw([entry], raw.tobytes(), order=order))
    return open_store(path), raw


@pytest.mark.parametrize("kind", KNOWN, ids=lambda kind: kind.label)
def test_the_values_are_those_of_the_package(tmp_path, kind):
    index, raw = blocks_of(tmp_path, kind.number)
    with index:
        found = dequantize(index["w"])
        assert (found.dtype, found.shape) == (DType.F32, (3, 2 * kind.block))
        assert found.nbytes == 3 * 2 * kind.block * 4
        assert found.trail == (f"dequantize {kind.label}",)
        with np.errstate(all="ignore"):
            number = gguf.GGMLQuantizationType(kind.number)
            expected = quants.dequantize(raw.reshape(3, -1), number)
        np.testing.assert_array_equal(found.read(), expected)
        assert b"".join(map(bytes, found.chunks(100))) == found.read().tobytes()


def test_what_is_not_quantised_stays_as_it_is(tmp_path):
    with blocks_of(tmp_path, Q4_0)[0] as opened:
        plain = dequantize(opened["w"])
        assert dequantize(plain) is plain


def test_a_type_that_nobody_unpacks_is_named(tmp_path):
    with (
        blocks_of(tmp_path, Q8_1)[0] as index,
        pytest.raises(DTypeError, match="gguf does not know how to dequantise q8_1"),
    ):
        dequantize(index["w"])


def test_the_extra_is_named_where_it_is_missing(tmp_path, monkeypatch):
    load = builtins.__import__

    def without(name, *rest):
        if name == "gguf":
            raise ImportError(name)
        return load(name, *rest)

    with blocks_of(tmp_path, Q6_K)[0] as index:
        monkeypatch.setattr(builtins, "__import__", without)
        assert index["w"].read().size == 3 * 2 * 210
        with pytest.raises(MissingExtraError, match=r'dequantising q6_k .* "ruda\[gguf\]"'):
            dequantize(index["w"])


@pytest.mark.parametrize("number", [Q4_0, Q8_0])
def test_common_blocks_need_no_package(tmp_path, monkeypatch, number):
    monkeypatch.setitem(sys.modules, "gguf", None)
    index, raw = blocks_of(tmp_path, number)
    with index, np.errstate(all="ignore"):
        expected = quants.dequantize(raw.reshape(3, -1), gguf.GGMLQuantizationType(number))
        found = dequantize(index["w"]).read()
        held = ~np.isnan(expected)
        np.testing.assert_array_equal(found[held].view("u4"), expected[held].view("u4"))
        assert np.isnan(found[~held]).all()


@pytest.mark.parametrize("to", [DType.F32, DType.F16], ids=str)
def test_a_cast_dequantises(tmp_path, to):
    with blocks_of(tmp_path, Q4_0)[0] as index:
        view = convert(index, recipe=Recipe(cast=CastPolicy.every(to)))
        assert view["w"].dtype is to
        assert view["w"].trail[0] == "dequantize q4_0"
        save(view, tmp_path / "out.safetensors")
        with open_store(tmp_path / "out.safetensors") as found, np.errstate(all="ignore"):
            expected = dequantize(index["w"]).read().astype(to.numpy)
            np.testing.assert_array_equal(found["w"].read(), expected)


def test_a_cast_that_cannot_is_one_error(tmp_path):
    recipe = Recipe(cast=CastPolicy.every(DType.F32))
    with (
        blocks_of(tmp_path, Q8_1)[0] as index,
        pytest.raises(AdapterError, match=r"'w': the package gguf does not know"),
    ):
        convert(index, recipe=recipe)


def test_blocks_of_two_types_do_not_fit(tmp_path):
    with (
        blocks_of(tmp_path, Q4_0, name="a.gguf")[0] as one,
        blocks_of(tmp_path, Q8_0, name="b.gguf")[0] as other,
    ):
        row = diff(one, other).rows[0]
        assert row.status is Status.ERROR
        assert row.reason == "dtype: the file has q4_0, the target expects q8_0"
        assert diff(one, one).rows[0].status is Status.APPLIED


def test_blocks_do_not_fit_floats_and_the_remedy_is_told(tmp_path):
    with blocks_of(tmp_path, Q4_0)[0] as index:
        target = TensorIndex.of([dequantize(index["w"])], format="none")
        assert diff(index, target).rows[0].reason == (
            "kind: the file has q4_0, the target expects f32; quantized is not float; a cast to "
            "f32 dequantises it"
        )


@pytest.mark.cases
@pytest.mark.parametrize("name", ["quants_legacy", "ternary"])
def test_real_blocks(cases, name):
    listed = json.loads((cases / "zoo/manifest.json").read_text())
    (entry,) = (
        e for e in listed.get("entries") or listed["files"] if e["file"] == f"gguf/{name}.gguf"
    )
    with open_store(cases / "zoo/gguf" / f"{name}.gguf") as index:
        for key, expected in entry["tensors"].items():
            values = dequantize(index[key]).read()
            digest = expected.get("dequantized_f32_sha256", expected.get("sha256"))
            assert hashlib.sha256(values.tobytes()).hexdigest() == digest
