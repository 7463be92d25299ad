"""Metadata of a file that is to be written: kept, changed, added, struck out or lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ruda.session.language import later, tr

_STATES = {
    "kept": (later("Kept"), "applied"),
    "changed": (later("Changed"), "missing"),
    "added": (later("Added"), "unused"),
    "removed": (later("Struck out"), "skipped"),
    "lost": (later("Lost"), "error"),
}
"""The word of each state, and the status whose mark and colour it has."""


@dataclass(frozen=True, slots=True)
class MetadataLine:
    """One entry: as the new file will have it, or as the old one has it where it will not."""

    key: str
    value: str
    state: str
    """``kept``, ``changed``, ``added``, ``removed`` or ``lost`` (the format cannot hold it)."""
    is_own: bool
    """True for an entry of the source; False for one that was added."""

    @property
    def word(self) -> str:
        """The state in the language of the screens."""
        return tr(_STATES[self.state][0])

    @property
    def mark(self) -> str:
        """Name of the status whose mark stands before the word."""
        return _STATES[self.state][1]


def metadata_lines(
    source: Mapping[str, str], written: Mapping[str, str], dropped: frozenset[str] = frozenset()
) -> tuple[MetadataLine, ...]:
    """Entries of the source in their order, then what is new.

    ``written`` is the metadata of the plan, ``dropped`` the keys that a person struck out.
    """
    lines = []
    for key, value in source.items():
        if key in written:
            state = "kept" if written[key] == value else "changed"
            lines.append(MetadataLine(key, written[key], state, True))
        else:
            state = "removed" if key in dropped else "lost"
            lines.append(MetadataLine(key, value, state, True))
    new = (key for key in written if key not in source)
    lines += [MetadataLine(key, written[key], "added", False) for key in new]
    return tuple(lines)
