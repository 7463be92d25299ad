"""The load diff over a mixture-of-experts key set, beside a plain pass over the same two lists.

    python bench_diff.py [--layers N] [--experts N] [--repeat N] [--json FILE]

A ratio of 10 means that the diff takes ten times as long as asking, for every key of either side,
whether the other side has it, from two sets and into two lists. Processor time, the fastest of
``--repeat`` rounds; rounds of all cases alternate. Nothing is kept between two rounds.

A diff makes its rows when they are looked at. ``every row made`` looks at all of them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ruda.models import get
from ruda.nn import ModuleSpec
from ruda.store import Recipe, TensorIndex, TensorSnapshot, convert, diff
from ruda.store.snapshot import ArraySource
from ruda.tensor import DType

KINDS = ("Struct:Model", "Struct:Linear")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=93)
    parser.add_argument("--experts", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args(argv)
    keys = list(_keys(arguments.layers, arguments.experts))
    rows = _run(keys, arguments.repeat)
    print(f"{len(keys):,} tensors on either side")
    for row in rows:
        print(
            f"{row['name']:<28}{row['seconds'] * 1000:>10.1f} ms{row['ratio']:>9.1f} × plain pass"
        )
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"bench": "diff", "rows": rows}, indent=2) + "\n")
    return 0


def _keys(layers: int, experts: int) -> Iterator[str]:
    for layer in range(layers):
        for expert in range(experts):
            for name in ("gate_proj", "up_proj", "down_proj"):
                yield f"model.layers.{layer}.mlp.experts.{expert}.{name}.weight"
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            yield f"model.layers.{layer}.self_attn.{name}.weight"


def _index(keys: Sequence[str], prefix: str = "") -> TensorIndex:
    source = ArraySource(np.zeros((64, 32), np.uint16))
    snapshots = (
        TensorSnapshot(prefix + key, DType.BF16, (64, 32), 4096, source, containers=KINDS)
        for key in keys
    )
    return TensorIndex.of(snapshots, format="safetensors")


def _mapped(least: int) -> tuple[TensorIndex, TensorIndex, Recipe]:
    """A Llama of as many tensors, as Ruda (and Meta) and as Hugging Face name it; and the way."""
    params = list(ModuleSpec.of(get("llama").build(layers=1)))
    at = [param.key.startswith("layers.") for param in params].index(True)
    layer = [param for param in params if param.key.startswith("layers.")]
    every = [
        param._replace(key=param.key.replace(".0.", f".{number}.", 1))
        for number in range(-(-least // len(layer)))
        for param in layer
    ]
    rest = [param for param in params if not param.key.startswith("layers.")]
    source = ArraySource(np.zeros(0, np.float32))
    snapshots = (
        TensorSnapshot(p.key, p.dtype, p.shape, 4, source, containers=p.containers)
        for p in (*rest[:at], *every, *rest[at:])
    )
    named = TensorIndex.of(snapshots, format="module")
    back = Recipe().with_adapt("ruda-to-hf-llama:8,4")
    plain = (
        TensorSnapshot(s.key, s.dtype, s.shape, 4, source)
        for s in convert(named, recipe=back).values()
    )
    return named, TensorIndex.of(plain, format="safetensors"), back


def _run(keys: Sequence[str], repeat: int) -> list[dict[str, Any]]:
    same, other, target = _index(keys), _index(keys, "module."), _index(keys)
    strange = _index([key.replace("_proj", "").replace("model.layers", "blocks") for key in keys])
    rule = Recipe().with_rule(r"^module\.", "")
    turned = rule.with_adapt("pytorch-to-ruda")
    named, mapped, back = _mapped(len(keys))
    regex = Recipe().with_rule(r"^module\.(\w+)\.layers\.(\d+)", "${1}.layers.${2}")
    work: dict[str, Callable[[], object]] = {
        "plain pass": lambda: _plain(same, target),
        "the same keys": lambda: diff(same, target),
        "a prefix, probed": lambda: diff(other, target),
        "a prefix and its rule": lambda: diff(other, target, recipe=rule),
        "rule and adapter": lambda: diff(other, target, recipe=turned),
        "a regex and its groups": lambda: diff(other, target, recipe=regex),
        "a name map": lambda: diff(mapped, named, recipe=back.reverse()[0]),
        "a name map, backwards": lambda: diff(named, mapped, recipe=back),
        "no key in common": lambda: diff(strange, target),
        "no key in common, adapter": lambda: diff(strange, target, recipe=turned),
        "families of the same keys": lambda: diff(same, target).families(),
        "families, rule and adapter": lambda: diff(other, target, recipe=turned).families(),
        "the same keys as text": lambda: str(diff(same, target)),
        "every row made": lambda: list(diff(other, target, recipe=turned).rows),
        "convert, rule and adapter": lambda: convert(other, recipe=turned),
    }
    rounds = [{name: _timed(job) for name, job in work.items()} for _ in range(repeat)]
    seconds = {name: min(each[name] for each in rounds) for name in work}
    families = len(diff(other, target, recipe=turned).families())
    print(f"{families} family rows")
    plain = seconds["plain pass"]
    return [{"name": n, "seconds": s, "ratio": s / plain} for n, s in seconds.items()]


def _plain(source: TensorIndex, target: TensorIndex) -> list[tuple[str, bool]]:
    here, there = set(source), set(target)
    return [(key, key in here) for key in target] + [(key, key in there) for key in source]


def _timed(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


if __name__ == "__main__":
    raise SystemExit(main())
