"""What fsspec needs beside the path, what it lacks and what it cannot do, in sentences."""

from __future__ import annotations

import errno
import re
import socket
import sys

import fsspec  # noqa: TID253 - file systems of the tests are classes of it
import numpy as np
import pytest

from ruda.cli import main
from ruda.errors import FileAccessError
from ruda.store import open_store
from ruda.store._remote_fsspec import failure
from ruda.store.uri import Uri
from ruda.testing.file_bytes import safetensors_bytes

W = {"fc.weight": np.arange(12, dtype="<f4").reshape(3, 4)}
RAW = safetensors_bytes(W)


class Hosted(fsspec.AbstractFileSystem):
    """A system that is told its host and a login, as ftp and sftp are."""

    protocol = "hosted"
    cachable = False

    def __init__(self, host, port=1, username=None, password=None):
        super().__init__()
        self.login = host, port, username, password

    @classmethod
    def _strip_protocol(cls, path):
        return fsspec.utils.infer_storage_options(path)["path"]

    @staticmethod
    def _get_kwargs_from_urls(text):
        found = fsspec.utils.infer_storage_options(text)
        return {name: found[name] for name in ("host", "port", "username", "password")
                if name in found}  # fmt: skip

    def info(self, path):
        if self.login != ("h", 21, "u", "geheim"):
            raise RuntimeError(f"530 wrong login for {self.login[2:]} at u:geheim")
        return {"name": path, "size": len(RAW), "type": "file"}

    def cat_file(self, path, start=None, end=None):
        return RAW[start:end]


class Configured(Hosted):
    protocol = "configured"

    def __init__(self, *, host):
        super().__init__(host)


class Strange(fsspec.AbstractFileSystem):
    """A system that fails in a way of its own."""

    protocol = "strange"
    cachable = False
    fault: Exception = RuntimeError()

    def info(self, path):
        raise self.fault


class Odd(fsspec.AbstractFileSystem):
    protocol = "odd"
    cachable = False

    def __init__(self):
        raise TypeError("unhashable type: 'list'")


@pytest.fixture(autouse=True)
def _systems(monkeypatch):
    registry = sys.modules["fsspec.registry"]
    lacking = {"class": "no_such_module.System", "err": "Install no-such to open it"}
    monkeypatch.setitem(registry.known_implementations, "lacking", lacking)
    for kind in (Hosted, Configured, Strange, Odd):
        monkeypatch.setitem(registry._registry, kind.protocol, kind)


def test_host_and_login_of_an_address_reach_its_system():
    with open_store("hosted://u:geheim@h:21/m.safetensors") as index:
        np.testing.assert_array_equal(index["fc.weight"].read(), W["fc.weight"])


PLACES = r"the address, FSSPEC_\w+_… or the files in ~/\.config/fsspec$"
REFUSED = [
    pytest.param(
        "hosted://",
        rf"^hosted://: the address does not say all that fsspec needs for hosted://: 'host'; "
        rf"say it in {PLACES}",
        id="an option missing",
    ),
    pytest.param(
        "configured://u:p@h/m.pt",
        rf"fsspec's file system for configured:// takes no option '\w+'; look for it in {PLACES}",
        id="an option too many",
    ),
    pytest.param(
        "odd://m.pt",
        r"does not take its options \(unhashable type: 'list'\); look at the address",
        id="options it cannot use",
    ),
    pytest.param(
        "lacking://b/m.pt",
        r"reading lacking:// addresses needs a package that is not installed \(no_such_module\); "
        r"install it beside ruda, or copy the file to this machine "
        r"\(fsspec says: Install no-such to open it\)$",
        id="no package",
    ),
    pytest.param(
        "zip://m.pt::memory://a.zip", r"addresses inside of addresses \('::'\) are not", id="chain"
    ),
]


@pytest.mark.parametrize(("text", "sentence"), REFUSED)
def test_what_an_address_lacks_is_said(text, sentence):
    with pytest.raises(FileAccessError, match=sentence):
        open_store(text)


def test_a_port_where_nobody_listens_cannot_be_reached():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # taken, and nobody listens
        text = f"ftp://u:geheim@127.0.0.1:{unused.getsockname()[1]}/m.pt"
        sentence = r"cannot be reached or broke off; check the address, and try again \(Connection"
        with pytest.raises(FileAccessError, match=sentence) as caught:
            open_store(text)
    assert "geheim" not in str(caught.value)


FAULTS = [
    pytest.param(
        AttributeError("'NoneType' object has no attribute 'x'"),
        r"what reads strange:// addresses for fsspec cannot read this one; check the address, or "
        r"copy the file to this machine \(AttributeError: 'NoneType'",
        id="a fault of its own",
    ),
    pytest.param(
        socket.gaierror(-2, "Name or service not known"),
        r"cannot be reached .*\(gaierror: \[Errno -2\] Name or service not known\)$",
        id="no such host",
    ),
    pytest.param(
        OSError(errno.EHOSTUNREACH, "No route to host"),
        rf"cannot be reached .*\(OSError: \[Errno {errno.EHOSTUNREACH}\] No route to host\)$",
        id="no way to the host",
    ),
    pytest.param(
        ConnectionError("Pool(x): Max retries (Caused by X([Errno 111] Connection refused))"),
        r"try again \(ConnectionError: \[Errno 111\] Connection refused\)$",
        id="what the system says within",
    ),
    pytest.param(EOFError(), r"cannot be reached or broke off.*\(EOFError\)$", id="ended"),
    pytest.param(TypeError("info() got an unexpected keyword"), r"\(TypeError: info", id="call"),
]


@pytest.mark.parametrize(("fault", "sentence"), FAULTS)
def test_what_a_system_raises_becomes_a_sentence(monkeypatch, fault, sentence):
    monkeypatch.setattr(Strange, "fault", fault)
    with pytest.raises(FileAccessError, match=rf"^strange://b/m\.pt: .*{sentence}"):
        open_store("strange://b/m.pt")


def test_no_login_is_repeated():
    with pytest.raises(FileAccessError, match=r"^sftp://h/m\.pt: .*RuntimeError: 530") as caught:
        raise failure(Uri("sftp://u:geheim@h/m.pt"), RuntimeError("530 no login as u:geheim"))
    assert "geheim" not in str(caught.value)


def test_the_command_line_says_it_in_one_sentence(capsys):
    assert main(["inspect", "github://model.pt"]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(rf"ruda: github://model\.pt: the address does .*{PLACES[:-1]}\n", said)
