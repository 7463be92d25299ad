"""Reading back: the independent readers see what was meant, and nothing else passes."""

import hashlib

import numpy as np
import pytest

from ruda.errors import SaveError
from ruda.progress import Cancelled
from ruda.store import save
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot
from ruda.store.verify import verify_file

A = np.arange(4, dtype=np.float32).reshape(2, 2)
B = np.arange(3, dtype=np.uint8)
METADATA = {"k": "v"}


def digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()


EXPECTED = {"a": ((2, 2), digest(A)), "b": ((3,), digest(B))}


@pytest.fixture(params=["rudapack", "safetensors"])
def written(request, tmp_path):
    suffix = {"rudapack": ".bpk", "safetensors": ".safetensors"}[request.param]
    index = TensorIndex.of(
        [TensorSnapshot.from_array("b", B), TensorSnapshot.from_array("a", A)], format="memory"
    )
    save(index, tmp_path / f"m{suffix}", metadata=METADATA)
    return tmp_path / f"m{suffix}", request.param


def test_a_sound_file_passes(written):
    verify_file(*written, EXPECTED, metadata=METADATA)


OTHERS = [
    pytest.param({**EXPECTED, "c": ((), "")}, METADATA, r"'c' is on one side only", id="missing"),
    pytest.param({"a": EXPECTED["a"]}, METADATA, r"'b' is on one side only", id="unexpected"),
    pytest.param(
        {**EXPECTED, "a": ((4,), digest(A))}, METADATA, r"'a' has shape \(2, 2\) .* not \(4,\)",
        id="shape",
    ),
    pytest.param(
        {**EXPECTED, "a": ((2, 2), digest(B))}, METADATA, r"'a' at byte \d+ .* other values",
        id="values",
    ),
    pytest.param(EXPECTED, {"k": "w"}, r"metadata \{'k': 'v'\} was read back, not", id="metadata"),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "metadata", "message"), OTHERS)
def test_a_difference_is_named(written, expected, metadata, message):
    with pytest.raises(SaveError, match=message) as caught:
        verify_file(*written, expected, metadata=metadata)
    assert caught.value.stage == "verify"


@pytest.mark.parametrize("cut", [0, 5, 40, -1])
def test_a_file_that_was_cut_does_not_pass(written, cut):
    path, kind = written
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(SaveError, match=r"cannot be read back|reads back with other values"):
        verify_file(path, kind, EXPECTED, metadata=METADATA)


def test_another_kind_of_file_does_not_pass(tmp_path):
    (tmp_path / "m.bpk").write_bytes(b"PK\x03\x04" * 64)
    with pytest.raises(SaveError, match=r"cannot be read back: wrong magic"):
        verify_file(tmp_path / "m.bpk", "rudapack", EXPECTED, metadata=METADATA)


def test_a_format_without_a_second_reader(tmp_path):
    with pytest.raises(SaveError, match=r"npz files cannot be verified"):
        verify_file(tmp_path / "m.npz", "npz", {}, metadata={})


class Stopped:
    def check(self):
        raise Cancelled

    def report(self, progress):
        pass


def test_verifying_can_be_stopped(written):
    with pytest.raises(Cancelled):
        verify_file(*written, EXPECTED, metadata=METADATA, monitor=Stopped())
