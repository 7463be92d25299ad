"""Spectra, factorisations and what stands between layers, as torch calls them."""

from __future__ import annotations

from typing import Any

import ruda.tensor.xp as xp
from ruda.tensor import DType, Tensor
from torch_ops.translated import Twin, require, unlike

_MODES = ("bilinear", "nearest", "bicubic")
_EDGES = ("zeros", "border", "reflection")


def lu(x: Tensor, *, pivot: bool = True) -> Any:
    require(pivot, "elimination without pivots")
    return x.lu()


def lu_factor(x: Tensor, *, pivot: bool = True) -> Any:
    """torch counts rows from 1, in i32."""
    require(pivot, "elimination without pivots")
    compact, pivots = x.lu_decomposition()
    return compact, (pivots + 1).cast(DType.I32)


def qr(x: Tensor, mode: str = "reduced") -> Any:
    if mode == "reduced":
        return x.qr()
    found = xp.linalg.qr(x, mode=mode) if mode == "complete" else unlike("R alone")
    return tuple(found)


def stft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    return_complex: bool | None = None,
) -> Tensor:
    require(win_length is None or window is not None, "a window of ones that is shorter")
    found = x.stft(
        n_fft, hop_length, window, centre=center, normalised=normalized, onesided=onesided
    )
    return found if return_complex else xp.stack([xp.real(found), xp.imag(found)], axis=-1)


def grid_sample(
    x: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    require(x.ndim == 4, "volumes")
    return x.grid_sample(grid, mode=mode, edge=padding_mode, align_corners=bool(align_corners))


def grid_sampler(x: Tensor, grid: Tensor, mode: int, edge: int, align_corners: bool) -> Tensor:
    return grid_sample(x, grid, _MODES[mode], _EDGES[edge], align_corners)


def columns(
    x: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    found = x if x.ndim == 4 else x.unsqueeze(0)
    made = found.unfold4d(kernel_size, stride=stride, padding=padding, dilation=dilation)
    return made if x.ndim == 4 else made.squeeze(0)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    require(log_probs.ndim == 3 and targets.ndim == 2, "targets in one line")
    steps, sizes = (
        one if isinstance(one, Tensor) else Tensor.from_data(list(one))
        for one in (input_lengths, target_lengths)
    )
    found = log_probs.ctc_loss(targets, steps, sizes, blank=blank)
    if zero_infinity:
        found = found.mask_fill(found.is_inf(), 0.0)
    if reduction == "mean":
        return (found / sizes.clamp(1).cast(found.dtype)).mean()
    return found.sum() if reduction == "sum" else found


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """torch's mask is True where a query looks, and its causal one begins at the first key."""
    require(not dropout_p and not enable_gqa, "dropout, or queries that share keys")
    require(not is_causal or query.shape[-2] == key.shape[-2], "another first key")
    hides = attn_mask is not None and attn_mask.dtype is DType.BOOL
    return query.attention(
        key,
        value,
        mask=attn_mask.bool_not() if hides and attn_mask is not None else None,
        bias=None if hides else attn_mask,
        scale=scale,
        is_causal=is_causal,
    )


NEWER: dict[str, Twin] = {
    "nn.functional.scaled_dot_product_attention": attention,
    "linalg.lu": lu,
    "linalg.lu_factor": lu_factor,
    "linalg.qr": qr,
    "stft": stft,
    "nn.functional.grid_sample": grid_sample,
    "grid_sampler_2d": grid_sampler,
    "nn.functional.unfold": columns,
    "nn.functional.ctc_loss": ctc_loss,
}
