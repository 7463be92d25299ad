"""The attributes of an HDF5 file's root as text: what Keras says of the model."""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_ATTRIBUTES = 1000
ATTRIBUTE_LIMIT = 16 << 20
SHOWN_ITEMS = 64


def attributes(group: Any, notes: list[str]) -> dict[str, str]:
    """Texts and numbers that are attached to a group, by name; others get a note.

    Whatever they say, they stay text: the description of a Keras model can hold marshalled code.
    """
    import h5py

    found: dict[str, str] = {}
    count = h5py.h5a.get_num_attrs(group)
    if count > MAX_ATTRIBUTES:
        notes.append(f"the file has {count} attributes; the first {MAX_ATTRIBUTES} are shown")
    for place in range(min(count, MAX_ATTRIBUTES)):
        attribute = h5py.h5a.open(group, index=place)
        name = attribute.name.decode("utf-8", "backslashreplace")
        kind = attribute.get_type().get_class()
        is_known = kind in (h5py.h5t.STRING, h5py.h5t.INTEGER, h5py.h5t.FLOAT)
        if not is_known or attribute.get_storage_size() > ATTRIBUTE_LIMIT:
            notes.append(f"the attribute {name} is no text or number; left out")
            continue
        found[name] = _text(h5py.AttributeManager(h5py.Group(group))[attribute.name])
    return found


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, np.ndarray):
        items = [_text(item) for item in value.reshape(-1)[:SHOWN_ITEMS]]
        more = f" … ({value.size} in all)" if value.size > len(items) else ""
        return ", ".join(items) + more
    return str(value)
