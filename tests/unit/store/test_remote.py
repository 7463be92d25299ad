"""Stores at addresses: what is fetched, and what is said where nothing can be."""

import contextlib
import http.server
import json
import os
import re
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import (
    FileAccessError,
    HeaderError,
    MissingExtraError,
    TruncatedFileError,
    UnknownFormatError,
)
from ruda.store import open_store
from ruda.store import remote as remote_module
from ruda.store.remote import BLOCK_BYTES, RemoteFile
from ruda.store.uri import Uri, place_of
from ruda.testing.file_bytes import (
    rudapack_bytes,
    safetensors_bytes,
    torch_legacy_bytes,
    torch_zip_bytes,
)

BIG = {
    "small": np.arange(8, dtype="<f4"),
    "large": np.arange(1 << 20, dtype="<f4"),
    "last": np.arange(100, dtype="<i8"),
}
"""4 MiB in all: what is fetched shows in the count."""
BUILDERS = {
    "model.safetensors": safetensors_bytes,
    "model.bpk": rudapack_bytes,
    "model.pt": torch_zip_bytes,
    "old.pt": torch_legacy_bytes,
}


# --- names -------------------------------------------------------------------------------------

PLACES = [
    pytest.param("model.pt", Path("model.pt"), id="path"),
    pytest.param("C:/m/model.pt", Path("C:/m/model.pt"), id="drive letter"),
    pytest.param("C://m/model.pt", Path("C://m/model.pt"), id="drive letter, two slashes"),
    pytest.param("file:///m/a%20b.pt", Path("/m/a b.pt"), id="file"),
    pytest.param("FILE://localhost/m.pt", Path("/m.pt"), id="file on this host"),
    pytest.param("s3://b/m.pt", Uri("s3://b/m.pt"), id="object store"),
    pytest.param("https://h/m.pt?a=1", Uri("https://h/m.pt?a=1"), id="web"),
]


@pytest.mark.skipif(sys.platform == "win32", reason="paths as on POSIX")
@pytest.mark.parametrize(("words", "expected"), PLACES)
def test_a_scheme_makes_an_address(words, expected):
    assert place_of(words) == expected


PARTS = [
    pytest.param("https://u:p@h/d/m%20x.pt?k=s", "https://h/d/m%20x.pt", "m x.pt", id="web"),
    pytest.param("s3://b/d/m.tar.pt", "s3://b/d/m.tar.pt", "m.tar.pt", id="object store"),
    pytest.param("sftp://u:p@w@h/d/m.pt", "sftp://h/d/m.pt", "m.pt", id="login"),
    pytest.param("hf://o/n@main/m.pt", "hf://o/n@main/m.pt", "m.pt", id="revision"),
    pytest.param("memory://m", "memory://m", "m", id="no folder"),
]


@pytest.mark.parametrize(("text", "shown", "name"), PARTS)
def test_what_may_be_secret_is_not_shown(text, shown, name):
    uri = Uri(text)
    assert (str(uri), uri.name) == (shown, name)


def test_a_file_beside_another_keeps_the_query():
    assert Uri("https://h/d/a.pt?k=s").with_name("b c.pt") == Uri("https://h/d/b%20c.pt?k=s")
    assert Uri("s3://b/d/a.pt").with_name("b c.pt") == Uri("s3://b/d/b c.pt")


def test_an_address_that_is_none_is_refused():
    with pytest.raises(FileAccessError, match=r"https://\[::1 is no address: Invalid IPv6"):
        open_store("https://[::1")


@pytest.mark.parametrize("words", ["", "file://", "file://localhost"])
def test_no_path_is_not_the_current_folder(tmp_path, monkeypatch, words):
    (tmp_path / "m.safetensors").write_bytes(safetensors_bytes(BIG))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileAccessError, match=r"^the path is empty; name a file or a folder$"):
        open_store(words)


@pytest.mark.skipif(sys.platform == "win32", reason="names are texts there")
def test_a_file_address_names_any_bytes(tmp_path):
    assert place_of("file:///m/%ff%C3%BC.pt") == Path(os.fsdecode(b"/m/\xff\xc3\xbc.pt"))


# --- fsspec ------------------------------------------------------------------------------------


class Cloud:
    """fsspec's files in memory, counting what is fetched; they can fail and lie."""

    def __init__(self, system, patch):
        self.put = lambda name, raw: system.pipe_file(f"/{name}", raw)
        self.remove = lambda name: system.rm_file(f"/{name}")
        self.fetched = self.lie = 0
        self.failure = None
        cat_file, info = system.cat_file, system.info

        def counted(path, start=None, end=None):
            if self.failure is not None:
                raise self.failure
            raw = cat_file(path, start=start, end=end)
            self.fetched += len(raw)
            return raw

        patch.setattr(system, "cat_file", counted)
        patch.setattr(
            system, "info", lambda path: (f := info(path)) | {"size": (f["size"] or 0) + self.lie}
        )


@pytest.fixture
def cloud(monkeypatch):
    import fsspec

    system = fsspec.filesystem("memory")
    monkeypatch.setattr(type(system), "store", {})
    monkeypatch.setattr(type(system), "pseudo_dirs", [""])
    return Cloud(system, monkeypatch)


@pytest.mark.parametrize("name", BUILDERS)
def test_opening_fetches_the_header_and_reading_the_tensor(cloud, name):
    cloud.put(f"m/{name}", BUILDERS[name](BIG))
    with open_store(f"memory://m/{name}") as index:
        assert list(index) == list(BIG) or name.endswith(".bpk")
        assert cloud.fetched <= 4 * BLOCK_BYTES
        before = cloud.fetched
        np.testing.assert_array_equal(index["large"].read(), BIG["large"])
        assert cloud.fetched - before <= BIG["large"].nbytes + 2 * BLOCK_BYTES
        np.testing.assert_array_equal(index["small"].read(), BIG["small"])
        np.testing.assert_array_equal(index["last"].read(), BIG["last"])
        assert str(index.path) == f"memory://m/{name}"
        assert index["last"].origin.path.name == name


def test_many_small_tensors_are_fetched_in_blocks(cloud):
    arrays = {f"w{n}": np.full(16, n, "<f4") for n in range(2000)}
    raw = safetensors_bytes(arrays)
    cloud.put("m.safetensors", raw)
    with open_store("memory://m.safetensors") as index:
        for key, array in arrays.items():
            np.testing.assert_array_equal(index[key].read(), array)
    assert cloud.fetched <= len(raw) + 2 * BLOCK_BYTES


def test_a_set_of_shards_is_opened_by_its_index_and_by_a_shard(cloud):
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for name, key in zip(names, ("a", "b"), strict=True):
        cloud.put(f"s/{name}", safetensors_bytes({key: np.ones(3, "<f4")}))
    listed = json.dumps({"metadata": {}, "weight_map": dict(zip("ab", names, strict=True))})
    cloud.put("s/model.safetensors.index.json", listed.encode())
    for name in ("model.safetensors.index.json", names[1]):
        with open_store(f"memory://s/{name}") as index:
            assert list(index) == ["a", "b"]
            assert [shard.name for shard in index.shards] == names
            np.testing.assert_array_equal(index["b"].read(), np.ones(3, "<f4"))
    cloud.remove(f"s/{names[1]}")
    sentence = r"memory://s/model-00002-of-00002\.safetensors: there is no file at this address"
    with pytest.raises(FileAccessError, match=sentence):
        open_store("memory://s/model.safetensors.index.json")
    cloud.remove("s/model.safetensors.index.json")
    with open_store(f"memory://s/{names[0]}") as index:
        assert list(index) == ["a"]


def test_a_read_behind_the_closing_is_an_error(cloud):
    cloud.put("m.safetensors", safetensors_bytes(BIG))
    index = open_store("memory://m.safetensors")
    index.close()
    with pytest.raises(FileAccessError, match="cannot be read: the file was closed"):
        index["large"].read()


FAILURES = [
    pytest.param(FileNotFoundError("x"), "was removed or replaced on the server", id="gone"),
    pytest.param(PermissionError("x"), "the server refuses access", id="no permission"),
    pytest.param(TimeoutError(), "the server did not answer in time", id="timeout"),
    pytest.param(
        RuntimeError("NoCredentials\nmore"), r"RuntimeError: NoCredentials\)$", id="other"
    ),
]


@pytest.mark.parametrize(("failure", "sentence"), FAILURES)
def test_what_a_service_raises_becomes_a_sentence(cloud, failure, sentence):
    cloud.put("m.safetensors", safetensors_bytes(BIG))
    with open_store("memory://m.safetensors") as index:
        cloud.failure = failure
        with pytest.raises(FileAccessError, match=rf"^memory://m\.safetensors: .*{sentence}"):
            index["large"].read()


@pytest.mark.parametrize("lie", [10, 1 << 40], ids=["a little", "much"])
def test_a_service_that_lies_about_the_length_is_found_out(cloud, lie):
    cloud.put("m.npy", b"\x93NUMPY" + bytes(20))
    cloud.lie = lie
    sentence = r"m\.npy: byte 0: the server said that the file has \d+ bytes, but it gave 26 of"
    with pytest.raises(TruncatedFileError, match=sentence):
        open_store("memory://m.npy")


REFUSED = [
    pytest.param("memory://nothing.pt", "there is no file at this address", id="absent"),
    pytest.param("memory://folder", "is a folder without a weight file", id="folder"),
    pytest.param("memory://folder.pt", "is a folder, and a file is needed", id="folder as a file"),
    pytest.param("nosuch://b/m.pt", "no way is known to read nosuch:// addresses", id="scheme"),
]


@pytest.mark.parametrize(("text", "sentence"), REFUSED)
def test_addresses_that_cannot_be_opened(cloud, text, sentence):
    cloud.put("folder/x", b"x")
    cloud.put("folder.pt/x", b"x")
    with pytest.raises(FileAccessError, match=f"^{re.escape(text)}: .*{sentence}"):
        open_store(text)


@pytest.mark.parametrize(
    ("package", "text"),
    [pytest.param("fsspec", "memory://m.pt", id="fsspec"),
     pytest.param("httpx", "http://127.0.0.1:9/m.pt", id="httpx")],
)  # fmt: skip
def test_without_its_package_an_address_names_the_extra(monkeypatch, package, text):
    monkeypatch.setitem(sys.modules, package, None)
    sentence = rf'needs the package {package}, .* pip install "ruda\[remote\]"'
    with pytest.raises(MissingExtraError, match=sentence):
        open_store(text)


@given(st.binary(min_size=1, max_size=300_000), st.data())
def test_every_range_is_the_range_of_the_bytes(raw, data):
    import fsspec

    fsspec.filesystem("memory").pipe_file("/law", raw)
    with RemoteFile(Uri("memory://law")) as file:
        for _ in range(5):
            start = data.draw(st.integers(0, len(raw)))
            count = data.draw(st.integers(0, len(raw) - start))
            assert file.read_at(start, count) == raw[start : start + count]


# --- the web -----------------------------------------------------------------------------------


class Server:
    """A web server on this machine; ``mode`` is how it behaves."""

    def __init__(self):
        self.files = {}
        self.mode = "parts"
        self.sent = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                """Say nothing."""

            def do_GET(self):
                outer.answer(self)

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request):
        raw = self.files.get(request.path.partition("?")[0])
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers["Range"])
        start, end = int(asked[1]), int(asked[2]) + 1
        if self.mode.isdigit() or raw is None:
            self.send(request, 404 if raw is None else int(self.mode), b"sorry")
        elif self.mode == "redirect" and not request.path.endswith("?there"):
            self.send(request, 302, b"", {"Location": request.path + "?there"})
        elif self.mode == "whole":
            self.send(request, 200, raw)
        elif self.mode == "endless":
            self.send(request, 200, raw, {"Content-Length": None})
        elif self.mode == "slow":
            time.sleep(0.5)
            self.send(request, 206, b"")
        elif start >= len(raw):
            self.send(request, 416, b"", {"Content-Range": f"bytes */{len(raw)}"})
        else:
            self.send_part(request, raw, start, min(end, len(raw)))

    def send_part(self, request, raw, start, end):
        body, shown, size, more = raw[start:end], (start, end - 1), len(raw), {"ETag": '"1"'}
        if self.mode == "shifted":
            shown = (start + 1, end)
        elif self.mode == "changed" and start:
            more = {"ETag": '"2"'}
        elif self.mode == "grown" and start:
            size += 1
        elif self.mode == "longer":
            body += b"more"
        elif self.mode == "digits":
            size = "9" * 5000
        elif self.mode == "shorter":
            body = body[:-1]
        elif self.mode == "zipped":
            more["Content-Encoding"] = "gzip"
        elif self.mode == "silent":
            self.send(request, 206, body)
            return
        span = f"bytes {shown[0]}-{shown[1]}/{size}"
        self.send(request, 206, body, {"Content-Range": span, **more})

    def send(self, request, code, body, headers=()):
        request.send_response(code)
        told = {"Content-Length": str(len(body)), **dict(headers)}
        for name, value in told.items():
            if value is not None:
                request.send_header(name, value)
        request.send_header("Connection", "close")
        request.end_headers()
        request.close_connection = True
        with contextlib.suppress(ConnectionError):  # one that hangs up early is no fault of ours
            request.wfile.write(body)
        self.sent += len(body)


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    found = Server()
    yield found
    found.close()


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("mode", ["parts", "redirect"])
def test_a_server_that_sends_parts_is_asked_for_parts(server, name, mode):
    server.mode = mode
    server.files[f"/m/{name}"] = BUILDERS[name](BIG)
    with open_store(f"{server.url}/m/{name}") as index:
        assert server.sent <= 4 * BLOCK_BYTES
        before = server.sent
        np.testing.assert_array_equal(index["large"].read(), BIG["large"])
        assert server.sent - before <= BIG["large"].nbytes + 2 * BLOCK_BYTES
        np.testing.assert_array_equal(index["last"].read(), BIG["last"])
        assert index.notes == ()


def test_a_small_file_of_a_server_without_parts_is_fetched_once(server):
    server.mode = "whole"
    raw = server.files["/m.safetensors"] = safetensors_bytes(BIG)
    with open_store(f"{server.url}/m.safetensors") as index:
        for key, array in BIG.items():
            np.testing.assert_array_equal(index[key].read(), array)
        (note,) = index.notes
    assert server.sent == len(raw)
    assert note == f"the server does not send parts of files: all {len(raw)} bytes were fetched"


@pytest.mark.parametrize("mode", ["whole", "endless"])
def test_a_large_file_of_a_server_without_parts_is_refused(server, monkeypatch, mode):
    monkeypatch.setattr(remote_module, "WHOLE_BYTES", 1 << 20)
    server.mode = mode
    server.files["/m.safetensors"] = safetensors_bytes(BIG)
    sentence = r"does not send parts of files, and this one has .* is 1048576, so download it first"
    with pytest.raises(FileAccessError, match=sentence):
        open_store(f"{server.url}/m.safetensors")


AT_OPENING = [
    pytest.param("404", FileAccessError, r"there is no file at this address \(404 ", id="404"),
    pytest.param("410", FileAccessError, r"there is no file at this address \(410 ", id="410"),
    pytest.param("401", FileAccessError, r"refuses access \(401 .*want a login", id="401"),
    pytest.param("403", FileAccessError, r"refuses access \(403 ", id="403"),
    pytest.param("503", FileAccessError, r"the server answers 503 .*; try again later", id="503"),
    pytest.param("shifted", FileAccessError, "asked for bytes 0 to 65536, and", id="shift"),
    pytest.param("longer", FileAccessError, "sent more than the 65536 bytes", id="longer"),
    pytest.param("shorter", TruncatedFileError, "sent 65535 of the 65536 bytes", id="shorter"),
    pytest.param("zipped", FileAccessError, r"sends the file compressed \(gzip\)", id="zipped"),
    pytest.param("silent", FileAccessError, "sends a part and does not say which", id="no range"),
    pytest.param("digits", FileAccessError, "sends a part and does not say which", id="digits"),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "error", "sentence"), AT_OPENING)
def test_answers_that_cannot_be_used(server, mode, error, sentence):
    server.mode = mode
    server.files["/m.safetensors"] = safetensors_bytes(BIG)
    with pytest.raises(error, match=rf"^{server.url}/m\.safe.*{sentence}"):
        open_store(f"{server.url}/m.safetensors")


@pytest.mark.parametrize("mode", ["changed", "grown", "whole", "404"])
def test_a_file_that_changes_while_it_is_open_is_found_out(server, mode):
    server.files["/m.safetensors"] = safetensors_bytes(BIG)
    with open_store(f"{server.url}/m.safetensors") as index:
        server.mode = mode
        sentence = "has changed since it was opened|does not now|there is no file"
        with pytest.raises(FileAccessError, match=sentence):
            index["large"].read()


def test_a_server_that_is_slow_is_not_waited_for(server, monkeypatch):
    monkeypatch.setattr("ruda.store._remote_web.TIMEOUT_SECONDS", 0.1)
    server.mode = "slow"
    server.files["/m.pt"] = b"x"
    with pytest.raises(FileAccessError, match=r"did not answer within .* s; try again"):
        open_store(f"{server.url}/m.pt")


PAGES = [
    pytest.param(b"<!DOCTYPE html><html>", UnknownFormatError, "an HTML page", id="html"),
    pytest.param(b"", TruncatedFileError, "the file is empty", id="empty"),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["parts", "whole"])
@pytest.mark.parametrize(("raw", "error", "sentence"), PAGES)
def test_what_is_no_weight_file_is_named(server, mode, raw, error, sentence):
    server.mode = mode
    server.files["/m.safetensors"] = raw
    with pytest.raises(error, match=rf"^{server.url}/m\.safetensors: .*{sentence}"):
        open_store(f"{server.url}/m.safetensors")


def test_a_server_that_is_not_there(server):
    url = server.url.rpartition(":")[0]
    with pytest.raises(FileAccessError, match=r"cannot be reached or broke off: .*refused"):
        open_store(f"{url}:1/m.pt")


def test_a_damaged_file_at_an_address_is_refused_as_one_on_disk(server):
    server.files["/m.safetensors"] = b"\x10" + bytes(7) + b"{" + b"x" * 40
    with pytest.raises(HeaderError, match=rf"^{server.url}/m\.safetensors: byte 8: the header"):
        open_store(f"{server.url}/m.safetensors?token=secret")
