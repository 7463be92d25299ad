"""Every name of the array API standard 2024.12 in ``ruda.tensor.xp``, beside the reference.

    PYTHONPATH=core PYTHON_WITH_ARRAY_API_STRICT tests/oracles/check_array_api.py \\
        [--rounds N] [--seed N] [--verbose] [NAME ...]

array-api-strict is the reference of the consortium: NumPy with nothing but what the standard says.
Both are called with the same random arguments: all dtypes and the pairs that promote, edges,
extremes, empty and scalar arrays, axes of both signs, keyword arguments. Shape and dtype have to be
the same, and values exactly, signs of zeros included; sums, products and transforms within a
stated number of ulps of the largest value. Signatures are compared too, and what is an error on
one side may be no value on the other. No part of the test suite: array-api-strict is no
dependency. Exit code 1 if anything disagrees.
"""

# ruff: noqa: BLE001, T201
from __future__ import annotations

import argparse
import inspect
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

warnings.simplefilter("ignore")
sys.path.insert(0, str(Path(__file__).parent))

from array_api import calls, spaces  # noqa: E402
from array_api.sides import RUDA, STRICT, Call, strict, xp  # noqa: E402

from ruda.errors import OperationError  # noqa: E402

Array = np.ndarray[Any, Any]

# Ulps of the largest value: sums in another order, and what is made of sums.
ULPS = {"linalg.": 64, "fft.": 16, "matmul": 64, "@": 64, "tensordot": 64, "vecdot": 64}
ULPS |= {"cumulative_": 64, "sum": 32, "prod": 64, "mean": 32, "var": 64, "std": 64}
# Ruda's own formulas, where NumPy's lose digits or leave the standard; tests hold their edges.
OWN = {"expm1": "c", "sign": "c", "tanh": "c", "log1p": "c"}
OWN_ULPS = 8
OWN_FROM = {"log1p": 0.5}
"""Magnitudes of results from which they are compared, if not 1e-3: the reference rounds 1 + z."""
CONTRACTED = ("multiply", "square", "x * y", "x *= y", "divide", "x / y", "x /= y", "pow", "x ** y")
"""Of complex numbers NumPy joins products and sums in some memory orders and not in others."""
DIVISION = ("floor_divide", "x // y", "x //= y")
UNSIGNED_ZERO = ("maximum", "minimum", "max", "min", "clip", "sort", "unique")
"""Which of two zeros is the larger one is the implementation's choice."""
MADE_OTHERWISE = {"empty", "empty_like"}
"""Only shape and dtype are said."""


def _ulps(name: str) -> int:
    return next((n for key, n in ULPS.items() if name.startswith(key) or f" {key}" in name), 0)


def differs(call: Call, got: Any, wanted: Any) -> str | None:
    """What differs between two results, or None."""
    if isinstance(wanted, np.ndarray) and isinstance(got, np.ndarray):
        return _arrays_differ(call, got, wanted)
    if isinstance(wanted, dict | list) and type(got) is type(wanted):
        if len(got) != len(wanted) or (isinstance(got, dict) and set(got) != set(wanted)):
            return f"parts {got}, the reference has {wanted}"[:200]
        if call.name.startswith("unique"):
            got, wanted = (_without_nan(call, one) for one in (got, wanted))
        keys = wanted if isinstance(wanted, dict) else range(len(wanted))
        found = (differs(call, got[key], wanted[key]) for key in keys)
        return next((one for one in found if one), None)
    same = type(got) is type(wanted) and (got == wanted or (got != got and wanted != wanted))
    if isinstance(got, complex) and isinstance(wanted, complex):
        same = _arrays_differ(call, np.asarray(got), np.asarray(wanted)) is None
    return None if same else f"{got!r}, the reference has {wanted!r}"


def _without_nan(call: Call, found: Any) -> dict[str, Any]:
    """The parts of ``unique_…`` but for which NaN is which: they have no order."""
    (x,), values = call.arguments, found["values"]
    parts = dict(found)
    if parts.get("inverse_indices", x).shape != x.shape:
        return parts
    if "indices" in parts:
        parts["indices"] = np.where(values == values, parts["indices"], -1)
    if "inverse_indices" in parts:
        places = parts["inverse_indices"]
        parts["of NaN"] = np.sort(places[x != x])
        parts["inverse_indices"] = np.where(x == x, places, -1)
    return parts


def _arrays_differ(call: Call, got: Array, wanted: Array) -> str | None:
    if got.shape != wanted.shape:
        return f"shape {got.shape}, the reference has {wanted.shape}"
    if got.dtype != wanted.dtype:
        return f"dtype {got.dtype}, the reference has {wanted.dtype}"
    if call.name in MADE_OTHERWISE:
        return None
    if got.dtype.kind not in "fc":
        return None if np.array_equal(got, wanted) else _first(got, wanted, got != wanted)
    bound = _ulps(call.name)
    cared = np.ones(got.shape, bool)
    if call.name in OWN and got.dtype.kind == OWN[call.name]:
        cared = np.isfinite(wanted) & (np.abs(wanted) > OWN_FROM.get(call.name, 1e-3))
        bound = OWN_ULPS
    if call.name in CONTRACTED and got.dtype.kind == "c":
        bound, cared = OWN_ULPS, np.isfinite(wanted) & np.isfinite(got)
    if call.name in DIVISION:
        cared = _ordinary(call, got.shape)
    parts = [(got.real, wanted.real), (got.imag, wanted.imag)] if got.dtype.kind == "c" else []
    far = np.zeros(got.shape, bool)
    for a, b in parts or [(got, wanted)]:
        far |= _far(a, b, np.abs(wanted), bound, call)
    far &= cared
    return _first(got, wanted, far) if far.any() else None


def _far(a: Array, b: Array, sizes: Array, bound: int, call: Call) -> Array:
    """Where two float arrays differ; exactly, or by more than ulps of the largest value."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if not bound:
        zero = (a == 0) & (b == 0)
        if not call.name.startswith(UNSIGNED_ZERO):
            same &= ~zero | (np.signbit(a) == np.signbit(b))
        return np.asarray(~same)
    with np.errstate(all="ignore"):
        # Sums of values around 1 may cancel, which says nothing about the error of the parts.
        top = max(1, np.max(sizes[np.isfinite(sizes)], initial=0)) if bound > OWN_ULPS else sizes
        near = np.abs(a - b) <= bound * np.finfo(a.dtype).eps * top
    return np.asarray(~(same | near))


def _ordinary(call: Call, shape: tuple[int, ...]) -> Array:
    """Where neither side of a division is an infinity and the divisor not 0: see the standard."""
    a, b = (np.broadcast_to(np.asarray(one, np.float64), shape) for one in call.arguments)
    with np.errstate(all="ignore"):
        return np.isfinite(a) & np.isfinite(b) & (b != 0)


def _first(got: Array, wanted: Array, far: Array) -> str:
    count = np.count_nonzero(far)
    a, b = got[far].reshape(-1)[0], wanted[far].reshape(-1)[0]
    return f"{count} of {got.size} values, first {a!r}, the reference has {b!r}"


def _result(side: Any, call: Call) -> tuple[Any, Exception | None]:
    try:
        with np.errstate(all="ignore"):
            return side.run(call), None
    except Exception as error:
        return None, error


def checked(call: Call, counts: Counter[str]) -> str | None:
    """What is wrong about one call, or None; counted."""
    if call.name == "constant":
        one, other = (getattr(side.module, call.options["name"]) for side in (RUDA, STRICT))
        return None if one == other or (one != one and other != other) else f"{one!r}"
    wanted, refused = _result(STRICT, call)
    got, error = _result(RUDA, call)
    if refused is not None:
        counts[f"the reference refuses {call.name}: {refused}"] += 1
        return None
    if isinstance(error, OperationError) and "integer" in str(error):
        counts["refused: no result in integers"] += 1
        return None
    if error is not None:
        return f"{type(error).__name__}: {error}"
    return differs(call, got, wanted)


def erroneous(call: Call) -> str | None:
    """A complaint where one of the two returns something for what is an error."""
    wanted, refused = _result(STRICT, call)
    got, error = _result(RUDA, call)
    if error is None:
        return f"returned {got!r}, the reference {wanted if refused is None else refused!r}"[:300]
    named = type(error).__module__.startswith("ruda") or isinstance(
        error, ValueError | OverflowError
    )
    return None if named else f"an error of another library: {type(error).__name__}: {error}"


# Since 2024.12, or not of the standard at all.
NEWER = {"broadcast_shapes", "isin"}
METHODS = {
    name
    for name in dir(STRICT.kind)
    if name.startswith("__") and name.endswith("__") and name not in dir(object)
} - {"__buffer__", "__weakref__", "__module__", "__dict__", "__slots__", "__annotations__"}


def signatures() -> tuple[int, list[str]]:
    """How many functions have the reference's parameters, and those that have not."""
    found, wrong = 0, []
    spaces_ = (
        ("", strict, xp),
        ("linalg.", strict.linalg, xp.linalg),
        ("fft.", strict.fft, xp.fft),
    )
    for prefix, theirs, ours in spaces_:
        for name in theirs.__all__:
            if "strict" in name.lower() or name in NEWER or name in ("Device", "__version__"):
                continue
            problem = _parameters_differ(getattr(theirs, name), getattr(ours, name, None))
            found += 1
            wrong += [f"{prefix}{name}: {problem}"] if problem else []
    for name in sorted(METHODS):
        if name.startswith("__i") and not hasattr(RUDA.kind, name):
            continue  # Python takes ``x + y`` for ``x += y``
        problem = _parameters_differ(getattr(STRICT.kind, name), getattr(RUDA.kind, name, None))
        found += 1
        wrong += [f"{name}: {problem}"] if problem else []
    return found, wrong


def _parameters_differ(theirs: Any, ours: Any) -> str | None:
    if ours is None and theirs is not None:
        return "is missing"
    if not inspect.isfunction(theirs):
        return None
    pairs = (_parameters(theirs), _parameters(ours))
    for (name, kind, default), (own, own_kind, own_default) in zip(*pairs, strict=False):
        both = {kind, own_kind}
        free = both <= {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
        if kind is not own_kind and not free:
            return f"{own} is {own_kind.description}, the standard says {kind.description}"
        if name != own and kind is not inspect.Parameter.POSITIONAL_ONLY:
            return f"a parameter is called {own}, in the standard {name}"
        if "Undef" not in repr(default) and default is not _ABSENT and default != own_default:
            return f"{own} is {own_default!r} by default, in the standard {default!r}"
    return None if len(pairs[0]) == len(pairs[1]) else "another number of parameters"


_ABSENT = inspect.Parameter.empty


def _parameters(function: Any) -> list[tuple[str, Any, Any]]:
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


def main() -> int:
    """Check all functions, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    samples: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for family in [*calls.FAMILIES, *spaces.FAMILIES, spaces.wrong]:
        for _ in range(options.rounds):
            for call in family(rng):
                if options.names and call.name not in options.names:
                    continue
                bad = family is spaces.wrong
                problem = erroneous(call) if bad else checked(call, counts)
                samples[call.name] += 1
                counts["errors"] += bad
                wrong[call.name] += bool(problem)
                if problem and (options.verbose or wrong[call.name] == 1):
                    print(f"  {call.name}: {problem}\n    {str(call)[:400]}")
    found, unlike = signatures()
    for line in unlike:
        print(f"  signature: {line}")
    disagree = sorted(name for name, count in wrong.items() if count)
    print(f"{len(samples)} functions on {sum(samples.values())} samples, {counts['errors']} errors")
    print(f"{len(disagree)} disagree on {sum(wrong.values())}: {' '.join(disagree)}")
    print(f"{found} signatures, {len(unlike)} differ")
    for key, count in sorted(counts.items()):
        if key != "errors":
            print(f"{key}: {count}")
    return bool(disagree or unlike)


if __name__ == "__main__":
    sys.exit(main())
