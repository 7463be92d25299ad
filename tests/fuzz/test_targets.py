"""Every fuzz target reads its seeds, and takes some hundred broken ones without a fault."""

import importlib.util
import random
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def _module(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # the files of this folder know each other by these names
    spec.loader.exec_module(module)
    return module


seeds = _module("seeds")
targets = _module("targets")
fuzz = _module("fuzz")


@pytest.mark.parametrize("name", targets.TARGETS)
def test_the_seeds_are_read(name):
    target = targets.TARGETS[name]
    for seed in target.seeds:
        target.run(seed)


@pytest.mark.parametrize("name", targets.TARGETS)
def test_broken_bytes_are_read_or_refused(name):
    target, dice = targets.TARGETS[name], random.Random(0)
    for _ in range(200):
        targets.attempt(target, fuzz.mutate(dice, list(target.seeds)))


def test_what_is_no_error_of_ruda_is_a_fault():
    def broken(raw):
        raise ValueError(raw)

    with pytest.raises(ValueError, match="abc"):
        targets.attempt(targets.Target(broken, ()), b"abc")
