"""CRC-32 of pieces, against zlib's of the whole."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.store import checksum
from ruda.store.checksum import begin_crc, joined


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_sums_of_two_runs_are_joined(first, second):
    assert joined(zlib.crc32(first), zlib.crc32(second), len(second)) == zlib.crc32(first + second)


@pytest.mark.parametrize("length", [1, 255, 4096, (1 << 20) + 1])
def test_a_long_run_is_joined(length):
    run = b"\x07" * length
    assert joined(0x12345678, zlib.crc32(run), length) == zlib.crc32(run, 0x12345678)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**34), st.integers(0, 2**34))
def test_to_join_twice_is_to_join_once(crc, one, other):
    assert joined(joined(crc, 0, one), 0, other) == joined(crc, 0, one + other)


@given(st.binary(max_size=2000), st.integers(0, 2**32 - 1))
def test_a_sum_that_is_begun_is_zlibs(piece, before):
    assert begin_crc(piece, before)() == zlib.crc32(piece, before)


def test_large_pieces_are_summed_elsewhere(monkeypatch):
    handed = []
    monkeypatch.setattr(checksum, "aside", lambda task: handed.append(task) or task)
    piece = bytes(range(256)) * 1024
    assert begin_crc(piece[:1000], 7)() == zlib.crc32(piece[:1000], 7)
    assert not handed
    assert begin_crc(piece, 7)() == zlib.crc32(piece, 7)
    assert len(handed) == 1
