"""The two sides that are compared: the strict reference over NumPy, and Ruda's namespace."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import array_api_strict as strict
import numpy as np

import ruda.tensor.xp as xp
from ruda.tensor import DType, Tensor


@dataclass(frozen=True)
class Named:
    """A dtype of the standard, as an argument."""

    dtype: str


@dataclass(frozen=True)
class Call:
    """One function with its arguments; arrays are NumPy's until a side makes them its own."""

    name: str
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [_shown(one) for one in self.arguments]
        parts += [f"{key}={_shown(one)}" for key, one in self.options.items()]
        return f"{self.name}({', '.join(parts)})"


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        text = np.array2string(value, threshold=12, separator=",").replace("\n", "")
        return f"{value.dtype}{list(value.shape)} {text[:120]}"
    return value.dtype if isinstance(value, Named) else repr(value)


def assigned(x: Any, index: Any, value: Any) -> Any:
    """``x[index] = value``."""
    x[index] = value
    return x


def in_place(name: str) -> Callable[[Any, Any], Any]:
    """An operator such as ``+=`` as Python runs it: what the name holds afterwards."""

    def run(x: Any, y: Any) -> Any:
        spaces = {"x": x, "y": y}
        exec(f"x {name} y", spaces)
        return spaces["x"]

    return run


BINARY = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
BINARY |= {"//": operator.floordiv, "%": operator.mod, "**": operator.pow, "@": operator.matmul}
BINARY |= {"&": operator.and_, "|": operator.or_, "^": operator.xor}
BINARY |= {"<<": operator.lshift, ">>": operator.rshift}
COMPARING = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le}
COMPARING |= {">": operator.gt, ">=": operator.ge}
PYTHON: dict[str, Callable[..., Any]] = {
    **{f"x {name} y": one for name, one in (BINARY | COMPARING).items()},
    **{f"x {name}= y": in_place(f"{name}=") for name in BINARY},
    "-x": operator.neg,
    "+x": operator.pos,
    "~x": operator.invert,
    "abs(x)": operator.abs,
    "bool(x)": bool,
    "int(x)": int,
    "float(x)": float,
    "complex(x)": complex,
    "operator.index(x)": operator.index,
    "x[key]": operator.getitem,
    "x[key] = y": assigned,
    "x.T": lambda x: x.T,
    "x.mT": lambda x: x.mT,
    "x.shape": lambda x: x.shape,
    "x.size": lambda x: x.size,
    "x.ndim": lambda x: x.ndim,
    "x.dtype": lambda x: x.dtype,
    "x.to_device": lambda x: x.to_device(x.device),
    "x.__dlpack_device__": lambda x: tuple(map(int, x.__dlpack_device__())),
    "numpy.from_dlpack": lambda x: np.from_dlpack(x).copy(),
}


@dataclass(frozen=True)
class Side:
    """One namespace."""

    module: ModuleType
    kind: type
    made: Callable[[Any], Any]
    held: Callable[[Any], Any]

    def run(self, call: Call) -> Any:
        """The plain result of a call. Raises what the namespace raises."""
        function = PYTHON.get(call.name) or self._function(call.name)
        arguments = [self._own(one) for one in call.arguments]
        options = {key: self._own(one) for key, one in call.options.items()}
        return self._plain(function(*arguments, **options))

    def _function(self, name: str) -> Callable[..., Any]:
        place: Any = self.module
        for part in name.split("."):
            place = getattr(place() if part != name and callable(place) else place, part)
        found: Callable[..., Any] = place
        return found

    def _own(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self.made(value)
        if isinstance(value, Named):
            return getattr(self.module, value.dtype)
        if isinstance(value, list | tuple):
            return type(value)(self._own(one) for one in value)
        return value

    def _plain(self, value: Any) -> Any:
        if isinstance(value, self.kind):
            return self.held(value)
        if isinstance(value, dict):
            return {key: self._plain(one) for key, one in value.items()}
        if hasattr(value, "_fields"):
            return {key: self._plain(getattr(value, key)) for key in value._fields}
        if isinstance(value, tuple | list):
            return [self._plain(one) for one in value]
        if dataclasses.is_dataclass(value) and not isinstance(value, DType):
            names = [one for one in LIMITS if hasattr(value, one)]
            return {one: self._plain(getattr(value, one)) for one in names}
        return _dtype(value)


LIMITS = ("bits", "eps", "max", "min", "smallest_normal", "dtype")


def _dtype(value: Any) -> Any:
    if isinstance(value, DType):
        return f"dtype {value.numpy.name}"
    if type(value).__module__.startswith("array_api_strict") and hasattr(value, "_np_dtype"):
        return f"dtype {value._np_dtype.name}"
    return value


def _strict(array: Any) -> Any:
    return strict.asarray(array.copy(order="K"))


def _ruda(array: Any) -> Any:
    return Tensor(array.copy(order="K"))


strict.set_array_api_strict_flags(api_version="2024.12")
STRICT = Side(strict, type(strict.asarray(0)), _strict, lambda x: np.array(x._array))
RUDA = Side(xp, Tensor, _ruda, lambda x: np.array(x.numpy()))
