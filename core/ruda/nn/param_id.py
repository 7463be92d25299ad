"""ParamId: the stable 64-bit identity of a parameter, in Burn's text spelling."""

from __future__ import annotations

import base64
import secrets
import struct

from ruda.errors import SettingError

_TEXT = frozenset("0123456789abcdefghijklmnopqrstuv")


class ParamId(int):
    """A u64 that names one parameter for optimizer state and tied weights.

    ``str(id)`` is Burn's spelling: the eight little-endian bytes in lower-case base32hex without
    padding, always 13 characters. Rudapack files store the integer.
    """

    __slots__ = ()

    def __new__(cls, value: int) -> ParamId:
        """Raises SettingError if the value does not fit in 64 unsigned bits."""
        if not 0 <= value < 1 << 64:
            raise SettingError(f"a ParamId is a 64-bit unsigned number, got {value}")
        return super().__new__(cls, value)

    @classmethod
    def random(cls) -> ParamId:
        """A fresh id from the operating system's entropy."""
        return cls(secrets.randbits(64))

    @classmethod
    def parse(cls, text: str) -> ParamId:
        """Id for Burn's spelling, also the older ten-character one of six bytes.

        Raises SettingError for anything else: Burn hashes other strings in a way that no two of
        its builds share, so guessing a number would be worse than refusing.
        """
        if not text or not set(text) <= _TEXT or len(text) % 8 in (1, 3, 6):
            raise SettingError(f"{text!r} is not a parameter id: expected base32hex text")
        padded = text.upper() + "=" * (-len(text) % 8)
        try:
            raw = base64.b32hexdecode(padded)
        except ValueError:
            raise SettingError(f"{text!r} is not a parameter id: bad base32hex") from None
        if len(raw) > 8 or _spell(raw) != text:
            raise SettingError(f"{text!r} is not a parameter id: more than 8 bytes or stray bits")
        return cls(int.from_bytes(raw, "little"))

    def __str__(self) -> str:
        return _spell(struct.pack("<Q", self))

    def __repr__(self) -> str:
        return f"ParamId({int(self)})"


def _spell(raw: bytes) -> str:
    return base64.b32hexencode(raw).decode().lower().rstrip("=")
