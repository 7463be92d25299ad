"""Adapters between Keras and Ruda: names of parameters, and the axes of convolutions.

Keras keeps the kernel of a convolution as (height, width, in, out), of a transposed one as
(height, width, out, in), and so for other numbers of axes; Ruda has them as PyTorch does. A kernel
along one axis, (length, in, out), is taken by a Conv2d whose kernel has the width 1. A Dense
kernel is (in, out), as Ruda's Linear. Chosen by name, ``keras-to-ruda``; ``suggest`` tries it for
HDF5 files. Source: the ``add_weight`` calls in ``build`` of ``keras/layers`` 2 and 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ruda.errors import AdapterError
from ruda.store.adapter import Chaining, ModuleAdapter, module_kinds, with_last_segment
from ruda.store.decisions import Reshape, Transpose
from ruda.store.shaping import changed
from ruda.store.snapshot import TOGETHER, TensorSnapshot

_CONVS = frozenset(f"{stem}{rank}d" for stem in ("Conv", "ConvTranspose") for rank in (1, 2, 3))
_MEANS = {"moving_mean": "running_mean", "moving_variance": "running_var"}
_TO_RUDA: Mapping[str, Mapping[str, str]] = {
    **{kind: {"kernel": "weight"} for kind in (*_CONVS, "Linear")},
    "Embedding": {"embeddings": "weight"},
    "BatchNorm": _MEANS,
    "RmsNorm": {"scale": "gamma"},
}
"""Kind of module, then the name in Keras: the name in Ruda. Others are the same in both."""

_TO_KERAS = {
    kind: {native: keras for keras, native in names.items()} for kind, names in _TO_RUDA.items()
}


@dataclass(frozen=True, slots=True)
class KerasToRuda(Chaining):
    """Keras's tensors for Ruda's modules."""

    DEPTH: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """Name in recipes."""
        return "keras-to-ruda"

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """Under Ruda's name, kernels of convolutions with their axes in Ruda's order, lazily.

        Raises AdapterError for a kernel whose values share bytes or scales.
        """
        return _adapted(snapshot, _TO_RUDA, to_ruda=True)

    def alternative_name(self, name: str, kind: str | None) -> str | None:
        """Keras's name of a parameter of Ruda's, or None where it is the same."""
        return _TO_KERAS.get(kind or "", {}).get(name)

    def reverse(self) -> ModuleAdapter:
        """RudaToKeras."""
        return RudaToKeras()


@dataclass(frozen=True, slots=True)
class RudaToKeras(Chaining):
    """Ruda's tensors under Keras's names and in its order of axes: KerasToRuda, taken back."""

    DEPTH: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """Name in recipes."""
        return "ruda-to-keras"

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        """Under Keras's name, weights of convolutions with their axes in Keras's order, lazily.

        Raises AdapterError for a weight whose values share bytes or scales.
        """
        return _adapted(snapshot, _TO_KERAS, to_ruda=False)

    def alternative_name(self, name: str, kind: str | None) -> str | None:
        """Ruda's name of a parameter of Keras's, or None where it is the same."""
        return _TO_RUDA.get(kind or "", {}).get(name)

    def reverse(self) -> ModuleAdapter:
        """KerasToRuda."""
        return KerasToRuda()


def without_width(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a kernel of width 1 as that of one along one axis; any other shape as it is."""
    return (shape[0], *shape[2:]) if len(shape) == 4 and shape[1] == 1 else shape


def _adapted(
    snapshot: TensorSnapshot, table: Mapping[str, Mapping[str, str]], *, to_ruda: bool
) -> TensorSnapshot:
    kinds = module_kinds(snapshot)
    last = snapshot.key.rpartition(".")[2]
    names = {table.get(kind, {}).get(last, last) for kind in kinds}
    if len(names) == 1:
        snapshot = snapshot.renamed(with_last_segment(snapshot.key, names.pop()))
    # A load gives the tensor the target's key first, so the name may be either side's.
    if not kinds or not _CONVS.issuperset(kinds) or last not in ("kernel", "weight"):
        return snapshot
    if snapshot.dtype.kind in TOGETHER:
        raise AdapterError(
            f"{snapshot.dtype_label} values share bytes or a scale: their axes cannot be moved",
            key=snapshot.key,
        )
    if to_ruda and len(snapshot.shape) == 3 and kinds == ("Conv2d",):
        length, inner, outer = snapshot.shape
        snapshot = changed(snapshot, Reshape((length, 1, inner, outer)))
    rank = len(snapshot.shape)
    if rank < 3:
        return snapshot
    spatial = range(rank - 2) if to_ruda else range(2, rank)
    axes = (rank - 1, rank - 2, *spatial) if to_ruda else (*spatial, 1, 0)
    return changed(snapshot, Transpose(axes))
