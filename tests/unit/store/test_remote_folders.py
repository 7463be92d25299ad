"""Folders at addresses, stores of several files there, and files that are replaced meanwhile."""

import contextlib
import http.server
import importlib.util
import json
import re
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ruda.errors import FileAccessError
from ruda.store import open_store
from ruda.store.uri import Uri
from ruda.testing.file_bytes import safetensors_bytes, torch_zip_bytes
from ruda.testing.foreign_bytes import onnx_external, onnx_raw, onnx_tensor

SET = ["m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors"]
VALUES = np.arange(40_000, dtype="<f4")


def seeds():
    path = Path(__file__).parents[2] / "fuzz" / "seeds.py"
    spec = importlib.util.spec_from_file_location("seeds_of_folders", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Memory:
    """Files of fsspec's memory."""

    def __init__(self):
        import fsspec

        self.system = fsspec.filesystem("memory")
        self.calls = []

    def put(self, name, raw):
        self.system.pipe_file(f"/{name}", raw)

    def url(self, name):
        return f"memory://{name}"


class Web:
    """A web server on this machine that sends parts."""

    def __init__(self):
        files = self.files = {}

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                """Say nothing."""

            def do_GET(self):
                raw = files.get(self.path.partition("?")[0])
                asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"])
                start = int(asked[1])
                body = b"" if raw is None else raw[start : int(asked[2]) + 1]
                self.send_response(404 if raw is None else 206)
                if raw is not None:
                    end = start + len(body) - 1
                    self.send_header("Content-Range", f"bytes {start}-{end}/{len(raw)}")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(ConnectionError):
                    self.wfile.write(body)

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def put(self, name, raw):
        self.files[f"/{name}"] = raw

    def url(self, name):
        return f"http://127.0.0.1:{self._server.server_port}/{name}?key=secret"


@pytest.fixture
def memory(monkeypatch):
    found = Memory()
    monkeypatch.setattr(type(found.system), "store", {})
    monkeypatch.setattr(type(found.system), "pseudo_dirs", [""])
    return found


@pytest.fixture(params=["memory", "web"])
def place(request, monkeypatch):
    if request.param == "memory":
        yield request.getfixturevalue("memory")
        return
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    web = Web()
    yield web
    web.close()


def put_set(place, *, index=True):
    listed = {"metadata": {}, "weight_map": dict(zip("ab", SET, strict=True))}
    for name, key in zip(SET, "ab", strict=True):
        place.put(f"set/{name}", safetensors_bytes({key: VALUES}))
    if index:
        place.put("set/m.safetensors.index.json", json.dumps(listed).encode())


# --- folders -------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["", "/"])
def test_a_folder_is_opened_by_what_is_in_it(memory, end):
    put_set(memory)
    memory.put("set/config.json", b"{}")
    memory.put("set/more/other.safetensors", b"")
    with open_store(f"memory://set{end}") as index:
        assert list(index) == ["a", "b"]
        assert str(index.path) == "memory://set/m.safetensors.index.json"


def test_a_folder_with_one_file(memory):
    memory.put("one/model.pt", torch_zip_bytes({"w": VALUES}))
    memory.put("one/readme.md", b"read me")
    with open_store("memory://one") as index:
        assert list(index) == ["w"]


FOLDERS = [
    pytest.param(
        ("a.safetensors", "b.safetensors"), r"with several weight files \(a\.s.*b", id="2"
    ),
    pytest.param(("readme.md",), "is a folder without a weight file; name the file", id="none"),
]


@pytest.mark.parametrize(("names", "sentence"), FOLDERS)
def test_a_folder_that_says_too_little(memory, names, sentence):
    for name in names:
        memory.put(f"f/{name}", b"x")
    with pytest.raises(FileAccessError, match=f"^memory://f: .*{sentence}"):
        open_store("memory://f")


def test_a_file_without_a_suffix_is_no_folder(memory):
    memory.put("m/model", safetensors_bytes({"w": VALUES}))
    with open_store("memory://m/model") as index:
        assert list(index) == ["w"]


def test_a_folder_that_may_not_be_listed_is_a_file_that_may_be_read(memory, monkeypatch):
    """Rights to read objects and to list them are two things in object stores."""
    memory.put("m/model", safetensors_bytes({"w": VALUES}))

    def refuse(path):
        raise PermissionError("no ListBucket")

    monkeypatch.setattr(memory.system, "isdir", refuse)
    with open_store("memory://m/model") as index:
        assert list(index) == ["w"]


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        pytest.param("s3://b/d", "s3://b/d/x y", id="store"),
        pytest.param("s3://b/d/", "s3://b/d/x y", id="store, with a slash"),
        pytest.param("https://h/d?k=1", "https://h/d/x%20y?k=1", id="web"),
        pytest.param("https://h/d/?k=1", "https://h/d/x%20y?k=1", id="web, with a slash"),
    ],
)
def test_the_address_of_a_file_in_a_folder(text, inside):
    assert Uri(text).within("x y") == Uri(inside)


# --- stores of several files ---------------------------------------------------------------------


def test_a_distributed_checkpoint(place):
    made = seeds()
    for name, raw in {**made.RANKS, ".metadata": made.METADATA}.items():
        place.put(f"dcp/{name}", raw)
    names = [".metadata", next(iter(made.RANKS))]
    if isinstance(place, Memory):
        names.append("")
    found = []
    for name in names:
        with open_store(place.url(f"dcp/{name}")) as index:
            found.append({key: snapshot.read().tolist() for key, snapshot in index.items()})
            assert index.extra["container"] == "distributed"
            assert {shard.name for shard in index.shards} == set(made.RANKS)
    assert found[0]
    assert all(each == found[0] for each in found)


def test_a_distributed_checkpoint_without_one_of_its_files(place):
    made = seeds()
    place.put("dcp/.metadata", made.METADATA)
    sentence = r"dcp/\.metadata: names the file .*\.distcp, which is not beside it; get that file"
    with pytest.raises(FileAccessError, match=sentence):
        open_store(place.url("dcp/.metadata"))


def test_a_model_with_its_values_beside_it(place):
    place.put("o/sub/w.bin", b"12345678" + VALUES.tobytes())
    raw = onnx_raw(
        onnx_tensor("w", 1, VALUES.shape, onnx_external("sub/w.bin", offset=8)),
        onnx_tensor("v", 1, (100,), onnx_external("sub/w.bin", offset=8, length=400)),
    )
    place.put("o/m.onnx", raw)
    index = open_store(place.url("o/m.onnx"))
    np.testing.assert_array_equal(index["w"].read(), VALUES)
    np.testing.assert_array_equal(index["v"].read(), VALUES[:100])
    assert b"".join(map(bytes, index["w"].chunks(1000))) == VALUES.tobytes()
    assert index["w"].origin.path.name == "w.bin"
    held = index["w"].source.held
    index.close()
    assert held.closed
    with pytest.raises(FileAccessError, match="the file was closed"):
        index["w"].read()


def test_a_model_without_its_values(place):
    place.put("o/m.onnx", onnx_raw(onnx_tensor("w", 1, (4,), onnx_external("w.bin"))))
    sentence = r"m\.onnx: 'w' lies in 'w\.bin', which cannot be opened; it belongs beside the model"
    with pytest.raises(FileAccessError, match=sentence):
        open_store(place.url("o/m.onnx"))


# --- files that are replaced ---------------------------------------------------------------------


def test_a_file_that_is_replaced_while_it_is_open(memory):
    memory.put("m.safetensors", safetensors_bytes({"w": VALUES}))
    with open_store("memory://m.safetensors") as index:
        index["w"].read()
        memory.put("m.safetensors", safetensors_bytes({"w": VALUES[::-1]}))
        with pytest.raises(FileAccessError, match="has changed since it was opened; open it"):
            index["w"].read()


def test_a_file_that_is_replaced_between_the_pieces_of_a_tensor(memory, monkeypatch):
    monkeypatch.setattr("ruda.store.remote.FETCH_BYTES", 70_000)
    memory.put("m.safetensors", safetensors_bytes({"w": VALUES}))
    with open_store("memory://m.safetensors") as index:
        real, left = memory.system.cat_file, [1]

        def racing(path, **more):
            raw = real(path, **more)
            if left.pop() == 0:
                memory.put("m.safetensors", safetensors_bytes({"w": VALUES[::-1]}))
            left.append(0)
            return raw

        monkeypatch.setattr(memory.system, "cat_file", racing)
        with pytest.raises(FileAccessError, match="has changed since it was opened"):
            index["w"].read()


def test_a_file_that_is_removed_while_it_is_open(memory):
    memory.put("m.safetensors", safetensors_bytes({"w": VALUES}))
    with open_store("memory://m.safetensors") as index:
        memory.system.rm_file("/m.safetensors")
        with pytest.raises(FileAccessError, match="removed or replaced on the server while it was"):
            index["w"].read()


class Versions:
    """A system that can name a state of a file, as object stores with versions do."""

    def __init__(self, protocol, about):
        self.protocol = protocol
        self.asked = []
        self._about = about

    def _strip_protocol(self, text):
        return text.partition("://")[2]

    def invalidate_cache(self, path=None):
        self.asked.append("forget")

    def info(self, path):
        self.asked.append("info")
        return {"size": 100, "type": "file", **self._about}

    def cat_file(self, path, start, end, **more):
        self.asked.append(more)
        return bytes(end - start)


async def answer():
    """What fsspec turns into an ordinary method."""


def waited_for(method):
    method.__wrapped__ = answer
    return method


class Silent:
    """The part of fsspec that waits for a server; this one never answers."""

    protocol = "slow"

    def __init__(self):
        self.waits = []

    def _strip_protocol(self, text):
        return text.partition("://")[2]

    def invalidate_cache(self, path=None):
        pass

    @waited_for
    def info(self, path, *, timeout):
        self.waits.append(timeout)
        return {"size": 1 << 30, "type": "file"}

    @waited_for
    def cat_file(self, path, start, end, *, timeout):
        self.waits.append(timeout)
        raise FSTimeoutError

    @waited_for
    def isdir(self, path, *, timeout):
        self.waits.append(timeout)
        raise FSTimeoutError


class FSTimeoutError(Exception):
    """As fsspec's."""


def test_a_server_that_says_nothing_is_not_waited_for_without_end(monkeypatch):
    from ruda.store import _remote_fsspec

    system = Silent()
    monkeypatch.setattr(_remote_fsspec, "file_system", lambda uri: system)
    remote = _remote_fsspec.FsspecRemote(Uri("slow://b/m"))
    with pytest.raises(FileAccessError, match="the server did not answer in time; try again"):
        remote.fetch(0, 8 << 20)
    with pytest.raises(FileAccessError, match="the server did not answer in time; try again"):
        _remote_fsspec.listing(Uri("slow://b"))
    assert system.waits == [60, 60 + 128, 60]


STATES = [
    pytest.param(("gs", "gcs"), {"generation": "7"}, {"generation": "7"}, 1, id="gs"),
    pytest.param(("s3", "s3a"), {"ETag": "e", "VersionId": "v"}, {"version_id": "v"}, 1, id="s3"),
    pytest.param(("s3", "s3a"), {"ETag": "e", "VersionId": "null"}, {}, 2, id="s3, no versions"),
    pytest.param("abfs", {"etag": "e"}, {}, 2, id="other"),
    pytest.param("ftp", {}, {}, 1, id="nothing tells states apart"),
]


@pytest.mark.parametrize(("protocol", "about", "more", "looks"), STATES)
def test_a_state_is_asked_for_where_it_has_a_name(monkeypatch, protocol, about, more, looks):
    from ruda.store import _remote_fsspec

    system = Versions(protocol, about)
    monkeypatch.setattr(_remote_fsspec, "file_system", lambda uri: system)
    remote = _remote_fsspec.FsspecRemote(Uri("x://b/m"))
    assert remote.fetch(0, 10) == bytes(10)
    remote.check()
    assert [each for each in system.asked if isinstance(each, dict)] == [more]
    assert system.asked.count("info") == looks


# --- hubs ----------------------------------------------------------------------------------------


class Hub:
    """A file system of commits, as that of huggingface_hub: a branch moves, a commit stays."""

    protocol = ("hf",)

    def __init__(self):
        self.head = "a" * 40
        self.commits = {}
        self.calls = []
        self._api = self

    def commit(self, head, files):
        self.head = head * 40
        self.commits[self.head] = files

    def _strip_protocol(self, text):
        return text.partition("://")[2]

    def invalidate_cache(self, path=None):
        self.calls.append("forget")

    def resolve_path(self, path):
        found = re.fullmatch(r"(datasets/)?([^/]+/[^/@]+)(?:@([^/]+))?/(.+)", path)
        kind = "dataset" if found[1] else "model"
        return Resolved(found[2], kind, found[3] or "main", found[4])

    def repo_info(self, repo_id, *, repo_type, revision):
        self.calls.append("repo_info")
        return Commit(self.head if revision == "main" else revision)

    def _files(self, path):
        found = self.resolve_path(path)
        return self.commits[found.revision], found.path_in_repo

    def info(self, path):
        files, name = self._files(path)
        if name not in files:
            raise FileNotFoundError(name)
        return {"type": "file", "size": len(files[name]), "blob_id": str(hash(files[name]))}

    def cat_file(self, path, start, end, cache_type):
        assert cache_type == "none"
        files, name = self._files(path)
        return files[name][start:end]


@dataclass
class Resolved:
    repo_id: str
    repo_type: str
    revision: str
    path_in_repo: str


@dataclass
class Commit:
    sha: str


@pytest.fixture
def hub(monkeypatch):
    found = Hub()
    monkeypatch.setattr("ruda.store._remote_fsspec.file_system", lambda uri: found)
    return found


def files_of(value):
    listed = {"metadata": {}, "weight_map": dict(zip("ab", SET, strict=True))}
    files = {"m.safetensors.index.json": json.dumps(listed).encode()}
    for name, key in zip(SET, "ab", strict=True):
        files[name] = safetensors_bytes({key: np.full(VALUES.size, value, "<f4")})
    return files


@pytest.mark.parametrize("front", ["", "datasets/"])
def test_a_file_of_a_hub_is_that_of_one_commit(hub, front):
    hub.commit("a", files_of(1))
    with open_store(f"hf://{front}me/model/{SET[0]}") as index:
        hub.commit("b", files_of(2))
        assert set(index["a"].read().tolist()) == {1.0}
        assert str(index.path) == f"hf://{front}me/model/m.safetensors.index.json"


def test_a_set_of_a_hub_is_of_one_commit_and_asks_for_it_once(hub, monkeypatch):
    hub.commit("a", files_of(1))
    real = hub.cat_file

    def racing(path, **more):
        if SET[0] in path:
            hub.commit("b", files_of(2))
        return real(path, **more)

    monkeypatch.setattr(hub, "cat_file", racing)
    with open_store("hf://me/model/m.safetensors.index.json") as index:
        assert {float(snapshot.read()[0]) for snapshot in index.values()} == {1.0}
    assert hub.calls.count("repo_info") == 1


def test_a_commit_that_is_named_is_not_asked_for(hub):
    hub.commit("a", files_of(1))
    hub.commit("b", files_of(2))
    with open_store(f"hf://me/model@{'a' * 40}/m.safetensors.index.json") as index:
        assert float(index["a"].read()[0]) == 1.0
    assert hub.calls == []


class ServerDisconnectedError(Exception):
    """As aiohttp's."""


BROKEN = [
    pytest.param(ServerDisconnectedError("gone"), id="client"),
    pytest.param(ConnectionResetError("gone"), id="system"),
]


@pytest.mark.parametrize("error", BROKEN)
def test_a_connection_that_breaks_off(memory, monkeypatch, error):
    memory.put("m.safetensors", safetensors_bytes({"w": VALUES}))
    with open_store("memory://m.safetensors") as index:

        def fail(path, **more):
            raise error

        monkeypatch.setattr(memory.system, "cat_file", fail)
        sentence = r"the server cannot be reached or broke off; check .* again \(\w+: gone\)"
        with pytest.raises(FileAccessError, match=sentence):
            index["w"].read()
