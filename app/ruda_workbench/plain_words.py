"""Sentences of the library as the window says them: without options of the command line."""

from __future__ import annotations

import re

_OPTION = re.compile(r" ?\(`?--[^()]*\)")


def without_options(text: str) -> str:
    """``add it to the metadata (--metadata format=pt)`` without what stands in brackets."""
    return _OPTION.sub("", text)
