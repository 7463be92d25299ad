"""Stores: RUDA's way to save and load a module, over the same plan, recipe and apply as all else.

A store is a place (a file, or bytes in memory) and frozen options. Options are keywords of
``from_file`` and ``from_bytes``, or RUDA's builder methods, each of which returns a new store::

    model.save_into(RudapackStore.from_file("linear.bpk", overwrite=True))
    result = model.load_from(RudapackStore.from_file("linear.bpk").allow_partial(True))

On load the file's keys are renamed and adapted to the module's; on save the module's parameters
are adapted and then renamed. A filter sees the module's own keys both ways.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypedDict, Unpack

import numpy as np

from ruda import __version__
from ruda.errors import FileAccessError, SettingError
from ruda.nn import Module, ParamEntry
from ruda.progress import SILENT, Monitor
from ruda.store.adapt import ModuleAdapter, PyTorchToRuda, RudaToPyTorch
from ruda.store.apply_result import ApplyResult
from ruda.store.applying import apply
from ruda.store.collecting import collect, without_variants
from ruda.store.index import TensorIndex
from ruda.store.mapped import with_mapped_values
from ruda.store.named_predicates import Predicate
from ruda.store.opening import open_store
from ruda.store.plan import lay_out, plan_save, refuse_blockers
from ruda.store.recipe import Recipe
from ruda.store.regrouping import all_adapted
from ruda.store.remap import KeyRemapper
from ruda.store.select import PathFilter
from ruda.store.snapshot import TensorSnapshot
from ruda.store.streaming import to_bytes
from ruda.store.uri import Place, Uri, place_of, target_of
from ruda.store.writer import SaveResult, write


class StoreKeywords(TypedDict, total=False):
    """The options of a store, as keywords."""

    filter: PathFilter
    remap: KeyRemapper
    from_adapter: ModuleAdapter | None
    to_adapter: ModuleAdapter | None
    allow_partial: bool
    validate: bool
    overwrite: bool
    metadata: Mapping[str, str]
    skip_enum_variants: bool
    map_indices_contiguous: bool
    top_level_key: str | None
    auto_extension: bool
    zero_copy: bool


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """How a store loads and saves."""

    filter: PathFilter = field(default_factory=PathFilter)
    """Which of the module's parameters are loaded or saved; empty: all."""
    remap: KeyRemapper = field(default_factory=KeyRemapper)
    """Rules for keys, the same on load and on save; they are not inverted."""
    from_adapter: ModuleAdapter | None = None
    to_adapter: ModuleAdapter | None = None
    allow_partial: bool = False
    """Load although parameters are missing in the file."""
    validate: bool = True
    """Refuse to load when any tensor has an error."""
    overwrite: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
    skip_enum_variants: bool = False
    """Keys of the file leave out the names of enum variants, as PyTorch's do."""
    map_indices_contiguous: bool = False
    """Close gaps in numeric key segments of the file when loading."""
    top_level_key: str | None = None
    """Entry of a checkpoint's root dict that holds the weights."""
    auto_extension: bool = False
    """Append the format's suffix to a path that has none."""
    zero_copy: bool = False
    """Read through the file's memory map: snapshots are views, parameters are copied once."""


@dataclass(slots=True)
class _Memory:
    """Bytes that stand in for a file; shared by all stores that were built from one another."""

    data: bytes | None


@dataclass(frozen=True)
class ModuleStore:
    """A place for the parameters of a module, and how to bring them there and back.

    Made by ``from_file`` or ``from_bytes`` of RudapackStore, SafetensorsStore and PytorchStore.
    """

    path: Place | None = None
    """A path, or an address, which can be loaded from only."""
    options: StoreOptions = field(default_factory=StoreOptions)
    _memory: _Memory | None = field(default=None, repr=False, compare=False)

    format: ClassVar[str]
    _suffix: ClassVar[str]
    foreign: ClassVar[frozenset[str]] = frozenset()
    """Options that mean nothing to this store."""

    def __post_init__(self) -> None:
        if self.path is not None:
            object.__setattr__(self, "path", place_of(self.path))

    @classmethod
    def defaults(cls) -> StoreOptions:
        """Options of a store that was given none."""
        return StoreOptions()

    @classmethod
    def from_file(cls, path: Path | Uri | str, **options: Unpack[StoreKeywords]) -> Self:
        """Store in a file. Raises SettingError for an option that this store does not have."""
        return cls(place_of(path), cls._options(options))

    @classmethod
    def from_bytes(cls, data: bytes | None = None, **options: Unpack[StoreKeywords]) -> Self:
        """Store in memory: of these bytes, or to be filled by a save and read by ``get_bytes``."""
        return cls(None, cls._options(options), _Memory(data))

    @classmethod
    def _options(cls, given: StoreKeywords) -> StoreOptions:
        for name in given:
            if name in cls.foreign or name not in StoreOptions.__dataclass_fields__:
                raise SettingError(f"{cls.__name__} has no option {name!r}")
        return replace(cls.defaults(), **given)

    def _with(self, **changes: Any) -> Self:
        for name in changes:
            if name in self.foreign:
                raise SettingError(f"{type(self).__name__} has no option {name!r}")
        return replace(self, options=replace(self.options, **changes))

    # Builder methods: each returns a new store.

    def filter(self, filter: PathFilter) -> Self:
        """With this filter in place of the one before."""
        return self._with(filter=filter)

    with_filter = filter

    def with_regex(self, pattern: str) -> Self:
        """Also take keys in which the pattern is found. Raises RecipeError."""
        return self.filter(self.options.filter.with_regex(pattern))

    def with_full_path(self, key: str) -> Self:
        """Also take exactly this key."""
        return self.filter(self.options.filter.with_full_path(key))

    def with_predicate(self, predicate: Predicate) -> Self:
        """Also take keys for which ``predicate(key, container_path)`` is true."""
        return self.filter(self.options.filter.with_predicate(predicate))

    def match_all(self) -> Self:
        """Take every key."""
        return self.filter(self.options.filter.match_all())

    def remap(self, remapper: KeyRemapper) -> Self:
        """With these renaming rules in place of the ones before."""
        return self._with(remap=remapper)

    def with_key_remapping(self, pattern: str, replacement: str) -> Self:
        """With one more renaming rule. Raises RecipeError."""
        return self.remap(self.options.remap.add_pattern(pattern, replacement))

    with_remap_pattern = with_key_remapping

    def with_from_adapter(self, adapter: ModuleAdapter | None) -> Self:
        """Adapt tensors of the file on load."""
        return self._with(from_adapter=adapter)

    def allow_partial(self, allow: bool = True) -> Self:
        """Load although parameters are missing."""
        return self._with(allow_partial=allow)

    def validate(self, validate: bool = True) -> Self:
        """Refuse to load when any tensor has an error."""
        return self._with(validate=validate)

    def skip_enum_variants(self, skip: bool = True) -> Self:
        """Leave names of enum variants out of the file's keys."""
        return self._with(skip_enum_variants=skip)

    def map_indices_contiguous(self, enabled: bool = True) -> Self:
        """Close gaps in numeric key segments when loading."""
        return self._with(map_indices_contiguous=enabled)

    # What is in the store.

    def keys(self) -> tuple[str, ...]:
        """Keys as they are after renaming, unfiltered and not adapted, in file order."""
        with self._renamed() as index:
            return tuple(index)

    def get_snapshot(self, key: str) -> TensorSnapshot:
        """Snapshot under a renamed key; reading it opens the store again.

        Raises MissingKeyError naming the nearest key.
        """
        with self._renamed() as index:
            return index[key]

    def get_all_snapshots(self) -> Mapping[str, TensorSnapshot]:
        """All snapshots by renamed key, in the order of the keys; reading one opens the store."""
        with self._renamed() as index:
            return MappingProxyType({key: index[key] for key in sorted(index)})

    def get_bytes(self) -> bytes:
        """The bytes of a store in memory. Raises FileAccessError if it holds none."""
        if self._memory is None:
            raise FileAccessError(
                "get_bytes is for stores in memory; read the file", path=self.path
            )
        if self._memory.data is None:
            raise FileAccessError("nothing has been saved into this store yet")
        return self._memory.data

    # Saving and loading.

    def apply_to(self, module: Module, *, monitor: Monitor = SILENT) -> ApplyResult:
        """Load the file's tensors into the module, all or none.

        Raises LoadError when ``validate`` or ``allow_partial`` forbids the result; the module is
        untouched then.
        """
        options = self.options
        recipe = Recipe(
            select=options.filter,
            remap=self._incoming_rules(),
            adapt=() if options.from_adapter is None else (options.from_adapter,),
        )
        target = _WithoutVariants(module) if options.skip_enum_variants else module
        with self.open(monitor=monitor) as index:
            return apply(
                index,
                target,
                recipe=recipe,
                allow_partial=options.allow_partial,
                validate=options.validate,
                monitor=monitor,
            )

    def open(self, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of the store as it is, nothing renamed. Raises FormatError and FileAccessError."""
        key = self.options.top_level_key
        if self._memory is None:
            index = open_store(self._source(), top_level_key=key, monitor=monitor)
        else:
            index = _open_bytes(self.get_bytes(), self._suffix, key, monitor)
        return with_mapped_values(index) if self.options.zero_copy else index

    def _renamed(self) -> TensorIndex:
        index = self.open()
        changes = self._incoming_rules().remap(index)
        snapshots = [
            replace(index[before].renamed(after), source=_Reopened(self, before))
            for before, after in changes
        ]
        return replace(index, snapshots={s.key: s for s in snapshots})

    def _incoming_rules(self) -> KeyRemapper:
        rules = self.options.remap
        if not self.options.map_indices_contiguous or rules.contiguous:
            return rules
        return rules.map_indices_contiguous()

    def _source(self) -> Place:
        """The file to read: the suffix is appended where only the longer name exists."""
        assert self.path is not None
        if isinstance(self.path, Uri):
            return self.path
        return self.path if os.path.exists(self.path) else self._target()

    def _target(self) -> Path:
        """The file to write: a path without any suffix gets that of the format."""
        assert self.path is not None
        path = target_of(self.path)
        if self.options.auto_extension and not path.suffix:
            return path.with_name(path.name + self._suffix)
        return path


class WritableStore(ModuleStore):
    """A store that can be saved into."""

    def with_to_adapter(self, adapter: ModuleAdapter | None) -> Self:
        """Adapt the module's tensors on save."""
        return self._with(to_adapter=adapter)

    def overwrite(self, overwrite: bool = True) -> Self:
        """Replace a file that exists."""
        return self._with(overwrite=overwrite)

    def metadata(self, key: str, value: str) -> Self:
        """With one more entry of metadata; it may replace a default one."""
        return self._with(metadata={**self.options.metadata, key: value})

    def clear_metadata(self) -> Self:
        """Without any metadata, default entries included."""
        return self._with(metadata={})

    def collect_from(self, module: Module, *, monitor: Monitor = SILENT) -> SaveResult:
        """Save the module's parameters: filter, adapt, rename, write. Raises SaveError."""
        index = self._outgoing(module)
        metadata = dict(self.options.metadata)
        if self._memory is not None:
            layout = lay_out(index, self.format, metadata)
            refuse_blockers(layout.problems)
            self._memory.data = to_bytes(layout, monitor=monitor)
            return SaveResult(Path(), layout.file_size)
        plan = plan_save(
            index,
            self._target(),
            format=self.format,
            metadata=metadata,
            overwrite=self.options.overwrite,
        )
        return write(plan, monitor=monitor)

    def zero_copy(self, enabled: bool = True) -> Self:
        """Read through the file's memory map: snapshots are views, parameters are copied once."""
        return self._with(zero_copy=enabled)

    def _outgoing(self, module: Module) -> TensorIndex:
        """The module's tensors under the keys and in the dtypes and layouts of the file."""
        options = self.options
        index = collect(
            module, select=options.filter, skip_enum_variants=options.skip_enum_variants
        )
        adapter = options.to_adapter
        if adapter is not None:
            adapted = all_adapted(adapter, list(index.values()))
            index = TensorIndex.of(adapted, format=index.format)
        changes = options.remap.remap(index)
        renamed = [index[before].renamed(after) for before, after in changes]
        return TensorIndex.of(renamed, format=index.format)


def _metadata_of(format: str) -> Mapping[str, str]:
    return {"format": format, "producer": "ruda", "version": __version__}


class RudapackStore(WritableStore):
    """Rudapack files (``.bpk``): the only ones that keep parameter ids."""

    format = "rudapack"
    _suffix = ".bpk"
    foreign = frozenset({"top_level_key"})

    @classmethod
    def defaults(cls) -> StoreOptions:
        """No adapter; ``.bpk`` is appended to a path without suffix."""
        metadata = _metadata_of("rudapack")
        return replace(super().defaults(), metadata=metadata, auto_extension=True)

    def auto_extension(self, enabled: bool = True) -> Self:
        """Append ``.bpk`` to a path that has no suffix."""
        return self._with(auto_extension=enabled)


class SafetensorsStore(WritableStore):
    """safetensors files. For PyTorch's names and layouts give the adapters of both directions."""

    format = "safetensors"
    _suffix = ".safetensors"
    foreign = frozenset({"top_level_key", "auto_extension"})

    @classmethod
    def defaults(cls) -> StoreOptions:
        """No adapter; PyTorch tools want ``metadata("format", "pt")``."""
        return replace(super().defaults(), metadata=_metadata_of("safetensors"))


class PytorchStore(WritableStore):
    """PyTorch checkpoints, read without executing them; saved as a plain state dict."""

    format = "pytorch"
    _suffix = ".pt"
    foreign = frozenset({"metadata", "auto_extension", "zero_copy"})

    @classmethod
    def defaults(cls) -> StoreOptions:
        """PyTorch's names and layouts are adapted, variants left out, indices made contiguous."""
        return replace(
            super().defaults(),
            from_adapter=PyTorchToRuda(),
            to_adapter=RudaToPyTorch(),
            skip_enum_variants=True,
            map_indices_contiguous=True,
        )

    def with_top_level_key(self, key: str) -> Self:
        """Take the weights from this entry of the checkpoint, such as ``state_dict``."""
        return self._with(top_level_key=key)


@dataclass(frozen=True, slots=True)
class _Reopened:
    """A source that opens its store for every read, so that no handle stays behind."""

    store: ModuleStore
    key: str

    def read(self) -> np.ndarray[Any, Any]:
        with self.store.open() as index:
            return index[self.key].read()


class _WithoutVariants(Module):
    """A module whose parameters are addressed without the names of enum variants."""

    def __init__(self, module: Module) -> None:
        self._module = module

    @property
    def struct_name(self) -> str:
        return self._module.struct_name

    def walk(self) -> Iterator[ParamEntry]:
        for entry in self._module.walk():
            key, containers = without_variants(entry.key, entry.containers)
            yield replace(entry, key=key, containers=containers)


def _open_bytes(data: bytes, suffix: str, key: str | None, monitor: Monitor) -> TensorIndex:
    """Index of a file that exists in memory only; it lies in a temporary folder while open."""
    folder = Path(tempfile.mkdtemp(prefix="ruda-"))
    try:
        path = folder / f"memory{suffix}"
        path.write_bytes(data)
        index = open_store(path, top_level_key=key, monitor=monitor)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise

    def remove() -> None:
        shutil.rmtree(folder, ignore_errors=True)

    return replace(index, path=None, closers=(*index.closers, remove))
