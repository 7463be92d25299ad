"""Tar archives of PyTorch 0.1 that lie or hide something, and the sentence that each gets."""

import io
import pickle
import tarfile

import numpy as np
import pytest

from ruda.errors import (
    FormatError,
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnsafeContentError,
    UnsupportedContentError,
)
from ruda.store import open_store
from ruda.testing.file_bytes import (
    LIST,
    call,
    group,
    name,
    number,
    script,
    table,
    text,
)

FOUR = np.arange(4, dtype="<f4")
SYSTEM = script(call("os.system", text("touch x")))
ABOUT = pickle.dumps({"protocol_version": 1000, "little_endian": True}, 2)
STATE = script(table({"w": number(2) + b"Q"}))


def storages(numel=4, count=1):
    """The member of one storage with the key 1."""
    fields = script(group(number(1), text("cpu"), name("torch.FloatStorage")))
    held = numel.to_bytes(8, "little", signed=True) + FOUR.tobytes()
    return pickle.dumps(count, 2) + fields + held + script(LIST)


def tensors(*numbers, rank=1):
    """The member of one tensor with the key 2: sizes, strides, offset."""
    fields = script(group(number(2), number(1), name("torch.FloatTensor")))
    tail = b"".join(n.to_bytes(8, "little", signed=True) for n in numbers)
    return pickle.dumps(1, 2) + fields + rank.to_bytes(8, "little") + tail


def archive(more=(), **members):
    """A checkpoint with some members replaced (None: left out), and further ones behind."""
    parts = {"sys_info": ABOUT, "storages": storages(), "tensors": tensors(2, 1, 1)}
    parts |= {"pickle": STATE} | members
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as made:
        for member, raw in [*((k, v) for k, v in parts.items() if v is not None), *more]:
            about = tarfile.TarInfo(member)
            about.size = len(raw)
            if raw == b"link":
                about.type, about.linkname, about.size = tarfile.SYMTYPE, "/etc/passwd", 0
            made.addfile(about, io.BytesIO(raw))
    return out.getvalue()


UNSAFE = "could run code; nothing was run, and the file is refused"
CASES = [
    *(
        pytest.param(archive(**{member: SYSTEM}), UnsafeContentError, UNSAFE, id=f"in {member}")
        for member in ("sys_info", "storages", "tensors", "pickle")
    ),
    pytest.param(
        archive(storages=storages()[:-4] + SYSTEM),
        UnsafeContentError,
        UNSAFE,
        id="in the parts of storages",
    ),
    pytest.param(archive(pickle=None), HeaderError, "without pickle", id="no pickle"),
    pytest.param(archive(storages=None), HeaderError, "without storages", id="no storages"),
    pytest.param(archive(tensors=None), HeaderError, "not in the archive", id="no tensors"),
    pytest.param(archive(sys_info=b""), HeaderError, "is damaged", id="no facts"),
    pytest.param(
        archive(more=[("pickle", STATE)]), HeaderError, "'pickle' twice", id="two pickles"
    ),
    pytest.param(archive(more=[("../x", b"")]), HeaderError, "points outside", id="a way out"),
    pytest.param(archive(more=[("/x", b"")]), HeaderError, "points outside", id="a whole path"),
    pytest.param(
        archive(more=[("x", b"link")]), UnsupportedContentError, "is no plain file", id="a link"
    ),
    *(
        pytest.param(
            archive(storages=storages(numel)),
            OffsetError if numel < 0 or numel >= 1 << 60 else (OffsetError, TruncatedFileError),
            "storage|ends early|elements",
            id=f"a storage of {numel}",
        )
        for numel in (-1, 1 << 31, 1 << 53, (1 << 60) - 1, (1 << 63) - 1)
    ),
    *(
        pytest.param(archive(tensors=tensors(*view)), OffsetError, why, id=f"a view {view}")
        for view, why in {
            (5, 1, 0): "ends at element 5",
            (2, 1, 3): "ends at element 5",
            (2, 1, -1): "starts at element -1",
            (-2, 1, 0): "negative",
            (2, -1, 0): "negative",
            (2, 1 << 62, 0): "ends at element",
        }.items()
    ),
    *(
        pytest.param(archive(storages=pickle.dumps(count, 2)), HeaderError, "no number", id=what)
        for what, count in {
            "minus one storages": -1,
            "2^40 storages": 1 << 40,
            "x storages": "x",
            "true storages": True,
            "1.0 storages": 1.0,
        }.items()
    ),
]


@pytest.mark.parametrize(("raw", "kind", "words"), CASES)
def test_refused(tmp_path, monkeypatch, raw, kind, words):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "file.pt"
    path.write_bytes(raw)
    with pytest.raises(kind, match=words):
        open_store(path).close()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("order", [1, -1])
def test_the_good_one_is_read_in_any_order(tmp_path, order):
    parts = {"sys_info": ABOUT, "storages": storages(), "tensors": tensors(2, 1, 1)}
    turned = dict(list((parts | {"pickle": STATE}).items())[::order])
    empty = dict.fromkeys(parts | {"pickle": STATE})
    path = tmp_path / "file.pt"
    path.write_bytes(archive(**empty, more=list(turned.items())))
    with open_store(path) as index:
        np.testing.assert_array_equal(index["w"].read(), FOUR[1:3])


def test_a_cut_is_never_a_value(tmp_path):
    whole = archive()
    path = tmp_path / "file.pt"
    for end in range(0, len(whole.rstrip(b"\0")), 7):
        path.write_bytes(whole[:end])
        with pytest.raises(FormatError, match=r"file\.pt"):
            open_store(path).close()
