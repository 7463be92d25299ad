"""What other distributions add to Ruda: objects that they register under an entry point group."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import cache
from typing import Any


def entry_points(*, group: str) -> Iterable[Any]:
    """What is registered; importing what finds it takes longer than opening most files."""
    from importlib import metadata

    return metadata.entry_points(group=group)


@cache
def plugged_in(group: str, what: str) -> tuple[Any, ...]:
    """The objects of a group, made where classes are registered; looked for once.

    What cannot be loaded is left out with a RuntimeWarning that says so: ``what`` is the word for
    such an object there.
    """
    found: list[Any] = []
    for point in entry_points(group=group):
        try:
            made = point.load()
            found.append(made() if isinstance(made, type) else made)
        except Exception as error:  # noqa: BLE001 - foreign code may fail in any way
            warnings.warn(
                f"the {what} {point.name!r} cannot be loaded: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
    return tuple(found)
