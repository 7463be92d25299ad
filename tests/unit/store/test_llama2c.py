"""llama2.c's first format: recognised by its sizes, read only at exactly their length."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from ruda.errors import HeaderError, OffsetError, RudaError, TruncatedFileError
from ruda.store import open_store
from ruda.store.formats.llama2c import Llama2cFormat, LlamaSizes

SIZES = (4, 6, 2, 2, 1, 5, 3)
TIED = 28 + 4 * (20 + 8 + 32 + 16 + 16 + 32 + 8 + 48 + 48 + 48 + 4 + 3 + 3)


def built(sizes: tuple[int, ...] = SIZES) -> bytes:
    parsed = LlamaSizes.parse(struct.pack("<7i", *sizes))
    assert parsed is not None
    count = sum(int(np.prod(shape)) for shape in parsed.tensors().values())
    return struct.pack("<7i", *sizes) + np.arange(count, dtype="<f4").tobytes()


def test_weights_are_read_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(built())
    assert path.stat().st_size == TIED
    with open_store(path) as index:
        assert index.format == "llama2c"
        assert index["wk"].shape == (2, 2, 4)
        assert index["tok_embeddings"].read().ravel().tolist() == list(range(20))
        flat = np.concatenate([s.read().ravel() for s in index.values()])
        np.testing.assert_array_equal(flat, np.arange(flat.size))
        assert "output" not in index


def test_a_negative_vocabulary_has_an_output_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(built((*SIZES[:5], -5, 3)))
    with open_store(path) as index:
        assert index["output"].shape == (5, 4)


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    raw, path = built(), tmp_path / "model.bin"
    for length in range(len(raw)):
        path.write_bytes(raw[:length])
        with pytest.raises(RudaError, match=r"model\.bin: "):
            open_store(path)


REFUSED = [
    pytest.param(built()[:-1], TruncatedFileError, rf"need {TIED} bytes, the file has", id="cut"),
    pytest.param(built() + b"x", OffsetError, "1 bytes follow the last tensor", id="more"),
    pytest.param(b"\xff" * 64, HeaderError, "no sizes of a Llama", id="negative"),
    pytest.param(struct.pack("<7i", 5, 6, 2, 2, 1, 5, 3), HeaderError, "no sizes", id="odd heads"),
    pytest.param(struct.pack("<7i", *[1 << 24] * 7), HeaderError, "no sizes", id="huge"),
]


@pytest.mark.parametrize(("raw", "error", "said"), REFUSED)
def test_what_is_not_exactly_a_model_is_refused(
    tmp_path: Path, raw: bytes, error: type[RudaError], said: str
) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(raw)
    with pytest.raises(error, match=said):
        Llama2cFormat().open(path)


def test_a_pickle_named_bin_is_no_llama(tmp_path: Path) -> None:
    assert not Llama2cFormat().matches(b"\x80\x02}q\x00." + bytes(40), tmp_path / "x.bin")
    assert not Llama2cFormat().matches(built(), tmp_path / "x.pt")


@pytest.mark.cases
def test_a_real_model_opens(cases: Path) -> None:
    with open_store(cases / "models" / "stories260k_llama" / "stories260K.bin") as index:
        assert len(index) == 13
        assert index["w1"].shape == (5, 172, 64)
