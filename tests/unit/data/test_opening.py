"""open_dataset: kinds are found by looking, splits are told, plug-ins join in."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import numpy as np
import pytest

from ruda import _plugins
from ruda.data import (
    Dataset,
    IdxDataset,
    InMemDataset,
    available_sources,
    dataset_splits,
    find_source,
    open_dataset,
    write_idx,
)
from ruda.errors import DatasetError, FileAccessError, SettingError
from ruda.progress import SILENT, Monitor

IMAGES = np.zeros((4, 3, 2), dtype=np.uint8)
LABELS = np.zeros(4, dtype=np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for split in ("train", "t10k"):
        write_idx(tmp_path / f"{split}-images-idx3-ubyte", IMAGES)
        write_idx(tmp_path / f"{split}-labels-idx1-ubyte.gz", LABELS)
    return tmp_path


class NumbersSource:
    name = "numbers"
    title = "Numbers in a text file"

    def matches(self, path: Path) -> bool:
        return path.suffix == ".numbers"

    def splits(self, path: Path) -> tuple[str, ...]:
        return ("all",)

    def open(
        self, path: Path, *, split: str | None = None, monitor: Monitor = SILENT
    ) -> Dataset[Any]:
        return InMemDataset([int(word) for word in path.read_text().split()])


class SecondIdx(NumbersSource):
    name = "idx"


def offered(monkeypatch: pytest.MonkeyPatch, name: str, outcome: Any) -> None:
    """Make one entry point that loads to ``outcome``, or raises it."""
    entry = create_autospec(EntryPoint, instance=True)
    entry.name = name
    if isinstance(outcome, Exception):
        entry.load.side_effect = outcome
    else:
        entry.load.return_value = outcome
    monkeypatch.setattr(_plugins, "entry_points", lambda *, group: [entry])


@pytest.fixture(autouse=True)
def _fresh_plug_ins() -> Iterator[None]:
    _plugins.plugged_in.cache_clear()
    yield
    _plugins.plugged_in.cache_clear()


def test_a_folder(folder: Path) -> None:
    assert dataset_splits(folder) == ("test", "train")
    dataset = open_dataset(folder, split="train")
    assert isinstance(dataset, IdxDataset)
    assert len(dataset) == 4
    with pytest.raises(SettingError, match="choose one with split="):
        open_dataset(folder)


def test_a_file_finds_its_labels(folder: Path) -> None:
    path = folder / "t10k-images-idx3-ubyte"
    assert dataset_splits(path) == ("test",)
    dataset = open_dataset(str(path))
    assert isinstance(dataset, IdxDataset)
    assert dataset.labels_path == folder / "t10k-labels-idx1-ubyte.gz"
    with pytest.raises(SettingError, match="is one file and has no split 'train'"):
        open_dataset(path, split="train")


def test_a_file_without_labels(tmp_path: Path) -> None:
    write_idx(tmp_path / "images-idx3-ubyte", IMAGES)
    assert list(open_dataset(tmp_path / "images-idx3-ubyte").features) == ["image"]
    assert dataset_splits(tmp_path) == ("all",)


def test_a_packed_file_beside_its_plain_twin_has_its_split(folder: Path) -> None:
    packed = folder / "t10k-images-idx3-ubyte.gz"
    write_idx(packed, IMAGES)
    assert dataset_splits(packed) == ("test",)
    assert dataset_splits(folder) == ("test", "train")


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError, match=r"x+: cannot be reached: File name too long"):
        find_source(tmp_path / ("x" * 300))
    with pytest.raises(FileAccessError, match=r"none: there is no such file or folder"):
        open_dataset(tmp_path / "none")


def test_nothing_recognised(tmp_path: Path) -> None:
    told = r"no dataset source recognises this folder; known: IDX images and labels \(MNIST\)"
    with pytest.raises(DatasetError, match=told):
        open_dataset(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(DatasetError, match="recognises this file"):
        open_dataset(tmp_path / "notes.txt")


def test_a_plug_in_joins_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch, "numbers", NumbersSource)
    (tmp_path / "a.numbers").write_text("3 1 2")
    assert [source.name for source in available_sources()] == ["idx", "numbers"]
    assert find_source(tmp_path / "a.numbers").title == "Numbers in a text file"
    assert list(open_dataset(tmp_path / "a.numbers")) == [3, 1, 2]


def test_a_plug_in_that_fails_is_named_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch, "broken", ImportError("no such module"))
    with pytest.warns(RuntimeWarning, match="'broken' cannot be loaded: no such module"):
        assert [source.name for source in available_sources()] == ["idx"]


def test_two_of_one_name_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch, "second", SecondIdx)
    with pytest.raises(DatasetError, match="two dataset sources are called 'idx'"):
        available_sources()
