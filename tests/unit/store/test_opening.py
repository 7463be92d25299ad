"""Opening by content, and saying what a file is where it is none."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import ruda
from ruda import _plugins
from ruda.errors import FileAccessError, SettingError, UnknownFormatError
from ruda.store import ModelFormat, available_formats, open_store, opening
from ruda.testing.file_bytes import (
    rudapack_bytes,
    safetensors_bytes,
    torch_legacy_bytes,
    torch_zip_bytes,
)

W = {"w": np.ones(3, "<f4")}


@pytest.fixture(autouse=True)
def _fresh_formats():
    _plugins.plugged_in.cache_clear()
    yield
    _plugins.plugged_in.cache_clear()


NAMES = [
    pytest.param("a.pt", safetensors_bytes(W), "safetensors", id="safetensors named pt"),
    pytest.param("a.safetensors", torch_zip_bytes(W), "pytorch", id="pytorch named safetensors"),
    pytest.param("a", rudapack_bytes(W), "rudapack", id="rudapack without a suffix"),
    pytest.param("A.SAFETENSORS", safetensors_bytes(W), "safetensors", id="upper case"),
]


@pytest.mark.parametrize(("name", "raw", "expected"), NAMES)
def test_the_content_decides(tmp_path, name, raw, expected):
    path = tmp_path / name
    path.write_bytes(raw)
    with open_store(str(path)) as index:
        assert index.format == expected
        assert index.path == path
        np.testing.assert_array_equal(index["w"].read(), W["w"])


@pytest.mark.skipif(os.name == "nt", reason="errors as POSIX has them")
def test_a_path_that_cannot_be_looked_at_is_refused(tmp_path):
    with pytest.raises(FileAccessError, match=r"x+: cannot be reached: File name too long"):
        open_store(tmp_path / ("x" * 300))
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FileAccessError, match=r"loop: cannot be (opened|reached): Too many levels"):
        open_store(tmp_path / "loop")


def test_an_unknown_file_names_what_can_be_read(tmp_path):
    path = tmp_path / "model.zoo"
    path.write_bytes(b"\x08\x07\x12\x04test" * 5)
    sentence = r"model\.zoo: byte 0: begins with 08 07 12 .* it reads safetensors file, Rudapack"
    with pytest.raises(UnknownFormatError, match=sentence):
        open_store(path)


FOLDERS = [
    pytest.param([], r"is a folder without a weight file; name the file", id="empty"),
    pytest.param(["a.pt", "b.pt"], r"with several weight files \(a\.pt, b\.pt\)", id="two"),
]


@pytest.mark.parametrize(("names", "sentence"), FOLDERS)
def test_a_folder_with_more_or_less_than_one_set_is_refused(tmp_path, names, sentence):
    for name in names:
        (tmp_path / name).write_bytes(torch_zip_bytes(W))
    with pytest.raises(FileAccessError, match=sentence):
        open_store(tmp_path)


def test_a_folder_with_one_weight_file_opens_it(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(safetensors_bytes(W))
    (tmp_path / "training_args.bin").write_bytes(torch_zip_bytes(W))
    with open_store(tmp_path) as index:
        assert index.path == tmp_path / "model.safetensors"


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileAccessError, match=r"absent\.pt: there is no file here"):
        open_store(tmp_path / "absent.pt")


def test_a_link_that_leads_nowhere_says_where_it_leads(tmp_path):
    (tmp_path / "m.pt").symlink_to("gone.pt")
    with pytest.raises(FileAccessError) as caught:
        open_store(tmp_path / "m.pt")
    said = f"m.pt: this is a link to {tmp_path / 'gone.pt'}, and there is no file there"
    assert str(caught.value).endswith(said)


@pytest.mark.parametrize(
    "frame", [b"\x28\xb5\x2f\xfd\x04\x88\x45\x05\0", b"\x1f\x8b\x08\0\0\0\0\0\0\xff"]
)
def test_a_compressed_checkpoint_that_shows_its_beginning_is_said_to_be_one(tmp_path, frame):
    """Little that cannot be packed stands in such a file as it is."""
    path = tmp_path / "file.pt"
    path.write_bytes(frame + torch_legacy_bytes({"w": np.arange(4.0)}))
    with pytest.raises(UnknownFormatError, match=r"is compressed with (Zstandard|gzip)"):
        open_store(path)


class _Point:
    """An entry point, as far as it is used here."""

    def __init__(self, name, made):
        self.name = name
        self.made = made

    def load(self):
        if isinstance(self.made, Exception):
            raise self.made
        return self.made


class _Own:
    name = "own"
    title = "own file"
    suffixes = (".own",)

    def matches(self, head, path):
        return head.startswith(b"OWN")

    def open(self, path, *, monitor=None):
        raise UnknownFormatError("opened as its own", path=path)


def points(monkeypatch, *found):
    monkeypatch.setattr(_plugins, "entry_points", lambda group: found)


def test_a_format_of_another_distribution_is_used(tmp_path, monkeypatch):
    points(monkeypatch, _Point("own", _Own))
    assert isinstance(available_formats()[-1], ModelFormat)
    path = tmp_path / "x.dat"
    path.write_bytes(b"OWN file")
    with pytest.raises(UnknownFormatError, match=r"opened as its own"):
        open_store(path)


def test_a_format_that_does_not_load_is_left_out_with_a_warning(monkeypatch):
    points(monkeypatch, _Point("broken", ImportError("no such module")))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        names = [each.name for each in available_formats()]
    assert names == [each.name for each in opening.BUILT_IN]
    assert str(caught[0].message) == "the format 'broken' cannot be loaded: no such module"


def test_two_formats_of_one_name_are_refused(monkeypatch):
    class Twin(_Own):
        name = "pytorch"

    points(monkeypatch, _Point("twin", Twin()))
    with pytest.raises(SettingError, match=r"two formats are called 'pytorch'"):
        available_formats()


def test_the_table_of_formats_says_what_their_readers_say():
    for listed, reader in zip(opening.BUILT_IN, available_formats(), strict=False):
        assert listed.name == reader.name
        assert (listed.title, listed.suffixes) == (reader.title, reader.suffixes)
        assert opening.format_title(reader.name) == reader.title
    assert opening.format_title("nothing") == "nothing"
    suffixes = [suffix for reader in available_formats() for suffix in reader.suffixes]
    assert opening.format_suffixes() == tuple(dict.fromkeys(suffixes))


def test_opening_a_file_imports_the_readers_that_it_needs(tmp_path):
    path = tmp_path / "m.safetensors"
    path.write_bytes(b"\x02" + bytes(7) + b"{}")
    places = [*sys.path, str(Path(ruda.__file__).parents[1])]
    code = (
        f"import sys; sys.path[:] = {places!r}; "
        "from ruda.store import open_store; open_store(sys.argv[1]).close(); "
        "print(sorted(m for m in sys.modules if m.startswith('ruda.store.formats.')))"
        "; print([m for m in ('importlib.metadata', 'http.client', 'ssl') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "['ruda.store.formats.safetensors', 'ruda.store.formats.sharded']",
        "[]",
    ]


def test_an_index_knows_the_files_that_it_was_opened_from(tmp_path):
    listed = {name: f"{name}.safetensors" for name in "ab"}
    for key, name in listed.items():
        (tmp_path / name).write_bytes(safetensors_bytes({key: np.ones(3, "<f4")}))
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": listed}))
    with open_store(path) as index:
        before = index.stamps
    assert [Path(each.path).name for each in before] == [path.name, *listed.values()]
    os.utime(tmp_path / "b.safetensors", ns=(1, 1))
    with open_store(path) as index:
        assert index.stamps[:2] == before[:2]
        assert index.stamps[2] != before[2]


def test_a_folder_is_known_by_its_file(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"\x02" + bytes(7) + b"{}")
    with open_store(tmp_path) as index:
        assert [each.path for each in index.stamps] == [str(path)]
