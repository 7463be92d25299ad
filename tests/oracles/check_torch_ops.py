"""Every operation of Ruda's that torch has too, on the samples of torch's own ``op_db``.

    PYTHONPATH=core PYTHON_WITH_TORCH tests/oracles/check_torch_ops.py \\
        [--dtype f32|f64|f16|bf16|i64|i32|u8|bool] [--verbose] [NAME ...]

torch's test suite has sample inputs for each operation: edge shapes, empty tensors, axes of both
signs. Each sample goes through torch and through Ruda; shape and dtype have to be the same and
values within rounding: halves within one step of what torch computes in f32 and rounds. Samples
with settings that Ruda does not offer, and results that differ by a rule of Ruda's own, are counted
apart, with the reason. No part of the test suite: torch is no dependency. Exit code 1 if a sample
disagrees.
"""

# ruff: noqa: BLE001, T201
from __future__ import annotations

import argparse
import sys
import types
import unittest
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

# torch's test utilities import a package for expected output, which is not used here.
_EXPECT = types.ModuleType("expecttest")
_EXPECT.TestCase = unittest.TestCase  # type: ignore[attr-defined]
_EXPECT.assert_expected_inline = lambda *args, **kwargs: None  # type: ignore[attr-defined]
sys.modules.setdefault("expecttest", _EXPECT)
warnings.simplefilter("ignore")
sys.path.insert(0, str(Path(__file__).parent))

import torch  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch_ops.dtypes import (  # noqa: E402
    HALVES,
    NAMES,
    PECULIAR,
    array_of,
    computed_in_f32,
    leaves,
    other_dtype,
    refusal,
    settled,
)
from torch_ops.layers import LAYERS  # noqa: E402
from torch_ops.newer import NEWER  # noqa: E402
from torch_ops.translated import First, UnlikeError  # noqa: E402
from torch_ops.twins import TWINS as METHODS  # noqa: E402

from ruda.tensor import DType, Tensor  # noqa: E402

TWINS = METHODS | LAYERS | NEWER

# Sums in another order, and solvers: measured against the largest value of the result.
LOOSE = {
    "linalg": 2e-3,
    "cholesky": 1e-3,
    "logdet": 1e-3,
    "fft": 1e-4,
    "cumprod": 1e-4,
    "prod": 1e-4,
}
SAMPLES_AT_MOST = 400


def ours(value: Any) -> Any:
    """torch's tensors as Ruda's, at any depth; dtypes likewise."""
    if isinstance(value, torch.Tensor):
        return Tensor(array_of(value))
    if isinstance(value, torch.dtype):
        found = DType.from_torch(str(value).removeprefix("torch."))
        if found is None or not found.is_ordered:
            raise UnlikeError(f"dtype {value}")
        return found
    if isinstance(value, torch.device | torch.layout):
        return None
    if isinstance(value, tuple | list):
        return (
            type(value)(ours(one) for one in value)
            if type(value) in (tuple, list)
            else tuple(ours(one) for one in value)
        )
    return value


def plain(value: Any) -> list[Any]:
    """The arrays of a result, in order."""
    return [
        array_of(one)
        if isinstance(one, torch.Tensor)
        else one.numpy()
        if isinstance(one, Tensor)
        else np.asarray(one)
        for one in leaves(value)
    ]


def disagreement(
    name: str, got: list[Any], wanted: list[Any], exact: list[Any] | None = None
) -> str | None:
    """What differs, or None; ``exact`` are the results before they were rounded to halves."""
    if len(got) != len(wanted):
        return f"{len(got)} results, torch has {len(wanted)}"
    for place, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if a.shape != b.shape:
            return f"shape {a.shape}, torch has {b.shape}"
        if a.dtype != b.dtype:
            rule = other_dtype(name, a.dtype, b.dtype)
            if rule is not None:
                raise UnlikeError(rule)
            return f"dtype {a.dtype}, torch has {b.dtype}"
        if not DType.from_numpy(a.dtype).is_float and a.dtype.kind != "c":
            if not np.array_equal(a, b):
                return "other values"
            continue
        problem = _far(name, a, b, None if exact is None else exact[place])
        if problem:
            return problem
    return None


def _far(name: str, a: Any, b: Any, exact: Any) -> str | None:
    """Where floats are further apart than rounding takes them, halves from those not rounded."""
    loose = next((v for k, v in LOOSE.items() if name.startswith(k)), 2e-5)
    loose = loose * 1e-6 if a.dtype.itemsize * (1 + (a.dtype.kind != "c")) == 16 else loose
    near = loose
    if a.dtype.itemsize == 2:
        near += 0.501 * float(ml_dtypes.finfo(a.dtype).eps)
        a, b = a.astype(np.float32), b.astype(np.float32)
        if exact is not None:
            b = np.where(np.isfinite(b), exact, b)
    with np.errstate(all="ignore"):
        top = np.max(np.abs(b[np.isfinite(b)]), initial=0)
        close = np.isclose(a, b, rtol=near, atol=loose * max(float(top), 1e-3), equal_nan=True)
    if close.all():
        return None
    return f"{np.count_nonzero(~close)} of {a.size} values, {a[~close][:2]} {b[~close][:2]}"


def _expected(op: Any, sample: Any) -> list[list[Any]]:
    """torch's results; of halves those of f32 rounded to torch's dtypes, and not rounded."""
    settled(op.name, sample)
    found = leaves(op.op(sample.input, *sample.args, **sample.kwargs))
    if not any(isinstance(one, torch.Tensor) and one.dtype in HALVES for one in found):
        return [plain(found)]
    wide = computed_in_f32(op, sample)
    if wide is None or len(wide) != len(found):
        return [plain(found)]
    return [plain([w.to(f.dtype) for w, f in zip(wide, found, strict=True)]), plain(wide)]


def _compared(name: str, found: Any, expected: list[list[Any]]) -> str | None:
    """What differs, or None. Layers of Ruda's give f32 of halves, which is not rounded."""
    got = plain(found)
    layer = name in LAYERS or name.startswith("nn.functional")
    wide = len(expected) > 1 and layer and got[0].dtype == np.float32
    count = 1 if isinstance(found, First) else None
    exact = expected[1][:count] if len(expected) > 1 else None
    return disagreement(name, got, expected[1 if wide else 0][:count], exact)


def check(op: Any, dtype: torch.dtype, verbose: bool) -> Counter[str]:
    """Agreement, disagreement and reasons over the samples of one operation."""
    counts: Counter[str] = Counter()
    for number, sample in enumerate(op.sample_inputs("cpu", dtype)):
        if number >= SAMPLES_AT_MOST:
            break
        try:
            expected = _expected(op, sample)
        except Exception:
            counts["torch refuses"] += 1
            continue
        twin = TWINS[op.name]
        options = {k: ours(v) for k, v in sample.kwargs.items()} if _held(sample) else None
        try:
            if options is None:
                raise UnlikeError("a dtype that tensors do not compute with")
            found = twin(ours(sample.input), *(ours(a) for a in sample.args), **options)
            problem = _compared(op.name, found, expected)
        except UnlikeError as reason:
            counts[f"unlike: {reason}"] += 1
            continue
        except Exception as error:
            rule = refusal(error)
            if rule is not None:
                counts[f"refused: {rule}"] += 1
                continue
            problem = f"{type(error).__name__}: {error}"
        peculiar = PECULIAR.get(op.name) if problem and not dtype.is_floating_point else None
        if peculiar:
            counts[f"unlike: {peculiar}"] += 1
            continue
        counts["disagrees" if problem else "agrees"] += 1
        if problem and (verbose or counts["disagrees"] == 1):
            shown = " ".join(str(sample).split())
            print(f"  {op.name}: {problem[:200]}\n    {shown[:300]}")
    return counts


def _held(sample: Any) -> bool:
    try:
        ours(tuple(sample.kwargs.values()))
        ours(sample.args)
        ours(sample.input)
    except (UnlikeError, TypeError):
        return False
    return True


def main() -> int:
    """Check all operations, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--dtype", choices=NAMES, default="f32")
    options = parser.parse_args()
    dtype = NAMES[options.dtype]
    known = {op.name for op in op_db}
    stray = [name for name in TWINS if name not in known]
    total: Counter[str] = Counter()
    whole: set[str] = set()
    partly: dict[str, Counter[str]] = {}
    wrong: set[str] = set()
    for op in op_db:
        if op.name not in TWINS:
            continue
        if options.names and op.name not in options.names:
            continue
        if dtype not in op.dtypes and dtype is not torch.float32:
            continue
        counts = check(op, dtype, options.verbose)
        total += counts
        if counts["disagrees"]:
            wrong.add(op.name)
        elif counts["agrees"]:
            whole.add(op.name)
        if any(key.startswith("unlike") for key in counts):
            partly[op.name] = partly.get(op.name, Counter()) + counts
    print(f"{len(whole - wrong)} operations agree on {total['agrees']} samples")
    print(f"{len(wrong)} disagree on {total['disagrees']}: {' '.join(sorted(wrong))}")
    apart = sum(count for key, count in total.items() if key.startswith("unlike"))
    for key, count in sorted(total.items()):
        if key.startswith("refused"):
            print(f"{key}: {count}")
    print(f"settings that Ruda does not offer, and rules of its own: {apart}")
    for name, counts in sorted(partly.items()):
        reasons = "; ".join(f"{k[8:]} {c}" for k, c in counts.items() if k.startswith("unlike"))
        print(f"  {name}: {counts['agrees']} agree, {reasons}")
    if stray:
        print("not in op_db:", *stray)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
