"""Which operation of Ruda's is which of torch's: ``TWINS[torch name]`` computes what torch would.

Each entry takes what torch's sample has (tensors are Ruda's by then) under torch's names. What
Ruda does not offer raises ``UnlikeError`` with the reason, and is counted apart from agreement.
"""

from __future__ import annotations

import ruda.tensor.xp as xp
from ruda.tensor import Tensor
from torch_ops.translated import (
    First,
    Twin,
    add,
    allclose,
    arange,
    argsort,
    axes,
    cat,
    clamp,
    count_nonzero,
    cov,
    diff,
    div,
    extreme,
    eye,
    fft,
    fftn,
    function,
    interpolate,
    isclose,
    lifted,
    like,
    linspace,
    logsumexp,
    made,
    matrix_norm,
    mean_of,
    median,
    method,
    moved,
    norm,
    pick,
    position,
    reduce,
    repeat_interleave,
    roll,
    round,
    running,
    scatter,
    scatter_reduce,
    searchsorted,
    shift,
    sizes_,
    softmax,
    solve,
    sort,
    split,
    spread,
    squeeze,
    sub,
    tensordot,
    topk,
    unique,
    unlike,
    upsample,
    where,
    widely,
)

UNARY = {
    "abs": "abs", "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh",
    "atan": "atan", "atanh": "atanh", "bitwise_not": "bitwise_not", "ceil": "ceil", "cos": "cos",
    "cosh": "cosh", "deg2rad": "deg2rad", "erf": "erf", "erfc": "erfc", "exp": "exp",
    "expm1": "expm1", "floor": "floor", "isfinite": "is_finite", "isinf": "is_inf",
    "isnan": "is_nan", "log": "log", "log10": "log10", "log1p": "log1p", "log2": "log2",
    "rad2deg": "rad2deg", "reciprocal": "recip", "sigmoid": "sigmoid", "sign": "sign",
    "sgn": "sign", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "square": "square", "tan": "tan",
    "tanh": "tanh", "trunc": "trunc", "nn.functional.relu": "relu",
    "nn.functional.relu6": "relu6", "nn.functional.selu": "selu",
    "nn.functional.logsigmoid": "log_sigmoid", "nn.functional.mish": "mish",
    "nn.functional.hardswish": "hard_swish", "nn.functional.hardsigmoid": "hard_sigmoid",
    "nn.functional.softsign": "soft_sign", "nn.functional.tanhshrink": "tanh_shrink",
    "nn.functional.silu": "silu", "triu": "triu", "tril": "tril", "atan2": "atan2",
    "hypot": "hypot", "fmod": "fmod", "maximum": "max_pair", "minimum": "min_pair", "eq": "equal",
    "ne": "not_equal", "gt": "greater", "ge": "greater_equal", "lt": "lower", "le": "lower_equal",
    "logical_not": "not", "outer": "outer", "mT": "transpose",
}  # fmt: skip

FUNCTIONS = {
    "copysign": "copysign", "nextafter": "nextafter", "logaddexp": "logaddexp",
    "signbit": "signbit", "positive": "positive", "neg": "negative", "remainder": "remainder",
    "mul": "multiply", "pow": "pow", "floor_divide": "floor_divide", "true_divide": "divide",
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
    "bitwise_left_shift": "bitwise_left_shift", "bitwise_right_shift": "bitwise_right_shift",
    "matmul": "matmul", "mm": "matmul", "bmm": "matmul", "mv": "matmul", "__rmatmul__": "matmul",
    "dot": "vecdot", "vdot": "vecdot", "inner": "vecdot", "real": "real", "imag": "imag",
    "conj": "conj", "broadcast_tensors": "broadcast_arrays", "nonzero": "nonzero",
}  # fmt: skip


def _logical(name: str) -> Twin:
    return lambda x, y: getattr(xp, name)(x != 0, y != 0)


TWINS: dict[str, Twin] = {
    **{torch: method(ours) for torch, ours in UNARY.items() if ours != "not"},
    **{torch: function(ours) for torch, ours in FUNCTIONS.items()},
    "__radd__": lambda x, y: y + x,
    "__rsub__": lambda x, y: y - x,
    "__rmul__": lambda x, y: y * x,
    "__rdiv__": lambda x, y: y / x,
    "__rmod__": lambda x, y: y % x,
    "__rpow__": lambda x, y: y**x,
    "__rand__": lambda x, y: y & x,
    "__ror__": lambda x, y: y | x,
    "__rxor__": lambda x, y: y ^ x,
    "__rmatmul__": lambda x, y: y @ x,
    "__getitem__": pick,
    "inner": lambda x, y: (
        x * y if 0 in (x.ndim, y.ndim) else xp.tensordot(x, y, axes=((-1,), (-1,)))
    ),
    "add": add,
    "sub": sub,
    "rsub": lambda x, y, alpha=1: sub(y, x, alpha=alpha),
    "div": div,
    "clamp": clamp,
    "clamp_min": lambda x, low: x.clamp(low),
    "clamp_max": lambda x, high: x.clamp(None, high),
    "round": round,
    "isclose": isclose,
    "allclose": allclose,
    "equal": lambda x, y: x.shape == y.shape and bool((x == y).all()),
    "logical_not": lambda x: xp.logical_not(x != 0),
    "logical_and": _logical("logical_and"),
    "logical_or": _logical("logical_or"),
    "logical_xor": _logical("logical_xor"),
    "where": where,
    "sum": reduce("sum"),
    "prod": reduce("prod"),
    "mean": reduce("mean"),
    "amax": reduce("max"),
    "amin": reduce("min"),
    "all": reduce("all"),
    "any": reduce("any"),
    "max": extreme("max"),
    "min": extreme("min"),
    "aminmax": lambda x, dim=None, keepdim=False: (
        x.min(axes(x, dim), keepdims=keepdim),
        x.max(axes(x, dim), keepdims=keepdim),
    ),
    "argmax": position("argmax"),
    "argmin": position("argmin"),
    "var": spread("var"),
    "std": spread("std"),
    "var_mean": lambda x, *a, **k: (spread("var")(x, *a, **k), mean_of(x, *a, **k)),
    "std_mean": lambda x, *a, **k: (spread("std")(x, *a, **k), mean_of(x, *a, **k)),
    "count_nonzero": count_nonzero,
    "cumsum": running("cumsum"),
    "cumprod": running("cumprod"),
    "cummax": lambda x, dim: First(lifted(x, lambda y: y.cummax(dim))),
    "cummin": lambda x, dim: First(lifted(x, lambda y: y.cummin(dim))),
    "median": median,
    "cov": cov,
    "sort": sort,
    "argsort": argsort,
    "msort": lambda x: sort(x, 0)[0],
    "topk": topk,
    "searchsorted": searchsorted,
    "bucketize": lambda x, b, right=False, out_int32=False: searchsorted(
        b, x, right=right, out_int32=out_int32
    ),
    "unique": unique,
    "diff": diff,
    "logsumexp": logsumexp,
    "softmax": softmax("softmax"),
    "log_softmax": softmax("log_softmax"),
    "nn.functional.softmin": softmax("softmin"),
    "reshape": lambda x, *size: x.reshape(sizes_(x, *size)),
    "view": lambda x, *size: x.reshape(sizes_(x, *size)),
    "view_as": lambda x, other: x.reshape(other.shape),
    "reshape_as": lambda x, other: x.reshape(other.shape),
    "ravel": lambda x: x.flatten(),
    "flatten": lambda x, start_dim=0, end_dim=-1: x.flatten(start_dim, end_dim),
    "permute": lambda x, dims: x.permute(tuple(dims)),
    "transpose": lambda x, a, b: lifted(x, lambda y: y.swap_dims(a, b)),
    "t": lambda x: x.transpose() if x.ndim == 2 else x,
    "T": lambda x: x.T if x.ndim == 2 else x,
    "movedim": moved,
    "unsqueeze": lambda x, dim: x.unsqueeze(dim),
    "squeeze": squeeze,
    "expand": lambda x, *size: x.expand(sizes_(x, *size)),
    "expand_as": lambda x, other: x.expand(other.shape),
    "broadcast_to": lambda x, size: xp.broadcast_to(x, tuple(size)),
    "repeat": lambda x, *times: x.repeat(sizes_(x, *times)),
    "tile": lambda x, times: xp.tile(x, tuple(times)),
    "repeat_interleave": repeat_interleave,
    "flip": lambda x, dims: x.flip(tuple(dims)) if x.ndim else x,
    "fliplr": lambda x: x.flip(1),
    "flipud": lambda x: x.flip(0),
    "roll": roll,
    "narrow": lambda x, dim, start, length: x.narrow(
        dim, int(start) % max(x.shape[dim], 1) if start else 0, length
    ),
    "split": split,
    "split_with_sizes": split,
    "chunk": lambda x, n, dim=0: tuple(x.chunk(n, dim)),
    "unbind": lambda x, dim=0: tuple(x.unbind(dim)),
    "unfold": lambda x, dim, size, step: (
        x.unfold(dim, size, step) if x.ndim else unlike("a scalar")
    ),
    "cat": cat,
    "stack": lambda parts, dim=0: xp.stack(list(parts), axis=dim),
    "meshgrid": lambda first, *rest, indexing="ij": xp.meshgrid(
        *([first, *rest] if isinstance(first, Tensor) else first), indexing=indexing
    ),
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: xp.linalg.diagonal(
        xp.moveaxis(x, (dim1, dim2), (-2, -1)), offset=offset
    ),
    "linalg.diagonal": lambda x, offset=0, dim1=-2, dim2=-1: xp.linalg.diagonal(
        xp.moveaxis(x, (dim1, dim2), (-2, -1)), offset=offset
    ),
    "trace": lambda x: x.trace(),
    "gather": lambda x, dim, index: (
        x.gather(dim, index) if x.ndim == index.ndim > 0 else unlike("a scalar, or no index at all")
    ),
    "take": lambda x, index: xp.take(x.flatten(), index.flatten(), axis=0).reshape(index.shape),
    "take_along_dim": lambda x, index, dim=None: xp.take_along_axis(
        x if dim is not None else x.flatten(),
        index if dim is not None else index.flatten(),
        axis=dim or 0,
    ),
    "index_select": lambda x, dim, index: (
        x.select(dim, index) if x.ndim and index.ndim else unlike("a scalar")
    ),
    "select": lambda x, dim, index: (
        x.swap_dims(0, dim)[index] if dim in (0, -x.ndim) else xp.moveaxis(x, dim, 0)[index]
    ),
    "scatter": scatter,
    "scatter_add": lambda x, dim, index, src: scatter(x, dim, index, src, reduce="add"),
    "scatter_reduce": scatter_reduce,
    "index_add": lambda x, dim, index, src, alpha=1: (
        x.select_assign(dim, index, src * alpha)
        if x.ndim and index.ndim and src.ndim == x.ndim
        else unlike("a scalar")
    ),
    "masked_fill": lambda x, mask, value: x.mask_where(mask, value),
    "masked_select": lambda x, mask: x.mask_select(mask),
    "argwhere": lambda x: x.argwhere() if x.ndim else unlike("a scalar"),
    "nonzero": lambda x, as_tuple=False: (
        (tuple(x.nonzero()) if as_tuple else x.argwhere()) if x.ndim else unlike("a scalar")
    ),
    "nn.functional.hardtanh": lambda x, min_val=-1.0, max_val=1.0: x.hard_tanh(min_val, max_val),
    "nn.functional.leaky_relu": lambda x, negative_slope=0.01: x.leaky_relu(negative_slope),
    "nn.functional.elu": lambda x, alpha=1.0: x.elu(alpha),
    "nn.functional.celu": lambda x, alpha=1.0: x.celu(alpha),
    "nn.functional.gelu": lambda x, approximate="none": (
        x.gelu_approximate() if approximate == "tanh" else x.gelu()
    ),
    "nn.functional.softplus": lambda x, beta=1, threshold=20: x.softplus(beta, threshold),
    "nn.functional.hardshrink": lambda x, lambd=0.5: x.hard_shrink(lambd),
    "nn.functional.softshrink": lambda x, lambd=0.5: x.soft_shrink(lambd),
    "nn.functional.threshold": lambda x, threshold, value: x.threshold(threshold, value),
    "nn.functional.prelu": lambda x, weight: x.prelu(weight),
    "nn.functional.glu": lambda x, dim=-1: x.glu(dim),
    "nn.functional.normalize": lambda x, p=2.0, dim=1, eps=1e-12: lifted(
        x, lambda y: y.vector_normalize(float(p), dim if x.ndim else 0, eps=eps)
    ),
    "nn.functional.cosine_similarity": lambda x, y, dim=1, eps=1e-8: (
        x.cosine_similarity(y, dim - max(x.ndim, y.ndim) if dim >= 0 else dim, eps=eps)
        if x.ndim
        else unlike("a scalar")
    ),
    "arange": arange,
    "linspace": linspace,
    "eye": eye,
    "zeros": made("zeros"),
    "ones": made("ones"),
    "full": made("full"),
    "zeros_like": like("zeros_like"),
    "ones_like": like("ones_like"),
    "full_like": like("full_like"),
    "fill": lambda x, value: xp.full_like(x, value.item() if isinstance(value, Tensor) else value),
    "addmm": lambda c, a, b, beta=1, alpha=1: widely(
        lambda c, a, b: c * beta + (a @ b) * alpha, c, a, b
    ),
    "tensordot": tensordot,
    "cross": lambda x, y, dim=None: xp.linalg.cross(
        x, y, axis=dim if dim is not None else x.shape.index(3)
    ),
    "linalg.cross": lambda x, y, dim=-1: xp.linalg.cross(x, y, axis=dim),
    "linalg.det": lambda x: xp.linalg.det(x),
    "logdet": lambda x: xp.where(
        xp.linalg.slogdet(x).sign < 0, float("nan"), xp.linalg.slogdet(x).logabsdet
    ),
    "linalg.slogdet": lambda x: tuple(xp.linalg.slogdet(x)),
    "linalg.inv": lambda x: xp.linalg.inv(x),
    "linalg.cholesky": lambda x, upper=False: xp.linalg.cholesky(x, upper=upper),
    "cholesky": lambda x, upper=False: xp.linalg.cholesky(x, upper=upper),
    "linalg.eigvalsh": lambda x, UPLO="L": xp.linalg.eigvalsh(
        x if UPLO == "L" else xp.conj(xp.matrix_transpose(x))
    ),
    "linalg.solve": solve,
    "linalg.svdvals": lambda x: xp.linalg.svdvals(x),
    "linalg.matrix_power": lambda x, n: xp.linalg.matrix_power(x, n),
    "linalg.matrix_norm": matrix_norm,
    "linalg.vector_norm": norm,
    "linalg.vecdot": lambda x, y, dim=-1: (
        xp.vecdot(x, y, axis=dim) if x.ndim == y.ndim or dim < 0 else unlike("different ranks")
    ),
    "linalg.pinv": lambda x, *more, **options: (
        xp.linalg.pinv(x)
        if not more and options in ({}, {"hermitian": False})
        else unlike("tolerances of torch's")
    ),
    **{f"fft.{name}": fft(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{name}n": fftn(f"{name}n") for name in ("fft", "ifft", "rfft", "irfft")},
    **{f"fft.{name}2": fftn(f"{name}n", 2) for name in ("fft", "ifft", "rfft", "irfft")},
    "fft.fftshift": shift("fftshift"),
    "fft.ifftshift": shift("ifftshift"),
    "nn.functional.interpolate": interpolate,
    "nn.functional.upsample_bilinear": upsample("bilinear", align_corners=True),
    "nn.functional.upsample_nearest": upsample("nearest", align_corners=False),
}
