"""Targets: from a choice (a name with settings, or a file) to what a diff or a load needs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ruda.errors import RecipeError, SettingError
from ruda.progress import SILENT, Monitor
from ruda.session.document import SettingValue, TargetChoice

if TYPE_CHECKING:
    from ruda.models import Architecture
    from ruda.nn import Module, ModuleSpec
    from ruda.store import Stamp, TensorIndex


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedTarget:
    """A resolved target: an ``architecture`` with its ``model``, or a file.

    A file of weights has an ``index``, a description of a model (``arch.toml``) is ``described``.
    """

    choice: TargetChoice
    architecture: Architecture | None = None
    model: Module | None = None
    index: TensorIndex | None = None
    described: ModuleSpec | None = None
    stamp: Stamp | None = None
    """The file as it was when it was opened; None for an architecture and for an address."""

    @property
    def expectation(self) -> Module | TensorIndex | ModuleSpec:
        """What ``diff`` compares against."""
        for found in (self.model, self.index, self.described):
            if found is not None:
                return found
        raise RecipeError(f"{self.choice.name}: an empty target")

    @property
    def is_current(self) -> bool:
        """False once another file took the place of this one, or someone wrote to it."""
        return self.stamp is None or self.stamp.is_current

    def close(self) -> None:
        """Release the file, if the target is one. May be called again."""
        if self.index is not None:
            self.index.close()

    @property
    def spec(self) -> ModuleSpec | None:
        """What the model expects, for ``convert``; None for a weights file."""
        from ruda.nn import ModuleSpec

        return self.described if self.model is None else ModuleSpec.of(self.model)


def parse_target(name: str, words: Iterable[str] = ()) -> TargetChoice:
    """A target on a command line: a registered name, or path or address of a file.

    A file is one of weights, or describes a model (``arch.toml``).

    ``words`` are ``key=value`` settings. Raises SettingError for a word without ``=``, settings
    of a file, and UnknownArchitectureError for what is neither.
    """
    from ruda.models import architectures, get

    settings = _distinct(parse_setting(word) for word in words)
    if name not in {architecture.name for architecture in architectures()}:
        if "://" in name or os.path.exists(name) or Path(name).suffix:
            return TargetChoice.of(name, settings, is_file=True)
        get(name)
    return TargetChoice.of(name, settings)


def _distinct(pairs: Iterable[tuple[str, SettingValue]]) -> dict[str, SettingValue]:
    found: dict[str, SettingValue] = {}
    for key, value in pairs:
        if key in found:
            raise SettingError(f"{key} is given twice: {found[key]} and {value}")
        found[key] = value
    return found


def parse_setting(word: str) -> tuple[str, SettingValue]:
    """``key=value`` with the value as a whole number. Raises SettingError."""
    key, sign, text = word.partition("=")
    if not sign or not key:
        raise SettingError(f"expected KEY=VALUE, got {word!r}")
    try:
        return key, int(text)
    except ValueError:
        raise SettingError(f"{key}: expected a whole number, got {text!r}") from None


def resolve_target(choice: TargetChoice, *, monitor: Monitor = SILENT) -> ResolvedTarget:
    """The target of a choice: builds the model (cheap, no values) or opens the file.

    Raises UnknownArchitectureError, SettingError, ModelError (SpecError for a description), or the
    StoreError of the file.
    """
    if choice.is_file:
        from ruda.store import Stamp, is_arch_file, open_store, read_arch

        if "://" not in choice.name and is_arch_file(choice.name):
            stamp = Stamp.of(Path(choice.name))
            return ResolvedTarget(choice, described=read_arch(choice.name), stamp=stamp)
        index = open_store(choice.name, monitor=monitor)
        return ResolvedTarget(choice, index=index, stamp=next(iter(index.stamps), None))
    from ruda.models import get

    architecture = get(choice.name)
    return ResolvedTarget(
        choice, architecture=architecture, model=architecture.build(**dict(choice.settings))
    )
