"""What can be found wrong in the values of a tensor, in one pass over its blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ruda import _kernels
from ruda.progress import SILENT, Monitor
from ruda.store.check_headers import found_at
from ruda.store.check_report import Finding, Severity
from ruda.store.piecewise import Array, blocks
from ruda.store.scales import counts_things
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType, Kind

SUBNORMAL_SHARE = 0.01
"""Share of the values from which subnormal numbers are worth a word."""


@dataclass(slots=True)
class _Seen:
    """What one pass over the blocks of a tensor has seen."""

    moments: _kernels.Moments
    subnormals: int = 0
    fractions: int = 0


def value_findings(snapshot: TensorSnapshot, *, monitor: Monitor = SILENT) -> Iterator[Finding]:
    """Every finding of the value rules for one tensor; none for dtypes without values."""
    if snapshot.dtype.is_raw or not snapshot.numel:
        return
    seen = _scan(snapshot, monitor)
    moments = seen.moments
    if moments.nans:
        said = f"{moments.nans} of {snapshot.numel} values are NaN"
        yield found_at("nan", Severity.ERROR, snapshot, said)
    if moments.pos_infs or moments.neg_infs:
        said = f"{moments.pos_infs} values are +Inf and {moments.neg_infs} -Inf"
        yield found_at("infinity", Severity.ERROR, snapshot, f"{said} of {snapshot.numel}")
    yield from _sameness(snapshot, moments)
    if counts_things(snapshot.key) and snapshot.dtype.is_float:
        if seen.fractions:
            said = f"{seen.fractions} of {snapshot.numel} values are no whole numbers"
            yield found_at("non-integral", Severity.WARNING, snapshot, said)
        else:
            said = f"holds whole numbers as {snapshot.dtype_label}; a cast may round them"
            yield found_at("integers-as-floats", Severity.NOTE, snapshot, said)
    if seen.subnormals >= SUBNORMAL_SHARE * snapshot.numel and seen.subnormals:
        share = 100 * seen.subnormals / snapshot.numel
        said = f"{share:.3g} % of the values are below the smallest normal {snapshot.dtype_label}"
        yield found_at("subnormal", Severity.WARNING, snapshot, f"{said} and imprecise")


def _scan(snapshot: TensorSnapshot, monitor: Monitor) -> _Seen:
    seen = _Seen(_kernels.Moments())
    dtype = snapshot.dtype
    counts_subnormals = dtype.is_float and dtype.bits >= 16
    for block in blocks(snapshot):
        monitor.check()
        if dtype.kind is Kind.COMPLEX:
            block = block.view("<f4" if dtype is DType.C64 else "<f8")
        with np.errstate(all="ignore"):
            seen.moments += _kernels.moments(block)
            if counts_subnormals:
                seen.subnormals += _subnormals(block, dtype)
            if dtype.is_float and counts_things(snapshot.key):
                wide = block.astype(np.float64)
                seen.fractions += int(np.count_nonzero(np.isfinite(wide) & (wide % 1 != 0)))
    return seen


def _subnormals(block: Array, dtype: DType) -> int:
    """Values between zero and the smallest normal: all bits of the exponent are zero."""
    bits = block.view(f"<u{dtype.itemsize}")
    sign = bits.dtype.type((1 << (dtype.bits - 1)) - 1)
    least = np.array([dtype.smallest_normal]).astype(dtype.numpy).view(bits.dtype)[0]
    size = bits & sign
    return int(np.count_nonzero((size != 0) & (size < least)))


def _sameness(snapshot: TensorSnapshot, moments: _kernels.Moments) -> Iterator[Finding]:
    """One value everywhere: unlikely for a matrix, common for a bias or a norm at its start."""
    if snapshot.numel < 2 or moments.finite != moments.count or moments.minimum != moments.maximum:
        return
    severity = Severity.WARNING if len(snapshot.shape) > 1 else Severity.NOTE
    if snapshot.dtype.kind is Kind.BOOL or snapshot.dtype.is_integer:
        severity = Severity.NOTE
    if moments.zeros == moments.count:
        yield found_at("all-zero", severity, snapshot, f"all {snapshot.numel} values are zero")
    else:
        said = f"all {snapshot.numel} values are {moments.minimum}"
        yield found_at("constant", severity, snapshot, said)
