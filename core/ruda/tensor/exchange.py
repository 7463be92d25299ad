"""DLPack: memory shared with other array libraries, both ways."""

from __future__ import annotations

from typing import Any

import numpy as np

from ruda.errors import DTypeError
from ruda.tensor.casting import cast
from ruda.tensor.dtype import DType

Array = np.ndarray[Any, Any]

_CPU = (1, 0)
_FIRST_FOREIGN = 256
"""NumPy numbers the types that others register from here; it cannot hand those out."""


def capsule(
    array: Array,
    *,
    stream: None,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """The capsule of a tensor's array; see ``Tensor.__dlpack__``."""
    if array.dtype.num >= _FIRST_FOREIGN:
        dtype = DType.from_numpy(array.dtype)
        raise DTypeError(
            f"DLPack: NumPy cannot hand out {dtype}; pass numpy().view of an unsigned integer of "
            f"its width, or cast to f32"
        )
    if stream is not None or (dl_device is not None and tuple(dl_device) != _CPU):
        raise BufferError("DLPack: a tensor of Ruda lies in main memory, which has no streams")
    told = max_version is not None and tuple(max_version) >= (1, 0)
    if any(step < 0 for step in array.strides) and not copy:
        # The protocol has such steps, but PyTorch does not survive them.
        if copy is False:
            raise BufferError("DLPack: flipped axes are handed out as a copy only")
        copy = True
    if copy or (copy is None and not told):
        return array.copy().__dlpack__(max_version=max_version) if told else _legacy(array)
    if not told:
        if not array.flags.writeable:
            raise BufferError("DLPack: without version 1.0 read-only memory needs a copy")
        return array.__dlpack__()
    view = array.view()
    view.flags.writeable = False
    return view.__dlpack__(max_version=max_version)


def array_as(view: Array, dtype: Any, copy: bool | None) -> Array:
    """The values of a tensor for NumPy; see ``Tensor.__array__``."""
    wanted = view.dtype if dtype is None else np.dtype(dtype)
    if wanted == view.dtype:
        return view.copy() if copy else view
    source = DType.from_numpy(view.dtype)
    if copy is False:
        raise DTypeError(f"{source} cannot become {dtype} without a copy")
    try:
        target = DType.from_numpy(wanted)
    except DTypeError:  # text and objects, which hold whatever they are given
        return view.astype(wanted)
    made, lost = cast(view, source, target)
    if lost.overflow:
        raise DTypeError(
            f"{lost.overflow} of {lost.numel} values of {source} do not fit {target}; choose a "
            f"wider dtype, or cast() to clip what overflows"
        )
    return made.astype(wanted, copy=False)


def _legacy(array: Array) -> Any:
    return array.copy().__dlpack__()


def _require_crossing(dtype: np.dtype[Any]) -> None:
    """Raise DTypeError for arrays of NumPy that NumPy cannot hand to itself."""
    DType.from_numpy(dtype)
    if dtype.num >= _FIRST_FOREIGN:
        raise DTypeError(f"from_dlpack: {dtype} cannot cross; Tensor.from_data takes the array")
    if not dtype.isnative:
        raise DTypeError(
            f"from_dlpack: {dtype.str} in foreign byte order cannot cross; Tensor.from_data copies "
            f"it into native"
        )


def array_of(other: Any, *, copy: bool | None) -> Array:
    """The array of an object with ``__dlpack__``; shares memory unless ``copy`` is True.

    Raises DTypeError for a dtype that NumPy does not read (bf16 among them), BufferError where
    ``copy=False`` cannot be kept or the memory is not in reach.
    """
    if isinstance(other, np.ndarray):
        _require_crossing(other.dtype)
    try:
        array = np.from_dlpack(other, copy=copy)
    except RuntimeError as error:
        reason = str(error).rstrip(".")
        raise DTypeError(f"from_dlpack: {reason}; cast it there first, or pass its bits") from None
    except (BufferError, TypeError, ValueError) as error:
        if isinstance(error, DTypeError):
            raise
        name = type(other).__name__
        raise BufferError(f"from_dlpack: {name} does not hand out its memory: {error}") from None
    DType.from_numpy(array.dtype)
    return array
