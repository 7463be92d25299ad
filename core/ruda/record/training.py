"""TrainingRecord: everything that a training needs to go on, in one Rudapack file.

A weights file is not a training state: that is the parameters with their ids, the tensors of an
optimizer, the position of the data loader and the program's own values, all of the same moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ruda.data import DataLoader
from ruda.errors import HeaderError, StateMismatchError, UnsupportedContentError
from ruda.nn import Module
from ruda.progress import SILENT, Monitor
from ruda.record.plain import Plain, from_text, to_text
from ruda.store import (
    ApplyResult,
    ArraySource,
    SaveResult,
    TensorIndex,
    TensorSnapshot,
    apply,
    collect,
    open_store,
    save,
)
from ruda.tensor import Tensor

VERSION = "1"
_MODEL, _STATE = "model.", "state."
_VERSION_KEY, _LOADER_KEY, _USER_KEY = "ruda.record", "ruda.record.loader", "ruda.record.user"


@dataclass(frozen=True, slots=True)
class TrainingRecord:
    """The state of a training at one moment. ``capture`` makes one, ``open`` reads one.

    A captured record holds on to the values of that moment, without a copy: parameters are
    replaced by later steps, never written to. An opened one reads its tensors when they are asked
    for; close it, or use it in ``with``.
    """

    model: TensorIndex
    """The parameters by key, with their ids."""
    state: TensorIndex
    """Further tensors by name: an optimizer's moments, for one."""
    loader: Mapping[str, Any] | None = None
    """What ``DataLoader.state_dict`` said."""
    user: Mapping[str, Plain] = field(default_factory=dict)
    """The program's own values: step, best loss, seed."""

    @classmethod
    def capture(
        cls,
        model: Module,
        *,
        loader: DataLoader[Any, Any] | None = None,
        state: Mapping[str, Tensor] | None = None,
        user: Mapping[str, Plain] | None = None,
    ) -> TrainingRecord:
        """The state of now; changes nothing.

        Take the loader between two batches. Raises SettingError for a user value that would not
        come back exactly.
        """
        to_text("user", user or {})
        tensors = (
            TensorSnapshot.from_array(name, tensor.numpy(), dtype=tensor.dtype)
            for name, tensor in (state or {}).items()
        )
        return cls(
            model=TensorIndex.of(map(_held, collect(model).values()), format="record"),
            state=TensorIndex.of(tensors, format="record"),
            loader=None if loader is None else loader.state_dict(),
            user=dict(user or {}),
        )

    @classmethod
    def open(cls, path: Path | str, *, monitor: Monitor = SILENT) -> TrainingRecord:
        """The record in a file; reads its header only.

        Raises UnsupportedContentError for a file of weights that is no record, HeaderError for a
        record that is damaged, and as ``open_store``.
        """
        index = open_store(path, monitor=monitor)
        try:
            return cls._of(index)
        except BaseException:
            index.close()
            raise

    def save(
        self,
        path: Path | str,
        *,
        overwrite: bool = False,
        verify: bool = False,
        monitor: Monitor = SILENT,
    ) -> SaveResult:
        """Write the record as a ``.bpk`` file. Raises SaveError; an old file stays whole then."""
        metadata = {_VERSION_KEY: VERSION, _USER_KEY: to_text("user", self.user)}
        if self.loader is not None:
            metadata[_LOADER_KEY] = to_text("loader", self.loader)
        index = TensorIndex.of(
            [*_prefixed(self.model, _MODEL), *_prefixed(self.state, _STATE)],
            format="record",
            metadata=metadata,
        )
        return save(
            index, path, format="rudapack", overwrite=overwrite, verify=verify, monitor=monitor
        )

    def restore(
        self,
        model: Module,
        *,
        loader: DataLoader[Any, Any] | None = None,
        monitor: Monitor = SILENT,
    ) -> ApplyResult:
        """Give the model its values and ids back, and the loader, if given, its position.

        All or nothing. Raises LoadError where the model is not the recorded one, and
        StateMismatchError where the loader is not, or the record has no position.
        """
        if loader is not None:
            if self.loader is None:
                raise StateMismatchError("the record holds no position of a loader")
            loader.check_state_dict(self.loader)
        result = apply(self.model, model, monitor=monitor)
        if loader is not None and self.loader is not None:
            loader.load_state_dict(self.loader)
        return result

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of ``state`` by name, read into memory with their own dtypes."""
        return {name: Tensor(snapshot.read().copy()) for name, snapshot in self.state.items()}

    def close(self) -> None:
        """Release the file of an opened record."""
        self.model.close()

    def __enter__(self) -> TrainingRecord:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    def _of(cls, index: TensorIndex) -> TrainingRecord:
        version = index.metadata.get(_VERSION_KEY)
        if version != VERSION:
            fact = "no training record" if version is None else f"record version {version!r}"
            raise UnsupportedContentError(
                f"the file holds {fact}, expected version {VERSION!r}", path=index.path
            )
        stray = [key for key in index if not key.startswith((_MODEL, _STATE))]
        if stray:
            raise HeaderError(f"a record has no tensor {stray[0]!r}", path=index.path)
        loader = index.metadata.get(_LOADER_KEY)
        return cls(
            model=_part(index, _MODEL),
            state=_part(index, _STATE),
            loader=None if loader is None else from_text("loader", loader, index.path),
            user=from_text("user", index.metadata.get(_USER_KEY, "{}"), index.path),
        )


def _held(snapshot: TensorSnapshot) -> TensorSnapshot:
    """The same tensor with the values that it has now, whatever its parameter is given later."""
    return replace(snapshot, source=ArraySource(snapshot.read()))


def _prefixed(index: TensorIndex, prefix: str) -> list[TensorSnapshot]:
    return [snapshot.renamed(prefix + snapshot.key) for snapshot in index.values()]


def _part(index: TensorIndex, prefix: str) -> TensorIndex:
    """The tensors under a prefix, without it; closes the file that they all are in."""
    inside = (
        s.renamed(s.key.removeprefix(prefix)) for s in index.values() if s.key.startswith(prefix)
    )
    return TensorIndex.of(inside, format=index.format, path=index.path, closers=(index.close,))
