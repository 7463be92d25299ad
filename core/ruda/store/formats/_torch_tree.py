"""Walking what a pickle built: every tensor under its dotted key, and the tree that people see.

The walk keeps its own stack, skips objects that contain themselves, and counts its steps, because
a small file can describe a graph with more paths than there are atoms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ruda.errors import HeaderError, KeyCollisionError, UnsupportedContentError
from ruda.store.formats._pickle_names import GlobalName
from ruda.store.formats._pickle_values import Opaque
from ruda.store.formats._torch_refs import SparseRef, StorageRef, TensorRef
from ruda.store.index import TreeNode

ROOT_KEY = "<root>"
MAX_DEPTH = 1000
FREE_STEPS = 20_000
STEPS_PER_WORK = 4
MAX_KEY_CHARS = 256 << 20
SHOWN_VALUES = 64
"""Longer lists of plain values are shown as one node."""
_MODULE_PARTS = ("_parameters", "_buffers", "_modules")
_PACKED = "_packed_params"
"""Where a quantized module keeps its weights; all other private attributes are PyTorch's own."""
_ARRAYS = tuple(
    f"numpy.{name}"
    for core in ("core", "_core")
    for name in (f"{core}.multiarray._reconstruct", f"{core}.numeric._frombuffer")
)
"""What makes a NumPy array of an object that is not loaded."""
_PLAIN = (str, int, float, bool, bytes, type(None), complex)


@dataclass(slots=True)
class _Frame:
    name: str
    kind: str
    summary: str
    value: Any
    children: Iterator[tuple[str, Any]]
    nodes: list[TreeNode] = field(default_factory=list)
    nbytes: int = 0

    def node(self) -> TreeNode:
        return TreeNode(self.name, self.kind, self.summary, self.nbytes, tuple(self.nodes))


class Walk:
    """One walk over a value; then ``tensors`` has (key, tensor) in order and ``notes`` the rest.

    ``work`` is how many steps the pickle took to read: the walk may take a few times as many.
    """

    def __init__(self, work: int) -> None:
        self.tensors: list[tuple[str, TensorRef | SparseRef]] = []
        self.notes: list[str] = []
        self._left = FREE_STEPS + STEPS_PER_WORK * work
        self._limit = self._left
        self._chars = MAX_KEY_CHARS
        self._path: list[str] = []
        self._places: dict[str, tuple[str, ...]] = {}
        self._above: set[int] = set()
        self._arrays: list[str] = []
        self._plain: dict[int, bool] = {}

    def run(self, root: Any) -> TreeNode:
        """The tree below ``root``. Raises FormatError beyond the limits of depth, steps, text."""
        frames: list[_Frame] = []
        found = self._enter("", root, frames)
        while frames:
            frame = frames[-1]
            try:
                name, value = next(frame.children)
            except StopIteration:
                frames.pop()
                self._above.discard(id(frame.value))
                found = frame.node()
                if not frames:
                    self._note_arrays()
                    return found
                self._path.pop()
                frames[-1].nodes.append(found)
                frames[-1].nbytes += found.nbytes
                continue
            self._spend(1)
            self._path.append(name)
            leaf = self._enter(name, value, frames)
            if leaf is not None:
                self._path.pop()
                frame.nodes.append(leaf)
                frame.nbytes += leaf.nbytes
        if found is None:
            raise HeaderError("the pickle describes nothing")
        return found

    def _enter(self, name: str, value: Any, frames: list[_Frame]) -> TreeNode | None:
        """The node of a leaf; None after opening a frame for a container."""
        if isinstance(value, (TensorRef, SparseRef)):
            self._add(value)
            return TreeNode(name, "tensor", f"{value.dtype} {list(value.shape)}", value.nbytes)
        described = self._describe(value)
        if described is None:
            return TreeNode(name, "value", _shown(value))
        kind, summary, children = described
        if children is None:
            return TreeNode(name, kind, summary)
        if id(value) in self._above:
            self.notes.append(f"{'.'.join(self._path)[:200]} contains itself; it is listed once")
            return TreeNode(name, kind, f"{summary}, which contains this one")
        if len(frames) >= MAX_DEPTH:
            raise UnsupportedContentError(
                f"the pickle is nested deeper than {MAX_DEPTH} levels, no checkpoint is"
            )
        self._above.add(id(value))
        frames.append(_Frame(name, kind, summary, value, children))
        return None

    def _note_arrays(self) -> None:
        if not self._arrays:
            return
        first, more = self._arrays[0][:200], len(self._arrays) - 1
        if more:
            self.notes.append(
                f"{first} and {more} more are NumPy arrays and no tensors; they are not listed"
            )
        else:
            self.notes.append(f"{first} is a NumPy array and no tensor; it is not listed")

    def _add(self, ref: TensorRef | SparseRef) -> None:
        key = ".".join(self._path) or ROOT_KEY
        if key in self._places:
            raise KeyCollisionError(
                key,
                (" > ".join(self._places[key]), " > ".join(self._path)),
                step="joining with dots",
            )
        self._places[key] = tuple(self._path)
        self._chars -= len(key)
        if self._chars < 0:
            raise HeaderError(f"the keys of the tensors have more than {MAX_KEY_CHARS} letters")
        self.tensors.append((key, ref))

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise HeaderError(
                f"the pickle refers to its own parts so often that listing them takes more than "
                f"{self._limit} steps; no honest checkpoint does"
            )

    def _describe(self, value: Any) -> tuple[str, str, Iterator[tuple[str, Any]] | None] | None:
        """Kind, summary and children of a container (None: not worth listing); None for a value."""
        if isinstance(value, dict):
            return "dict", f"dict of {len(value)}", _items(value)
        if isinstance(value, (list, tuple)):
            kind = "list" if isinstance(value, list) else "tuple"
            if self._is_plain(value):
                return kind, f"{kind} of {len(value)} values", None
            return kind, f"{kind} of {len(value)}", _numbered(value)
        if isinstance(value, Opaque):
            if value.cls in _ARRAYS:
                self._arrays.append(".".join(self._path) or ROOT_KEY)
            return "object", f"object of class {value.cls} (not loaded)", _parts(value)
        return None

    def _is_plain(self, values: list[Any] | tuple[Any, ...]) -> bool:
        if len(values) <= SHOWN_VALUES:
            return False
        known = self._plain.get(id(values))
        if known is None:
            self._spend(len(values) >> 4)
            known = self._plain[id(values)] = all(isinstance(v, _PLAIN) for v in values)
        return known


def _items(table: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    for position, (key, value) in enumerate(table.items()):
        plain = isinstance(key, (*_PLAIN, tuple, GlobalName))
        yield segment(key) if plain else f"<{position}>", value


def _numbered(values: list[Any] | tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    for position, value in enumerate(values):
        yield str(position), value


def _parts(thing: Opaque) -> Iterator[tuple[str, Any]]:
    """What an inert object holds; a module's tensors under the names of its ``state_dict``."""
    yield from _numbered(thing.entries or thing.args)
    yield from _items(thing.table)
    for state in _states(thing.state):
        yield from _attributes(state)


def _states(state: Any) -> Iterator[dict[Any, Any]]:
    """The dicts of attributes: one, or one and one for slots; or tensors, under their numbers."""
    outer = state if isinstance(state, tuple) else (state,)
    parts = [inner for part in outer for inner in (part if isinstance(part, tuple) else (part,))]
    if any(isinstance(part, (TensorRef, SparseRef)) for part in parts):
        yield {str(position): part for position, part in enumerate(parts)}
        return
    for part in parts:
        if isinstance(part, dict):
            yield part


def _attributes(state: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    if not all(isinstance(state.get(part), dict) for part in ("_parameters", "_modules")):
        yield from _items(state)
        return
    for part in _MODULE_PARTS:
        if isinstance(state.get(part), dict):
            yield from _items(state[part])
    for key, value in state.items():
        if not (isinstance(key, str) and key.startswith("_")) or key == _PACKED:
            yield segment(key), value


def segment(key: Any) -> str:
    """How a dict key is spelled in a dotted key."""
    if isinstance(key, str):
        return key
    if isinstance(key, GlobalName):
        return key.full
    if isinstance(key, Opaque):
        return f"<{key.cls}>"
    if isinstance(key, tuple):
        return f"({', '.join(segment(part) for part in key)})"
    if isinstance(key, bytes):
        return key.decode("latin-1")
    return str(key)


def _shown(value: Any) -> str:
    if isinstance(value, GlobalName):
        return f"{value.full} (a name, not loaded)"
    if isinstance(value, StorageRef):
        return f"storage {value.key} of {value.numel} {value.dtype or 'bytes'}"
    if isinstance(value, (str, bytes)):
        text = repr(value[:80])
        return text if len(value) <= 80 else f"{text}… ({len(value)} long)"
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a whole number of {value.bit_length()} bits"
    return repr(value)
