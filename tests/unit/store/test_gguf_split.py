"""Models that were split into GGUF files, and blocks of big-endian files."""

import struct

import gguf  # noqa: TID253 - tests have every extra
import numpy as np
import pytest
from gguf import quants  # noqa: TID253

from ruda.errors import DTypeError, HeaderError, KeyCollisionError
from ruda.store import dequantize, open_store
from ruda.store.formats._ggml import GGML_TYPES
from ruda.store.formats._ggml_order import SWAPPED
from ruda.tensor import DType
from ruda.testing.foreign_bytes import gguf_bytes, gguf_entry, gguf_pair, gguf_raw, gguf_text

TEXT, I32, U16 = 8, 5, 2
NAMES = [f"m-{n:05}-of-00003.gguf" for n in (1, 2, 3)]


def facts(part, parts, tensors):
    yield gguf_pair("split.no", U16, struct.pack("<H", part))
    yield gguf_pair("split.count", U16, struct.pack("<H", parts))
    yield gguf_pair("split.tensors.count", I32, struct.pack("<i", tensors))


def split(tmp_path, *, keys=("a", "b", "c"), numbers=(0, 1, 2), count=3, tensors=3):
    """Three files of one model, as gguf-split writes them; the first has the metadata."""
    for name, key, number in zip(NAMES, keys, numbers, strict=True):
        pairs = list(facts(number, count, tensors))
        if number == 0:
            pairs.append(gguf_pair("general.name", TEXT, gguf_text("model")))
        arrays = {} if key is None else {key: np.full(4, number, "<f4")}
        (tmp_path / name).write_bytes(gguf_bytes(arrays, pairs=pairs))


@pytest.mark.parametrize("name", NAMES)
def test_any_file_opens_the_whole_model(tmp_path, name):
    split(tmp_path)
    with open_store(tmp_path / name) as index:
        assert {key: index[key].read()[0] for key in index} == {"a": 0, "b": 1, "c": 2}
        assert dict(index.metadata) == {"general.name": "model"}
        assert [shard.name for shard in index.shards] == NAMES
        assert index.notes == ()


def test_the_folder_of_a_split_model_is_the_model(tmp_path):
    split(tmp_path)
    with open_store(tmp_path) as index:
        assert sorted(index) == ["a", "b", "c"]


def test_a_first_file_may_have_no_tensors(tmp_path):
    split(tmp_path, keys=(None, "b", "c"), tensors=2)
    with open_store(tmp_path / NAMES[2]) as index:
        assert sorted(index) == ["b", "c"]
        assert index.notes == ()


@pytest.mark.parametrize(
    "said", ["²", "9" * 5000, "", "-1"], ids=["power", "long", "none", "below"]
)
@pytest.mark.parametrize("number", [0, 1], ids=["part", "count"])
def test_a_place_that_is_no_number_is_no_place(tmp_path, number, said):
    texts = ["0", "3"]
    texts[number] = said
    names = ("split.no", "split.count")
    pairs = [gguf_pair(n, TEXT, gguf_text(t)) for n, t in zip(names, texts, strict=True)]
    (tmp_path / "m.gguf").write_bytes(gguf_bytes({"a": np.ones(4, "<f4")}, pairs=pairs))
    with open_store(tmp_path / "m.gguf") as index:
        assert index.notes == ()


def test_a_missing_file_is_named(tmp_path):
    split(tmp_path)
    (tmp_path / NAMES[1]).unlink()
    with open_store(tmp_path / NAMES[0]) as index:
        assert list(index) == ["a"]
        assert index.notes[0].endswith(f"{NAMES[1]} is missing")
        assert index.notes[1].startswith("this is part 1 of 3")


BROKEN = [
    pytest.param({"numbers": (0, 2, 1)}, HeaderError, "00002.*says split.no 2, but.* it is 1",
                 id="files in another order"),
    pytest.param({"count": 4}, HeaderError, "says split.count 4, but.* it is 3", id="of 4 files"),
    pytest.param({"tensors": 5}, HeaderError, "says split.tensors.count 5, but.* it is 3",
                 id="of 5 tensors"),
    pytest.param({"keys": ("a", "b", "a")}, KeyCollisionError, "a", id="one key twice"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "kind", "said"), BROKEN)
def test_files_that_are_not_of_one_split_are_refused(tmp_path, wrong, kind, said):
    split(tmp_path, **wrong)
    with pytest.raises(kind, match=said.replace("00002", "m-00002-of-00003")):
        open_store(tmp_path / NAMES[0])


def blocks(label, *, rows=4):
    """Random blocks of a type with sane scales, little-endian, and their values by the package."""
    kind = next(t for t in GGML_TYPES.values() if t.label == label)
    dice = np.random.default_rng(kind.number)
    raw = dice.integers(0, 256, (rows * 8, kind.block_bytes), np.uint8)
    if label == "mxfp4":
        raw[:, 0] = dice.integers(120, 130, raw.shape[0])
    for place in SWAPPED[label]:
        scale = dice.uniform(0.01, 0.02, raw.shape[0]).astype("<f2")
        if (label, place) != ("iq4_xs", 2):
            raw[:, place : place + 2] = scale.view(np.uint8).reshape(-1, 2)
    values = quants.dequantize(raw, gguf.GGMLQuantizationType(kind.number))
    return kind, raw, values.reshape(rows, 8 * kind.block)


def big_endian(tmp_path, kind, raw, values):
    entry = gguf_entry("w", values.shape, kind.number, 0, order=">")
    path = tmp_path / "big.gguf"
    path.write_bytes(gguf_raw([entry], raw.tobytes(), order=">"))
    return open_store(path)


@pytest.mark.parametrize("label", SWAPPED)
def test_blocks_of_a_big_endian_file_have_the_same_values(tmp_path, label):
    kind, little, values = blocks(label)
    raw = little.copy()
    for place in SWAPPED[label]:
        raw[:, [place, place + 1]] = little[:, [place + 1, place]]
    with big_endian(tmp_path, kind, raw, values) as index:
        assert index["w"].read().tobytes() == raw.tobytes()
        found = dequantize(index["w"])
        assert found.dtype is DType.F32
        np.testing.assert_array_equal(found.read(), values)


@pytest.mark.parametrize("label", [label for label, places in SWAPPED.items() if places])
def test_scales_that_a_writer_did_not_turn_are_refused(tmp_path, label):
    with big_endian(tmp_path, *blocks(label)) as index:
        found = dequantize(index["w"])
        with pytest.raises(HeaderError, match=f"the scales of its {label} blocks look little"):
            found.read()


def test_blocks_whose_parts_have_no_settled_order_are_named(tmp_path):
    kind = GGML_TYPES[6]
    raw = np.zeros((4, kind.block_bytes), np.uint8)
    with (
        big_endian(tmp_path, kind, raw, np.zeros((4, 32))) as index,
        pytest.raises(DTypeError, match="q5_0 blocks of a big-endian file cannot be"),
    ):
        dequantize(index["w"])
