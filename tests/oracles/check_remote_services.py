"""Stores at s3, gs and hf addresses, against services of those kinds on this machine.

    PYTHON_WITH_THE_CLIENTS tests/oracles/check_remote_services.py [s3|gs|hf]…

s3 is moto's server (``moto[server]``, ``s3fs``); gs and hf are the small parts of their services
that ``gcsfs`` and ``huggingface_hub`` use to read, written here. All traffic passes a gate that
counts bytes and cuts connections. No part of the test suite: the clients are no dependencies. Exit
code 1 if a check fails.
"""

# ruff: noqa: BLE001, PT017, T201
from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import re
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np

SECRETS = {
    "AWS_ACCESS_KEY_ID": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    "AWS_DEFAULT_REGION": "us-east-1",
}
os.environ.update(SECRETS)
os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"
os.environ["FSSPEC_GS_TOKEN"] = os.environ["FSSPEC_GCS_TOKEN"] = "anon"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

from ruda.errors import FileAccessError, RudaError  # noqa: E402
from ruda.store import open_store  # noqa: E402
from ruda.store.remote import BLOCK_BYTES  # noqa: E402
from ruda.testing.file_bytes import safetensors_bytes, torch_zip_bytes  # noqa: E402

BIG = {
    "small": np.arange(8, dtype="<f4"),
    "large": np.arange(3 << 20, dtype="<f4"),
    "last": np.arange(100, dtype="<i8"),
}
OTHER = {key: array[::-1].copy() for key, array in BIG.items()}
ROOM = 64 << 10
"""Bytes that headers and folder listings may take on top."""


class Gate:
    """A relay in front of a service that counts what comes back, and can cut or stall it."""

    def __init__(self, port: int) -> None:
        self.back = 0
        self.cut_after: int | None = None
        self.stalled = False
        self._service = port
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            client, _ = self._door.accept()
            service = socket.create_connection(("127.0.0.1", self._service))
            for one, other, is_back in ((client, service, False), (service, client, True)):
                threading.Thread(target=self._copy, args=(one, other, is_back), daemon=True).start()

    def _copy(self, one: socket.socket, other: socket.socket, is_back: bool) -> None:
        try:
            while piece := one.recv(1 << 16):
                if is_back:
                    self.back += len(piece)
                    if self.cut_after is not None:
                        self.cut_after -= len(piece)
                        if self.cut_after < 0:
                            break
                    while self.stalled:
                        threading.Event().wait(0.05)
                other.sendall(piece)
        except OSError:
            pass
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Service:
    """Where files are put; ``gate`` is in front of it."""

    scheme = ""
    folder = "bucket/dir"

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.refused = False
        self.asked: Callable[[str], None] = lambda path: None

    def put(self, name: str, raw: bytes) -> None:
        self.files[f"dir/{name}"] = raw

    def remove(self, name: str) -> None:
        del self.files[f"dir/{name}"]

    def url(self, name: str) -> str:
        return f"{self.scheme}://{self.folder}/{name}"


def served(answer: Callable[[BaseHTTPRequestHandler, bytes], None]) -> int:
    """Start a web server; its port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            if "-v" in sys.argv:
                print(*_[1:], file=sys.stderr)

        def do_GET(self) -> None:
            answer(self, self.rfile.read(int(self.headers.get("content-length") or 0)))

        do_POST = do_HEAD = do_GET

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """Say nothing: connections are cut on purpose."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def send(request: BaseHTTPRequestHandler, code: int, body: bytes, **headers: str) -> None:
    request.send_response(code)
    told = {"Content-Length": str(len(body))}
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    for name, value in told.items():
        request.send_header(name, value)
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(body)


def send_json(request: BaseHTTPRequestHandler, found: Any, code: int = 200, **headers: str) -> None:
    text = json.dumps(found).encode()
    send(request, code, text, **{"Content_Type": "application/json", **headers})


def send_range(request: BaseHTTPRequestHandler, raw: bytes, **headers: str) -> None:
    asked = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range") or "")
    if asked is None:
        return send(request, 200, raw, **headers)
    start, end = int(asked[1]), int(asked[2] or len(raw)) + 1
    body = raw[start:end]
    span = f"bytes {start}-{start + len(body) - 1}/{len(raw)}"
    return send(request, 206, body, Content_Range=span, **headers)


class S3(Service):
    """moto's server."""

    scheme = "s3"

    def __init__(self) -> None:
        super().__init__()
        from moto.server import ThreadedMotoServer

        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False).start()
        self.gate = Gate(port)
        os.environ["AWS_ENDPOINT_URL"] = self.gate.url
        import s3fs

        self._system = s3fs.S3FileSystem(endpoint_url=f"http://127.0.0.1:{port}")
        self._system.mkdir("bucket")

    def put(self, name: str, raw: bytes) -> None:
        self._system.pipe_file(f"bucket/dir/{name}", raw)

    def remove(self, name: str) -> None:
        self._system.rm_file(f"bucket/dir/{name}")


class Gs(Service):
    """The JSON API of Google's object store, as far as reading goes."""

    scheme = "gs"

    def __init__(self) -> None:
        super().__init__()
        self.states: dict[str, int] = {}
        self.gate = Gate(served(self._answer))
        os.environ["STORAGE_EMULATOR_HOST"] = self.gate.url

    def put(self, name: str, raw: bytes) -> None:
        super().put(name, raw)
        self.states[f"dir/{name}"] = self.states.get(f"dir/{name}", 1000) + 1

    def _about(self, name: str) -> dict[str, str]:
        raw = self.files[name]
        return {
            "kind": "storage#object",
            "name": name,
            "bucket": "bucket",
            "size": str(len(raw)),
            "generation": str(self.states[name]),
            "etag": f"E{self.states[name]}",
            "updated": "2026-01-01T00:00:00.000Z",
            "timeCreated": "2026-01-01T00:00:00.000Z",
        }

    def _answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        parts = urlsplit(request.path)
        query = {key: found[0] for key, found in parse_qs(parts.query).items()}
        if self.refused:
            send_json(request, {"error": {"code": 403, "message": "no"}}, 403)
        elif parts.path.rstrip("/") == "/storage/v1/b/bucket/o":
            prefix = query.get("prefix", "")
            names = [name for name in self.files if name.startswith(prefix)]
            if query.get("delimiter"):
                folders = {
                    prefix + rest.partition("/")[0] + "/"
                    for rest in (name[len(prefix) :] for name in names)
                    if "/" in rest
                }
                names = [name for name in names if "/" not in name[len(prefix) :]]
            else:
                folders = set()
            items = [self._about(name) for name in names]
            send_json(request, {"items": items, "prefixes": sorted(folders)})
        elif found := re.fullmatch(r"(/download)?/storage/v1/b/bucket/o/(.+)", parts.path):
            self._object(request, unquote(found[2]), query, is_media=bool(found[1]))
        else:
            send_json(request, {"error": {"code": 404, "message": "not found"}}, 404)

    def _object(
        self, request: BaseHTTPRequestHandler, name: str, query: dict[str, str], *, is_media: bool
    ) -> None:
        state = str(self.states.get(name))
        if name not in self.files or query.get("generation", state) != state:
            send_json(request, {"error": {"code": 404, "message": "not found"}}, 404)
        elif is_media or query.get("alt") == "media":
            send_range(request, self.files[name])
        else:
            send_json(request, self._about(name))


class Hf(Service):
    """The part of the hub's API that its file system uses to read a public model."""

    scheme = "hf"
    folder = "org/repo/dir"

    def __init__(self) -> None:
        super().__init__()
        self.commits: dict[str, dict[str, bytes]] = {}
        self.head = ""
        self.gate = Gate(served(self._answer))
        os.environ["HF_ENDPOINT"] = self.gate.url

    def put(self, name: str, raw: bytes) -> None:
        super().put(name, raw)
        self._commit()

    def remove(self, name: str) -> None:
        super().remove(name)
        self._commit()

    def _commit(self) -> None:
        self.head = hashlib.sha1(b"".join(self.files.values()) + self.head.encode()).hexdigest()
        self.commits[self.head] = dict(self.files)

    def _answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        parts = urlsplit(request.path)
        path = unquote(parts.path)
        self.asked(path)
        if self.refused:
            return send_json(request, {"error": "gated"}, 403)
        if found := re.fullmatch(r"/api/models/org/repo(?:/revision/([^/]+))?", path):
            commit = self._commit_of(found[1] or "main")
            if commit is None:
                return self._no(request, "RevisionNotFound")
            names = [{"rfilename": name} for name in self.commits[commit]]
            about = {"_id": "1", "id": "org/repo", "sha": commit, "siblings": names, "tags": []}
            return send_json(request, {**about, "private": False, "downloads": 0, "likes": 0})
        if found := re.fullmatch(r"/api/models/org/repo/tree/([^/]+)(?:/(.*))?", path):
            return self._tree(request, found[1], (found[2] or "").strip("/"))
        if found := re.fullmatch(r"/api/models/org/repo/paths-info/([^/]+)", path):
            asked = (
                json.loads(body)["paths"] if body[:1] == b"{" else parse_qs(body.decode())["paths"]
            )
            files = self.commits[self._commit_of(found[1]) or self.head]
            return send_json(
                request, [self._file(name, files[name]) for name in asked if name in files]
            )
        if found := re.fullmatch(r"/org/repo/resolve/([^/]+)/(.+)", path):
            files = self.commits[self._commit_of(found[1]) or self.head]
            if found[2] not in files:
                return self._no(request, "EntryNotFound")
            return send_range(request, files[found[2]])
        return self._no(request, "RepoNotFound")

    def _no(self, request: BaseHTTPRequestHandler, why: str) -> None:
        send_json(request, {"error": why}, 404, X_Error_Code=why)

    def _commit_of(self, name: str) -> str | None:
        return self.head if name == "main" else name if name in self.commits else None

    def _file(self, name: str, raw: bytes) -> dict[str, Any]:
        return {
            "type": "file",
            "path": name,
            "size": len(raw),
            "oid": hashlib.sha1(raw).hexdigest(),
        }

    def _tree(self, request: BaseHTTPRequestHandler, revision: str, folder: str) -> None:
        commit = self._commit_of(revision)
        front = f"{folder}/" if folder else ""
        if commit is None:
            return self._no(request, "RevisionNotFound")
        inside = {n: raw for n, raw in self.commits[commit].items() if n.startswith(front)}
        if not inside:
            return self._no(request, "EntryNotFound")
        found = [self._file(n, raw) for n, raw in inside.items() if "/" not in n[len(front) :]]
        folders = {front + n[len(front) :].partition("/")[0] for n in inside} - set(inside)
        found += [{"type": "directory", "path": name, "size": 0, "oid": "0"} for name in folders]
        return send_json(request, found)


# --- what is checked -----------------------------------------------------------------------------

CHECKS: list[Callable[[Service], None]] = []


def check(function: Callable[[Service], None]) -> Callable[[Service], None]:
    CHECKS.append(function)
    return function


@contextmanager
def refused(*words: str) -> Iterator[None]:
    """The block has to end with an error of Ruda that says this."""
    try:
        yield
    except RudaError as error:
        assert all(word in str(error) for word in words), f"it says: {error}"
        print(f"      {error}")
    else:
        raise AssertionError(f"no error, expected {words}")


@check
def header_first_then_tensors(service: Service) -> None:
    for name, build in (("m.safetensors", safetensors_bytes), ("m.pt", torch_zip_bytes)):
        service.put(name, build(BIG))
        before = service.gate.back
        with open_store(service.url(name)) as index:
            opened = service.gate.back - before
            assert opened <= 4 * BLOCK_BYTES + ROOM, opened
            before = service.gate.back
            np.testing.assert_array_equal(index["large"].read(), BIG["large"])
            read = service.gate.back - before
            assert read <= BIG["large"].nbytes + 2 * BLOCK_BYTES + ROOM, read
            np.testing.assert_array_equal(index["small"].read(), BIG["small"])
            np.testing.assert_array_equal(index["last"].read(), BIG["last"])
        print(f"      {name}: {opened} bytes to open, {read} for {BIG['large'].nbytes}")


@check
def shards_and_folders(service: Service) -> None:
    names = ["s-00001-of-00002.safetensors", "s-00002-of-00002.safetensors"]
    listed = {"metadata": {}, "weight_map": dict(zip("ab", names, strict=True))}
    files = {
        name: safetensors_bytes({key: np.ones(3, "<f4")})
        for name, key in zip(names, "ab", strict=True)
    }
    files["s.safetensors.index.json"] = json.dumps(listed).encode()
    for name, raw in files.items():
        service.put(f"set/{name}", raw)
    for name in ("set/s.safetensors.index.json", f"set/{names[1]}", "set", "set/"):
        with open_store(service.url(name)) as index:
            assert list(index) == ["a", "b"], name
            np.testing.assert_array_equal(index["b"].read(), np.ones(3, "<f4"))


@check
def a_set_that_is_replaced_while_it_is_opened(service: Service) -> None:
    """On hf all files are of one commit; elsewhere each file is of one state."""
    if not isinstance(service, Hf):
        return
    names = ["r-00001-of-00002.safetensors", "r-00002-of-00002.safetensors"]
    listed = {"metadata": {}, "weight_map": dict(zip("ab", names, strict=True))}
    service.put("r/r.safetensors.index.json", json.dumps(listed).encode())

    def put(value: float) -> None:
        for name, key in zip(names, "ab", strict=True):
            service.put(f"r/{name}", safetensors_bytes({key: np.full(3, value, "<f4")}))

    put(1)
    seen: list[str] = []

    def racing(path: str) -> None:
        seen.append(path)
        if names[0] in path and len(service.commits) < before + 2:
            put(2)

    before = len(service.commits)
    service.asked = racing
    with open_store(service.url("r/r.safetensors.index.json")) as index:
        found = {key: float(snapshot.read()[0]) for key, snapshot in index.items()}
    service.asked = lambda path: None
    assert len(service.commits) == before + 2, "nothing was replaced meanwhile"
    assert found == {"a": 1.0, "b": 1.0}, found
    print(f"      {len(seen)} requests for three files")


@check
def a_distributed_checkpoint(service: Service) -> None:
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "fuzz"))
    import seeds

    for name, raw in {**seeds.RANKS, ".metadata": seeds.METADATA}.items():
        service.put(f"dcp/{name}", raw)
    found = []
    for name in ("dcp", "dcp/.metadata"):
        with open_store(service.url(name)) as index:
            found.append({key: snapshot.read().tolist() for key, snapshot in index.items()})
    assert found[0], "it is empty"
    assert found[0] == found[1]


@check
def a_file_that_is_not_there(service: Service) -> None:
    with refused("there is no file at this address"):
        open_store(service.url("nothing.safetensors"))


@check
def no_access(service: Service) -> None:
    if isinstance(service, S3):
        return  # moto lets everyone in
    service.put("secret.safetensors", safetensors_bytes(BIG))
    service.refused = True
    try:
        with refused("refuses access"):
            open_store(service.url("secret.safetensors"))
    finally:
        service.refused = False


@check
def a_file_that_is_replaced_while_it_is_open(service: Service) -> None:
    service.put("c.safetensors", safetensors_bytes(BIG))
    with open_store(service.url("c.safetensors")) as index:
        service.put("c.safetensors", safetensors_bytes(OTHER))
        try:
            values = index["large"].read()
        except FileAccessError as error:
            assert str(error).endswith("opened; open it again") or "removed" in str(error), error
            print(f"      {error}")
        else:
            np.testing.assert_array_equal(values, BIG["large"])
            print("      read on as it was when it was opened")
    with open_store(service.url("c.safetensors")) as index:
        np.testing.assert_array_equal(index["large"].read(), OTHER["large"])


@check
def a_connection_that_is_cut(service: Service) -> None:
    service.put("d.safetensors", safetensors_bytes(BIG))
    with open_store(service.url("d.safetensors")) as index:
        service.gate.cut_after = 1 << 20
        try:
            values = index["large"].read()
        except RudaError as error:
            print(f"      {error}")
        else:
            np.testing.assert_array_equal(values, BIG["large"])
            print("      the client asked again")
        finally:
            service.gate.cut_after = None


def main(names: list[str]) -> int:
    kinds = {"s3": S3, "gs": Gs, "hf": Hf}
    failed = 0
    for name in names or kinds:
        try:
            service = kinds[name]()
        except ImportError as error:
            print(f"{name}: left out, {error}")
            failed += 1
            continue
        for each in CHECKS:
            out = io.StringIO()
            try:
                each(service)
                print(f"{name}: {each.__name__.replace('_', ' ')}", flush=True)
            except Exception:
                traceback.print_exc(file=out)
                failed += 1
                print(f"{name}: FAILED {each.__name__}\n{out.getvalue()}", flush=True)
    print(f"{failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    code = main([word for word in sys.argv[1:] if not word.startswith("-")])
    sys.stdout.flush()
    os._exit(code)  # clients leave threads behind
