"""Reading the initialisers of an ONNX model: the weights, not the program around them.

The file is one Protocol Buffers message; it is walked field by field and never built. Values lie
in it raw or as typed lists, or in a file beside it. Constants in nodes are part of the program: a
note counts them. Only where a model has no initialiser at all are they its weights, and listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from ruda.errors import HeaderError, TruncatedFileError
from ruda.progress import SILENT, Monitor
from ruda.store.bytefile import ByteFile, MemoryFile
from ruda.store.format import opened_index
from ruda.store.formats._onnx_program import (
    INITIALISER,
    SPARSE,
    Program,
    graph_fields,
    look_through,
)
from ruda.store.formats._onnx_tensor import TensorReader
from ruda.store.formats._protobuf import BYTES, VARINT, Field, WireReader
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot

IR_VERSION, PRODUCER, PRODUCER_VERSION, DOMAIN, MODEL_VERSION, DOC, GRAPH, OPSET = range(1, 9)
METADATA, TRAINING, FUNCTIONS, CONFIGURATION = 14, 20, 25, 26
_WIRES = {
    IR_VERSION: VARINT,
    PRODUCER: BYTES,
    PRODUCER_VERSION: BYTES,
    DOMAIN: BYTES,
    MODEL_VERSION: VARINT,
    DOC: BYTES,
    GRAPH: BYTES,
    OPSET: BYTES,
    METADATA: BYTES,
    TRAINING: BYTES,
    FUNCTIONS: BYTES,
    CONFIGURATION: BYTES,
}
_TEXTS = {
    PRODUCER: "producer_name",
    PRODUCER_VERSION: "producer_version",
    DOMAIN: "domain",
    DOC: "doc_string",
}
NEWEST_IR = 99
"""Far above every version there is; larger numbers are some other message."""
OPSETS_SINCE = 3
"""From this version of the format on a model says which operators it uses."""
TEXT_LIMIT = 16 << 20
SNIFFED_TEXT = 256
"""Longest text among the first fields of a file that is taken for a model by its bytes."""


@dataclass(slots=True)
class _Found:
    """What a walk over a model gathers."""

    metadata: dict[str, str] = field(default_factory=dict)
    snapshots: list[TensorSnapshot] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    program: Program = field(default_factory=Program)


class OnnxFormat:
    """Reader of ``.onnx`` files."""

    name = "onnx"
    title = "ONNX model"
    suffixes: tuple[str, ...] = (".onnx",)

    def matches(self, head: bytes, path: Path) -> bool:
        """True if the first fields are those of a model, in the order that all writers keep."""
        reader = WireReader(MemoryFile(head, path))
        seen: list[int] = []
        try:
            for found in reader.fields(0, len(head), "the file"):
                if not _is_likely(found, reader, first=not seen):
                    return False
                seen.append(found.number)
        except TruncatedFileError as error:
            # The head ends within a field, which has to be one of a model, and not the first.
            return bool(seen) and _begins_large(head, error.offset)
        except HeaderError:
            return False
        return GRAPH in seen

    def open(self, path: Path, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of the initialisers in the order of the file; reads no values."""
        return self.open_bytes(ByteFile(path), monitor=monitor)

    def open_bytes(self, file: ByteFile, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of a file that is open already, and that the index closes; see ``open``."""
        return opened_index(file, lambda file: self._index(file, monitor))

    def _index(self, file: ByteFile, monitor: Monitor) -> TensorIndex:
        reader = WireReader(file)
        tensors = TensorReader(reader)
        found = _Found()
        try:
            _model(reader, tensors, found, monitor)
        except BaseException:
            tensors.close()
            raise
        return TensorIndex.of(
            found.snapshots,
            format=self.name,
            path=file.path,
            metadata=MappingProxyType(found.metadata),
            notes=(*found.notes, *tensors.notes, *_program_notes(found)),
            stamps=tensors.stamps,
            closers=(file.close, tensors.close),
        )


def _is_likely(found: Field, reader: WireReader, *, first: bool) -> bool:
    if first:
        return found.number == IR_VERSION and 0 < found.value <= NEWEST_IR
    if _WIRES.get(found.number) != found.wire or found.number == IR_VERSION:
        return False
    if found.number not in (PRODUCER, PRODUCER_VERSION, DOMAIN):
        return True
    try:
        return reader.text(found, "a text", SNIFFED_TEXT).isprintable()
    except HeaderError:
        return False


def _begins_large(head: bytes, at: int | None) -> bool:
    return at is not None and at < len(head) and head[at] in (DOC << 3 | BYTES, GRAPH << 3 | BYTES)


def _model(reader: WireReader, tensors: TensorReader, found: _Found, monitor: Monitor) -> None:
    graph: Field | None = None
    version: Field | None = None
    opsets = 0
    for each in reader.fields(0, reader.file.size, "the model"):
        expected = _WIRES.get(each.number)
        if expected is not None and expected != each.wire:
            raise HeaderError(
                f"field {each.number} of the model has wire type {each.wire}, expected {expected}",
                offset=each.at,
            )
        if each.number == IR_VERSION:
            version = _once(version, each, "version")
        elif each.number == GRAPH:
            graph = _once(graph, each, "graph")
        elif each.number == OPSET:
            opsets += 1
        elif each.number in _TEXTS:
            found.metadata[_TEXTS[each.number]] = reader.text(each, "a text", TEXT_LIMIT)
        elif each.number == METADATA:
            key, value = tensors.pair(each)
            found.metadata[key] = value
        elif each.number in (TRAINING, FUNCTIONS):
            what = "training graphs" if each.number == TRAINING else "functions"
            _note_once(found, f"the model has {what}; tensors in them are not listed")
    if version is None or not 0 < version.value <= NEWEST_IR:
        raise HeaderError("has no version of the ONNX format, so it is no ONNX model", offset=0)
    found.metadata["ir_version"] = str(version.value)
    if graph is None:
        raise TruncatedFileError("has no graph; the file is cut short or no ONNX model")
    if not opsets and version.value >= OPSETS_SINCE:
        raise TruncatedFileError(
            "does not say which operators it uses, as every model does at its end; the file is "
            "cut short, get it again",
            offset=reader.file.size,
        )
    _graph(reader, tensors, graph, found, monitor)


def _once(before: Field | None, now: Field, what: str) -> Field:
    if before is not None:
        raise HeaderError(f"the model has a second {what}", offset=now.at)
    return now


def _note_once(found: _Found, note: str) -> None:
    if note not in found.notes:
        found.notes.append(note)


def _graph(
    reader: WireReader, tensors: TensorReader, graph: Field, found: _Found, monitor: Monitor
) -> None:
    keys: set[str] = set()
    for each in graph_fields(reader, graph):
        monitor.check()
        if each.number == INITIALISER:
            snapshot = tensors.snapshot(each, found.notes)
        elif each.number == SPARSE:
            snapshot = tensors.sparse(each, found.notes)
        else:
            continue
        if snapshot is None:
            continue
        if snapshot.key in keys:
            raise HeaderError(
                f"the graph has two initialisers called {snapshot.key!r}", offset=each.at
            )
        keys.add(snapshot.key)
        found.snapshots.append(snapshot)
    constants, found.program = look_through(reader, graph, monitor)
    if not found.snapshots and constants:
        _list_constants(tensors, constants, found)


def _list_constants(
    tensors: TensorReader, constants: list[tuple[str, Field]], found: _Found
) -> None:
    """List the constants of a model that has no initialiser: its weights are among them."""
    listed: dict[str, TensorSnapshot] = {}
    for name, field_ in constants:
        snapshot = tensors.snapshot(field_, found.notes)
        if snapshot is not None and name and name not in listed:
            listed[name] = replace(snapshot, key=name)
    found.snapshots += listed.values()
    found.program = replace(found.program, listed=len(listed))


def _program_notes(found: _Found) -> Iterator[str]:
    """What of the program holds tensors, and whether they are listed."""
    program = found.program
    if program.listed:
        yield (
            f"the model has no initialisers; {program.listed} constants in its nodes are listed by "
            "the names of their outputs"
        )
    rest = program.constants - program.listed
    if rest:
        yield f"{rest} constants in the nodes of the graph are part of the program and not listed"
    if program.graphs:
        yield (
            f"{program.graphs} graphs in the nodes of the graph have {program.inner_initialisers} "
            f"initialisers and {program.inner_constants} constants of their own, which are not "
            "listed"
        )
