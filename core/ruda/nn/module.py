"""Module: a layer or a network, with its parameters in the order of declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from ruda._kernels import one_blas_thread
from ruda.errors import DTypeError, ModelError, ShapeError
from ruda.nn.param import Param
from ruda.tensor import Tensor

SaveOutcome_co = TypeVar("SaveOutcome_co", covariant=True)
LoadOutcome_co = TypeVar("LoadOutcome_co", covariant=True)
Outcome = TypeVar("Outcome")


class CollectsModules(Protocol[SaveOutcome_co]):
    """A store that takes a module's parameters."""

    def collect_from(self, module: Module, /) -> SaveOutcome_co:
        """Write the parameters of the module."""


class AppliesToModules(Protocol[LoadOutcome_co]):
    """A store that gives a module its parameters."""

    def apply_to(self, module: Module, /) -> LoadOutcome_co:
        """Load what the store holds into the module."""


@dataclass(frozen=True, slots=True)
class ParamEntry:
    """One parameter of a module tree.

    ``containers`` are the kinds of what owns it, outermost first, one for each part of the key:
    ``layers.0.weight`` has ``("Struct:Model", "Vec", "Struct:Linear")``.
    """

    key: str
    containers: tuple[str, ...]
    param: Param


Observer = Callable[["Module", Tensor], Tensor]
"""Called in place of ``forward`` for every module of an observed run."""


@dataclass(frozen=True, slots=True)
class _Run:
    root: Module
    observer: Observer | None = None


_current: ContextVar[_Run | None] = ContextVar("ruda_module_run", default=None)


class Module:
    """Layers and networks derive from this. Fields are declared by assigning them in ``__init__``.

    A field that is a Param, a Module, or a list or tuple of such is part of the tree; other
    fields and those with a leading underscore are not. A trailing underscore keeps a field apart
    from a method and is no part of its name in keys: ``forward_`` is ``forward``. Running a module
    does not change it, so one module may serve several threads.
    """

    training: bool = False
    kind: ClassVar[str] = ""
    """Name of the struct in files where it is not the class name."""

    @property
    def struct_name(self) -> str:
        """Name under which adapters and files know this kind of module."""
        return self.kind or type(self).__name__

    def forward(self, x: Tensor) -> Tensor:
        """Result for an input. Raises ShapeError and DTypeError naming the layer."""
        raise ModelError(f"{self.struct_name} has no forward; it only holds parameters")

    def __call__(self, x: Tensor) -> Tensor:
        """As ``forward``; errors of the layers inside name their path from here."""
        run = _current.get()
        if run is None:
            return run_observed(self, x, None)
        return self.forward(x) if run.observer is None else run.observer(self, x)

    def train(self, mode: bool = True) -> None:
        """Set the training flag here and below."""
        for _, module in self.named_modules():
            module.training = mode

    def eval(self) -> None:
        """Clear the training flag here and below."""
        self.train(False)

    def walk(self) -> Iterator[ParamEntry]:
        """Every parameter with its key, in the order of declaration."""
        return _walk(self, "", ())

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """This module under "" and every module below under its path, in declaration order."""
        return _modules(self, "")

    def children(self) -> Iterator[tuple[str, Module]]:
        """Modules one step below, with their path from here."""
        for name, field in _fields(self):
            yield from _nearest(field, name)

    def num_params(self) -> int:
        """Number of values in all parameters, running statistics included."""
        return sum(entry.param.numel for entry in self.walk())

    def save_into(self, store: CollectsModules[Outcome]) -> Outcome:
        """Write the parameters into a store."""
        return store.collect_from(self)

    def load_from(self, store: AppliesToModules[Outcome]) -> Outcome:
        """Load parameters from a store; returns what was applied, skipped, missing and unused."""
        return store.apply_to(self)

    def place(self) -> str:
        """This module's path from the module being run and its kind, for messages."""
        run = _current.get()
        if run is not None:
            for path, module in run.root.named_modules():
                if module is self and path:
                    return f"{path} ({self.struct_name})"
        return self.struct_name

    def shape_error(self, expected: str, got: tuple[int, ...]) -> ShapeError:
        """The error to raise for an input of the wrong shape."""
        return ShapeError(f"{self.place()}: expected an input of shape {expected}, got {list(got)}")

    def dtype_error(self, expected: str, got: object, remedy: str) -> DTypeError:
        """The error to raise for an input of the wrong dtype."""
        return DTypeError(f"{self.place()}: expected {expected}, got {got}; {remedy}")


def run_observed(root: Module, x: Tensor, observer: Observer | None) -> Tensor:
    """Run a module as the root of messages; the observer stands in for every ``forward``."""
    token = _current.set(_Run(root, observer))
    try:
        with one_blas_thread():
            return root.forward(x) if observer is None else observer(root, x)
    finally:
        _current.reset(token)


def _fields(module: Module) -> Iterator[tuple[str, object]]:
    for name, field in vars(module).items():
        if not name.startswith("_"):
            yield name.removesuffix("_"), field


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _walk(field: object, key: str, containers: tuple[str, ...]) -> Iterator[ParamEntry]:
    if isinstance(field, Param):
        yield ParamEntry(key, containers, field)
    elif isinstance(field, Module):
        inside = (*containers, f"Struct:{field.struct_name}")
        for name, child in _fields(field):
            yield from _walk(child, _join(key, name), inside)
    elif isinstance(field, list | tuple):
        inside = (*containers, "Vec" if isinstance(field, list) else "Tuple")
        for position, child in enumerate(field):
            yield from _walk(child, _join(key, str(position)), inside)


def _nearest(field: object, path: str) -> Iterator[tuple[str, Module]]:
    if isinstance(field, Module):
        yield path, field
    elif isinstance(field, list | tuple):
        for position, child in enumerate(field):
            yield from _nearest(child, _join(path, str(position)))


def _modules(module: Module, path: str) -> Iterator[tuple[str, Module]]:
    yield path, module
    for name, child in module.children():
        yield from _modules(child, _join(path, name))
