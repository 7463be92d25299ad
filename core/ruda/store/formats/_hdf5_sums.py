"""The checksums and the packing of HDF5: lookup3, Fletcher's sum, LZF."""

from __future__ import annotations

import numpy as np

from ruda.errors import HeaderError

_WORD = 0xFFFFFFFF


def _turned(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & _WORD


def lookup3(raw: bytes) -> int:
    """Bob Jenkins' hash of 32 bits, as HDF5 takes it of its newer blocks."""
    a = b = c = (0xDEADBEEF + len(raw)) & _WORD
    at, left = 0, len(raw)
    while left > 12:
        a = (a + int.from_bytes(raw[at : at + 4], "little")) & _WORD
        b = (b + int.from_bytes(raw[at + 4 : at + 8], "little")) & _WORD
        c = (c + int.from_bytes(raw[at + 8 : at + 12], "little")) & _WORD
        a = (a - c & _WORD) ^ _turned(c, 4)
        c = c + b & _WORD
        b = (b - a & _WORD) ^ _turned(a, 6)
        a = a + c & _WORD
        c = (c - b & _WORD) ^ _turned(b, 8)
        b = b + a & _WORD
        a = (a - c & _WORD) ^ _turned(c, 16)
        c = c + b & _WORD
        b = (b - a & _WORD) ^ _turned(a, 19)
        a = a + c & _WORD
        c = (c - b & _WORD) ^ _turned(b, 4)
        b = b + a & _WORD
        at, left = at + 12, left - 12
    if not left:
        return c
    rest = raw[at:].ljust(12, b"\0")
    a = (a + int.from_bytes(rest[:4], "little")) & _WORD
    b = (b + int.from_bytes(rest[4:8], "little")) & _WORD
    c = (c + int.from_bytes(rest[8:], "little")) & _WORD
    c = (c ^ b) - _turned(b, 14) & _WORD
    a = (a ^ c) - _turned(c, 11) & _WORD
    b = (b ^ a) - _turned(a, 25) & _WORD
    c = (c ^ b) - _turned(b, 16) & _WORD
    a = (a ^ c) - _turned(c, 4) & _WORD
    b = (b ^ a) - _turned(a, 14) & _WORD
    return (c ^ b) - _turned(b, 24) & _WORD


def fletcher32_fits(raw: bytes, stated: int) -> bool:
    """True if Fletcher's sum of some bytes is the stated one; each half counts modulo 65535."""
    words = np.frombuffer(raw + b"\0" if len(raw) % 2 else raw, ">u2").astype(np.uint64)
    first = int(words.sum()) % 65535
    second, count = 0, words.size
    for start in range(0, count, 1 << 16):
        part = words[start : start + (1 << 16)]
        places = np.arange(count - start, count - start - part.size, -1, dtype=np.int64)
        second += int((part * (places % 65535).astype(np.uint64) % 65535).sum())
    return stated % 65536 % 65535 == first and (stated >> 16) % 65535 == second % 65535


def lzf(raw: bytes, size: int) -> bytes:
    """Unpack LZF to exactly ``size`` bytes. Raises HeaderError where the bytes do not say that."""
    out = bytearray()
    at, end = 0, len(raw)
    while at < end and len(out) <= size:
        control = raw[at]
        at += 1
        if control < 32:
            out += raw[at : at + control + 1]
            at += control + 1
            continue
        length = control >> 5
        if length == 7 and at < end:
            length += raw[at]
            at += 1
        back = ((control & 31) << 8 | (raw[at] if at < end else 0)) + 1
        at += 1
        if back > len(out):
            raise HeaderError("a chunk packed by LZF refers to bytes before its start")
        length += 2
        start = len(out) - back
        if back >= length:
            out += out[start : start + length]
        else:
            run = bytes(out[start:])
            out += (run * (length // back + 1))[:length]
    if len(out) != size or at > end:
        raise HeaderError(f"a chunk packed by LZF has {len(out)} bytes, expected {size}")
    return bytes(out)
