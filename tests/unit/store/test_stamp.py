"""Stamps: whether a file is still the one that was opened."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ruda.errors import FileAccessError, FileChangedError
from ruda.store import Stamp, is_same_file
from ruda.store.uri import place_of

OPENED = 1_600_000_000_000_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "model.bin"
    found.write_bytes(b"weights")
    os.utime(found, ns=(OPENED, OPENED))
    return found


def stamp_of(path: Path) -> Stamp:
    found = Stamp.of(path)
    assert found is not None
    return found


def rewritten(path: Path) -> None:
    path.write_bytes(b"WEIGHTS")


def longer(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"!")
    os.utime(path, ns=(OPENED, OPENED))


def replaced(path: Path) -> None:
    """A copy that took its place: as long, and with its time."""
    other = path.with_name("other")
    other.write_bytes(b"WEIGHTS")
    os.utime(other, ns=(OPENED, OPENED))
    other.replace(path)


@pytest.mark.parametrize("change", [rewritten, longer, replaced])
def test_another_file_or_a_changed_one_is_told(path: Path, change: Callable[[Path], None]) -> None:
    stamp = stamp_of(path)
    assert stamp.is_current
    stamp.require_current()
    change(path)
    assert not stamp.is_current
    with pytest.raises(
        FileChangedError, match=r"model\.bin: has changed since it was opened; open it again"
    ):
        stamp.require_current()


def test_a_file_that_is_gone_is_not_called_changed(path: Path) -> None:
    stamp = stamp_of(path)
    path.unlink()
    assert not stamp.is_current
    with pytest.raises(FileAccessError, match=r"model\.bin: there is no file here"):
        stamp.require_current()


HELD = [
    pytest.param(rewritten, False, id="rewritten"),
    pytest.param(longer, False, id="longer"),
    pytest.param(replaced, True, id="replaced"),
]


@pytest.mark.parametrize(("change", "same"), HELD)
def test_an_open_file_is_itself_after_a_rename(
    path: Path, change: Callable[[Path], None], same: bool
) -> None:
    with path.open("rb") as file:
        stamp = Stamp.of_open(path, file.fileno())
        assert stamp == Stamp.of(path)
        change(path)
        assert stamp.is_of_open(file.fileno()) is same


def test_what_is_no_file_on_disk_has_no_stamp(path: Path) -> None:
    others = [path.parent, path.with_name("absent"), Path("nul\0name"), None]
    others.append(place_of("https://host/model.bin"))
    assert [Stamp.of(each) for each in others] == [None] * len(others)


def test_two_paths_lead_to_one_file(path: Path) -> None:
    link = path.with_name("link.bin")
    os.link(path, link)
    assert is_same_file(path, link)
    assert is_same_file(path, path.parent / "." / path.name)


def test_two_paths_that_are_not_one_file(path: Path) -> None:
    copy = path.with_name("copy.bin")
    copy.write_bytes(path.read_bytes())
    address = place_of("https://host/model.bin")
    for other in (copy, path.with_name("absent"), Path("nul\0name"), address, None):
        assert not is_same_file(path, other)
        assert not is_same_file(other, path)
