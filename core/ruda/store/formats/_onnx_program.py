"""Tensors in the program of an ONNX model: constants of its nodes, and graphs within them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ruda.errors import HeaderError, UnsupportedContentError
from ruda.progress import Monitor
from ruda.store.formats._protobuf import BYTES, Field, WireReader

NODE, GRAPH_NAME, INITIALISER, SPARSE = 1, 2, 5, 15
MAX_DEPTH = 64
"""Graphs in nodes of graphs; each level is read through its parents' windows again."""
NAME_LIMIT = 64 << 10
_OUTPUT, _OPERATOR, _ATTRIBUTE = 2, 4, 5
_TENSORS, _GRAPHS = (5, 10, 22, 23), (6, 11)
_VALUE = 5
_CONSTANT = b"Constant"


@dataclass(frozen=True, slots=True)
class Program:
    """How many tensors are in the nodes of a model."""

    constants: int = 0
    """In the nodes of the graph itself."""
    listed: int = 0
    """Of those, how many are listed as tensors."""
    graphs: int = 0
    """In nodes, at any depth."""
    inner_initialisers: int = 0
    inner_constants: int = 0


def graph_fields(reader: WireReader, graph: Field) -> Iterator[Field]:
    """The nodes and tensors of one graph. Raises HeaderError for one of another wire type."""
    for each in reader.fields(graph.start, graph.end, "the graph"):
        if each.number not in (NODE, INITIALISER, SPARSE, GRAPH_NAME):
            continue
        if each.wire != BYTES:
            raise HeaderError(
                f"field {each.number} of the graph has wire type {each.wire}, expected {BYTES}",
                offset=each.at,
            )
        yield each


def look_through(
    reader: WireReader, graph: Field, monitor: Monitor
) -> tuple[list[tuple[str, Field]], Program]:
    """The tensors of Constant nodes of a graph by the names of their outputs, and all counts."""
    constants: list[tuple[str, Field]] = []
    counts = {"constants": 0, "graphs": 0, "inner_initialisers": 0, "inner_constants": 0}
    waiting = [(graph, 0)]
    while waiting:
        here, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise UnsupportedContentError(
                f"graphs are nested deeper than {MAX_DEPTH} levels", offset=here.at
            )
        for each in graph_fields(reader, here):
            monitor.check()
            if each.number in (INITIALISER, SPARSE):
                counts["inner_initialisers"] += depth > 0
            elif each.number == NODE:
                node = _node(reader, each)
                counts["inner_constants" if depth else "constants"] += node.tensors
                counts["graphs"] += len(node.graphs)
                waiting += [(inner, depth + 1) for inner in node.graphs]
                if node.constant is not None and not depth:
                    constants.append((node.output, node.constant))
    return constants, Program(**counts)


@dataclass(slots=True)
class _Node:
    """What of a node is looked at."""

    output: str = ""
    constant: Field | None = None
    tensors: int = 0
    graphs: list[Field] = field(default_factory=list)


def _node(reader: WireReader, node: Field) -> _Node:
    found, operator, value = _Node(), b"", None
    for each in reader.fields(node.start, node.end, "a node"):
        if each.wire != BYTES:
            continue
        if each.number == _OUTPUT and not found.output:
            found.output = reader.text(each, "the name of an output", NAME_LIMIT)
        elif each.number == _OPERATOR and each.size <= len(_CONSTANT):
            operator = reader.payload(each)
        elif each.number == _ATTRIBUTE:
            for inner in reader.fields(each.start, each.end, "an attribute"):
                if inner.wire != BYTES:
                    continue
                if inner.number in _GRAPHS:
                    found.graphs.append(inner)
                elif inner.number in _TENSORS:
                    found.tensors += 1
                    value = inner if inner.number == _VALUE else value
    found.constant = value if operator == _CONSTANT else None
    return found
