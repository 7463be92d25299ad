"""Which build of the kernels serves: v4, v3, base or the NumPy twins; decided once, at import.

``RUDA_KERNELS=v4|v3|base|numpy`` forces one. A name that does not exist, a build that is not
installed and a processor that cannot run it are errors, never a silent second choice.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
from collections.abc import Sequence
from types import ModuleType

from ruda.errors import SettingError

VARIABLE = "RUDA_KERNELS"
COMPILED = ("v4", "v3", "base")
SUBJECTS = (
    "activation",
    "cells",
    "collate",
    "convolution",
    "difference",
    "float8",
    "half",
    "histogram",
    "indexed",
    "largest",
    "moments",
    "quantize",
    "resize",
    "rows",
    "shuffle",
    "spatial",
    "transpose",
)
"""The kernel files: one extension module per subject and variant, such as ``half_v3``."""

_TWINS = {
    s: f"_numpy_{s}"
    for s in SUBJECTS
    if s not in ("float8", "half", "histogram", "moments", "shuffle", "transpose")
}
"""Where the twins of a subject are, if not in ``_numpy``."""

# Feature names of NumPy's run-time dispatch table. AVX512_SKX is F+CD+VL+BW+DQ, the whole of v4.
_V3_FEATURES = ("AVX2", "FMA3", "F16C")
_V4_FEATURES = (*_V3_FEATURES, "AVX512F", "AVX512CD", "AVX512_SKX")
_TITLES = {
    "v4": "the x86-64-v4 build (AVX-512)",
    "v3": "the x86-64-v3 build (AVX2)",
    "base": f"the build for any {platform.machine()} processor",
    "numpy": "the NumPy twins",
}


def cpu_features() -> dict[str, bool]:
    """Processor features as NumPy found them; empty where NumPy does not tell."""
    try:
        module = importlib.import_module("numpy._core._multiarray_umath")
    except ImportError:
        return {}
    return dict(getattr(module, "__cpu_features__", {}))


def supported(name: str, features: dict[str, bool]) -> bool:
    """Whether a processor with these features can run the variant."""
    needed = {"v4": _V4_FEATURES, "v3": _V3_FEATURES}.get(name, ())
    # NumPy 2.4 reports the levels themselves.
    return features.get(f"X86_{name.upper()}", all(features.get(f, False) for f in needed))


def absent(name: str) -> list[str]:
    """Subjects of which this variant is not in this installation."""
    return [
        subject
        for subject in SUBJECTS
        if importlib.util.find_spec(f"ruda._kernels.{subject}_{name}") is None
    ]


def installed(name: str) -> bool:
    """Whether every kernel of the variant is in this installation."""
    return not absent(name)


def available_variants() -> tuple[str, ...]:
    """Variants that this installation has and this processor can run, fastest first."""
    features = cpu_features()
    compiled = tuple(v for v in COMPILED if supported(v, features) and installed(v))
    return (*compiled, "numpy")


def choose(forced: str) -> str:
    """The forced variant. Raises SettingError if unknown, not installed or beyond the processor."""
    if forced not in _TITLES:
        raise SettingError(
            f"{VARIABLE}={forced} names no variant of the kernels; expected v4, v3, base or numpy"
        )
    if forced != "numpy" and not supported(forced, cpu_features()):
        raise SettingError(
            f"{VARIABLE}={forced} asks for {_TITLES[forced]}, which this processor cannot run; "
            f"available here: {', '.join(available_variants())}"
        )
    if forced != "numpy" and not installed(forced):
        raise SettingError(
            f"{VARIABLE}={forced} asks for {_TITLES[forced]}, which is not in this installation"
            f"{_but_for(forced)}; available here: {', '.join(available_variants())}; "
            "install with a C++ compiler and -Csetup-args=-Dnative=enabled to compile it"
        )
    return forced


def _but_for(name: str) -> str:
    """Which kernels are absent of a build that has others: whoever adds one wants to know."""
    gone = absent(name)
    return "" if len(gone) == len(SUBJECTS) else f" as a whole, {', '.join(gone)} being absent"


def load(name: str) -> dict[str, ModuleType]:
    """The kernel modules of one variant, by subject."""
    return {s: _module(s, name) for s in SUBJECTS}


def _module(subject: str, name: str) -> ModuleType:
    own = f"{subject}_{name}" if name != "numpy" else _TWINS.get(subject, "_numpy")
    return importlib.import_module(f"ruda._kernels.{own}")


def load_first(names: Sequence[str]) -> tuple[str, dict[str, ModuleType], str]:
    """The first of the variants that can be loaded, its modules, and why those before could not."""
    trouble = ""
    for name in names[:-1]:
        try:
            return name, load(name), trouble
        except ImportError as error:  # built for another Python or NumPy
            trouble = f"{name} cannot be loaded: {error}"
    return names[-1], load(names[-1]), trouble


_FORCED = os.environ.get(VARIABLE)
_ACTIVE, _MODULES, _TROUBLE = load_first([choose(_FORCED)] if _FORCED else available_variants())


def kernel(subject: str) -> ModuleType:
    """The active module of one subject."""
    return _MODULES[subject]


def variant() -> str:
    """Name of the active variant: ``v4``, ``v3``, ``base`` or ``numpy``."""
    return _ACTIVE


def _why_none() -> str:
    """Why nothing compiled serves, though none was forced."""
    runs = [v for v in COMPILED if supported(v, cpu_features())]
    partly = [f"{v}{_but_for(v)}" for v in runs if len(absent(v)) < len(SUBJECTS)]
    if partly:
        return f"this installation does not have {'; nor '.join(partly)}; install it anew"
    return "this installation has no compiled kernels; a C++ compiler at install time adds them"


def holders() -> dict[tuple[str, str], str]:
    """Where gates keep the modules they call: (module, attribute), and of which subject.

    By the rule that a gate module says ``_SUBJECT = kernel("SUBJECT")`` and looks it up at each
    call. Who puts another variant behind the gates (tests, benchmarks) replaces just these.
    """
    package = importlib.import_module("ruda._kernels")
    modules = [m for m in vars(package).values() if isinstance(m, ModuleType)]
    return {
        (module.__name__, f"_{subject}"): subject
        for module in modules
        if module.__name__.startswith("ruda._kernels.")
        for subject in SUBJECTS
        if isinstance(vars(module).get(f"_{subject}"), ModuleType)
    }


def describe() -> str:
    """One sentence on what serves and why."""
    if _FORCED:
        why = f"forced by {VARIABLE}"
    elif _TROUBLE:
        why = _TROUBLE
    elif _ACTIVE == "numpy":
        why = _why_none()
    else:
        why = f"the fastest of {', '.join(available_variants())} on this processor"
    return f"Kernels: {_TITLES[_ACTIVE]} ({_ACTIVE}), {why}."
