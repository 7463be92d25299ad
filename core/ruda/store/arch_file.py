"""Descriptions of models as files: what a model expects, for a load diff without the model.

format = "ruda-arch"
version = 1
name = "Tagger"

[[module]]
path = "layers.*.attention"
repeat = 12
kind = "Linear"

[module.params]
weight = [512, 512]
bias = { shape = [512], dtype = "f16" }

``path`` is what keys begin with; without it the parameters stand alone. Every ``*`` in it counts
from 0 to ``repeat``, which is one number, or a list with one for each ``*``. ``kind`` is what
adapters decide by: the name of the module's kind, or a list of names from the outside in.
``Vec``, ``Array``, ``Tuple`` and names with a colon are taken as they are, others as ``Struct:``.
A parameter is a shape, or a table with ``shape`` and ``dtype``; f32 is meant where none is said,
or what ``dtype`` of the module says. ``[tied]`` names keys that stand for one parameter, as in
``"head.weight" = "embed.weight"``. JSON with the same entries is read, too.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tomli_w

from ruda.errors import RudaError, SpecError
from ruda.nn import ModuleSpec, ParamSpec
from ruda.store.entries import (
    EntryReader,
    LineOf,
    Place,
    is_json,
    parsed_json,
    parsed_toml,
    text_of,
    write_text,
)
from ruda.store.filerange import MAX_ELEMENTS, MAX_RANK
from ruda.store.targets import Target, expected_of
from ruda.tensor import DType, Kind

FORMAT = "ruda-arch"
VERSION = 1
KEY_LIMIT = 1_000_000
"""Most parameters that a description may stand for, repeats counted."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = ("Vec", "Array", "Tuple")
_SNIFFED = 4096


def is_arch_file(path: Path | str) -> bool:
    """True for a ``.toml`` file, and for JSON that says early that it is such a description."""
    found = Path(path)
    if found.suffix.lower() == ".toml":
        return True
    if found.suffix.lower() != ".json":
        return False
    try:
        with found.open("rb") as file:
            return f'"{FORMAT}"'.encode() in file.read(_SNIFFED)
    except OSError:
        return False


def read_arch(path: Path | str) -> ModuleSpec:
    """The description in a ``.toml`` or ``.json`` file. Raises SpecError naming the line.

    Also raises FileAccessError.
    """
    path = Path(path)
    text = text_of(path, "description", _failure)
    try:
        return arch_from_json(text) if is_json(path, text) else arch_from_toml(text)
    except SpecError as error:
        raise SpecError(f"{path}: {error}", line=error.line) from None


def write_arch(target: Target, path: Path | str) -> None:
    """Write what a module, a description or a weights file expects; an old file is replaced.

    Raises SpecError for what a description cannot hold, SaveError where it cannot be written.
    """
    path = Path(path)
    text = arch_to_json(target) if path.suffix.lower() == ".json" else arch_to_toml(target)
    write_text(path, text, _failure)


def arch_to_toml(target: Target) -> str:
    """The description as TOML, a parameter a line. Raises SpecError for what it cannot hold."""
    data = arch_to_data(target)
    modules, tied = data.pop("module"), data.pop("tied", {})
    lines = [f"{name} = {_toml(value)}" for name, value in data.items()]
    for module in modules:
        params = module.pop("params")
        lines += ["", "[[module]]"]
        lines += [f"{name} = {_toml(value)}" for name, value in module.items()]
        lines += ["", "[module.params]"]
        lines += [f"{_toml_key(name)} = {_toml(value)}" for name, value in params.items()]
    if tied:
        lines += ["", "[tied]", *(f"{_toml_key(key)} = {_toml(tied[key])}" for key in tied)]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """A text, number, list or table in one line, where tomli_w would take one for each member."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_toml_key(name)} = {_toml(each)}" for name, each in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return tomli_w.dumps({"v": value}).removeprefix("v = ").rstrip("\n")


def _toml_key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)


def arch_to_json(target: Target) -> str:
    """The description as JSON text. Raises SpecError for what it cannot hold."""
    return json.dumps(arch_to_data(target), indent=2, ensure_ascii=False) + "\n"


def arch_from_toml(text: str) -> ModuleSpec:
    """The description of a TOML text. Raises SpecError naming the line."""
    data, line_of = parsed_toml(text, "description", _failure)
    return arch_from_data(data, line_of=line_of)


def arch_from_json(text: str) -> ModuleSpec:
    """The description of a JSON text. Raises SpecError naming the line where it can."""
    data, line_of = parsed_json(text, "description", _failure)
    return arch_from_data(data, line_of=line_of)


def arch_to_data(target: Target) -> dict[str, Any]:
    """The description as plain values: parameters that follow each other in a module together.

    Identities of parameters are left out. Raises SpecError for quantized parameters, whose
    packing a description does not tell.
    """
    expected = expected_of(target)
    modules: list[dict[str, Any]] = []
    last: object = None
    for param in expected.params:
        if param.dtype.kind is Kind.QUANTIZED or param.scheme is not None:
            raise SpecError(
                f"{param.key!r} is quantized ({param.dtype}); a description cannot tell how its "
                "values are packed: take the file itself as the target"
            )
        path, dot, name = param.key.rpartition(".")
        if "*" in param.key or (dot and not path):
            path, name = "", param.key  # in a path a star would count
        if last != (path, param.containers):
            last = (path, param.containers)
            modules.append({"path": path} if path else {})
            if param.containers:
                modules[-1]["kind"] = _told(param.containers)
            modules[-1]["params"] = {}
        shape: Any = list(param.shape)
        if param.dtype is not DType.F32:
            shape = {"shape": shape, "dtype": str(param.dtype)}
        modules[-1]["params"][name] = shape
    data: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if expected.name:
        data["name"] = expected.name
    data["module"] = modules
    if expected.tied:
        data["tied"] = dict(expected.tied)
    return data


def arch_from_data(data: Any, *, line_of: LineOf = lambda place: None) -> ModuleSpec:
    """The description of parsed TOML or JSON. Raises SpecError for anything not understood."""
    reader = EntryReader(line_of, _failure)
    root = reader.table(data, (), ("format", "version", "name", "module", "tied"))
    reader.head(root, FORMAT, VERSION)
    found: dict[str, ParamSpec] = {}
    for at, value in enumerate(reader.tables(root.get("module", []), ("module",))):
        place: Place = ("module", at)
        table = reader.table(value, place, ("path", "repeat", "kind", "dtype", "params"))
        for param, where in _params(reader, table, place):
            if param.key in found:
                raise reader.refuse(where, f"the key {param.key!r} is there already")
            if len(found) >= KEY_LIMIT:
                raise reader.refuse(place, f"more than {KEY_LIMIT} parameters, repeats counted")
            found[param.key] = param
    if not found:
        raise reader.refuse((), "it describes no parameter; add a [[module]] with params")
    name = reader.typed(root, "name", str, ()) or ""
    return ModuleSpec(tuple(found.values()), name, _tied(reader, root, found))


def _tied(
    reader: EntryReader, root: dict[str, Any], params: dict[str, ParamSpec]
) -> tuple[tuple[str, str], ...]:
    """The pairs of keys that stand for one parameter."""
    table = reader.typed(root, "tied", dict, ()) or {}
    for alias in table:
        owner = reader.needed(table, alias, ("tied",))
        for key in (alias, owner):
            if key not in params:
                raise reader.refuse(("tied", alias), f"no parameter has the key {key!r}")
        one, other = params[alias], params[owner]
        if alias == owner or owner in table or (one.shape, one.dtype) != (other.shape, other.dtype):
            raise reader.refuse(
                ("tied", alias),
                f"{alias!r} and {owner!r} must be two of one shape and type, the second not tied",
            )
    return tuple(table.items())


def _params(
    reader: EntryReader, table: dict[str, Any], place: Place
) -> Iterator[tuple[ParamSpec, Place]]:
    """The parameters of one module, of all its repeats, with where they are written."""
    containers = _containers(reader, table, place)
    usual = _dtype(reader, table, place) if "dtype" in table else DType.F32
    inside: Place = (*place, "params")
    params = table.get("params")
    if not isinstance(params, dict) or not params:
        raise reader.refuse(inside, "expected a table of names and shapes")
    members = [(name, *_param(reader, params[name], usual, (*inside, name))) for name in params]
    for path in _paths(reader, table, place):
        for name, shape, dtype in members:
            key = f"{path}.{name}" if path else name
            yield ParamSpec(key, shape, dtype, containers), (*inside, name)


def _param(
    reader: EntryReader, value: Any, usual: DType, place: Place
) -> tuple[tuple[int, ...], DType]:
    """Shape and dtype of one entry of ``params``."""
    table = {"shape": value} if isinstance(value, list) else value
    table = reader.table(table, place, ("shape", "dtype"))
    if "shape" not in table:
        raise reader.refuse(place, "the entry 'shape' is missing")
    shape = reader.numbers(table, "shape", place)
    if any(size < 0 for size in shape):
        raise reader.refuse(place, f"sizes are from 0, found {list(shape)}")
    if len(shape) > MAX_RANK or math.prod(max(size, 1) for size in shape) >= MAX_ELEMENTS:
        raise reader.refuse(place, "more elements than can be addressed")
    return shape, _dtype(reader, table, place) if "dtype" in table else usual


def _paths(reader: EntryReader, table: dict[str, Any], place: Place) -> Iterator[str]:
    """The path of a module with every ``*`` counted through, the first slowest."""
    path = reader.typed(table, "path", str, place) or ""
    stars = path.count("*")
    given = table.get("repeat", [])
    repeats = reader.numbers(
        {"repeat": given if isinstance(given, list) else [given]}, "repeat", place
    )
    if len(repeats) != stars:
        raise reader.refuse(
            (*place, "repeat"), f"{path!r} has {stars} * and {len(repeats)} numbers to repeat"
        )
    if any(count < 1 for count in repeats) or math.prod(repeats) > KEY_LIMIT:
        raise reader.refuse(
            (*place, "repeat"), f"expected numbers from 1 to {KEY_LIMIT} together, found {given!r}"
        )
    parts = path.split("*")
    for numbers in itertools.product(*(range(count) for count in repeats)):
        yield "".join(
            part
            for pair in itertools.zip_longest(parts, map(str, numbers))
            for part in pair
            if part
        )


def _containers(reader: EntryReader, table: dict[str, Any], place: Place) -> tuple[str, ...]:
    kind = table.get("kind", [])
    names = [kind] if isinstance(kind, str) else kind
    names = reader.texts({"kind": names}, "kind", place)
    return tuple(name if ":" in name or name in _PLAIN else f"Struct:{name}" for name in names)


def _told(containers: tuple[str, ...]) -> str | list[str]:
    names = [entry.removeprefix("Struct:") for entry in containers]
    safe = [
        entry if ":" in name or name in _PLAIN else name
        for entry, name in zip(containers, names, strict=True)
    ]
    return safe[0] if len(safe) == 1 else safe


def _dtype(reader: EntryReader, table: dict[str, Any], place: Place) -> DType:
    dtype = reader.dtype(table, "dtype", place)
    if dtype.kind is Kind.QUANTIZED:
        raise reader.refuse((*place, "dtype"), f"a description cannot tell how {dtype} is packed")
    return dtype


def _failure(sentence: str, line: int | None) -> RudaError:
    return SpecError(sentence, line=line)
