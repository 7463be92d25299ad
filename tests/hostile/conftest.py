"""How a hostile file is tried: opened and read whole, and what it says instead."""

from __future__ import annotations

import pytest

from ruda.errors import FormatError, StoreError
from ruda.testing.formats import read_all


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """Class and text of the error that a file of these bytes gets; it leaves nothing behind."""
    monkeypatch.chdir(tmp_path)

    def attempt(raw, suffix):
        path = tmp_path / f"file{suffix}"
        path.write_bytes(raw)
        with pytest.raises(StoreError, match=r"file\.") as caught:
            read_all(path)
        assert list(tmp_path.iterdir()) == [path]
        said = str(caught.value)
        assert said.startswith(f"{path}: ")
        if isinstance(caught.value, FormatError):
            assert caught.value.reason in said
        return type(caught.value), said.removeprefix(f"{path}: ")

    return attempt
