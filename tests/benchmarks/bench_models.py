"""The registered networks and their layers beside torch, one thread each, as ratios.

    python bench_models.py [--batches 1,32,256] [--rounds N] [--json FILE]

Both sides run the same random weights on the same input and must agree. They take turns in one
process and the least processor time of each counts, so that another program's load matters
little. A ratio above 1 means that Ruda is faster.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ruda import nn
from ruda.models import get
from ruda.tensor import Tensor

try:
    import torch
    from torch.nn import functional
except ImportError:
    torch = functional = None


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", default="1,32,256", help="batch sizes, separated by commas")
    parser.add_argument("--rounds", type=int, default=10, help="turns of each side")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args(argv)
    if torch is not None:
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
    rows = [
        measure(name, int(batch), arguments.rounds)
        for name in PEERS
        for batch in arguments.batches.split(",")
    ]
    print_table(rows)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"bench": "models", "rows": rows}, indent=2) + "\n")
    return 0


def measure(name: str, batch: int, rounds: int) -> dict[str, Any]:
    """Milliseconds per batch of both sides, and the slowest layers of ours."""
    architecture = get(name)
    model = architecture.build(seed=1)
    values = np.random.default_rng(0).standard_normal((batch, *architecture.input.shape))
    x = Tensor(values.astype(np.float32))
    work: dict[str, Callable[[], object]] = {"ruda": lambda: model(x)}
    if torch is not None:
        weights = {e.key: torch.from_numpy(np.array(e.param.value().numpy())) for e in model.walk()}
        given = torch.from_numpy(np.array(x.numpy()))
        work["torch"] = lambda: PEERS[name](given, weights)
        found = PEERS[name](given, weights).numpy()
        np.testing.assert_allclose(model(x).numpy(), found, rtol=1e-3, atol=1e-4)
    least = dict.fromkeys(work, float("inf"))
    for _ in range(rounds):
        for side, run in work.items():
            start = time.process_time()
            run()
            least[side] = min(least[side], time.process_time() - start)
    _, layers = nn.profile(model, x, clock=time.process_time)
    slowest = sorted(layers, key=lambda layer: -layer.seconds)[:3]
    return {
        "model": name,
        "batch": batch,
        **{f"{side}_ms": 1e3 * seconds for side, seconds in least.items()},
        "ratio": least["torch"] / least["ruda"] if "torch" in least else None,
        "slowest": [f"{layer.path} {1e3 * layer.seconds:.2f} ms" for layer in slowest],
    }


def torch_burn_mnist(x: Any, weights: dict[str, Any]) -> Any:
    for block in ("conv1", "conv2"):
        x = functional.conv2d(x, weights[f"{block}.conv.weight"], weights[f"{block}.conv.bias"])
        x = functional.max_pool2d(functional.relu(torch_norm(x, weights, f"{block}.norm")), 2)
    x = functional.gelu(torch_linear(x.flatten(1), weights, "fc1"))
    x = functional.gelu(torch_linear(x, weights, "fc2"))
    return torch_linear(x, weights, "fc3")


def torch_import_mnist(x: Any, weights: dict[str, Any]) -> Any:
    for layer in ("conv1", "conv2", "conv3"):
        x = functional.relu(
            functional.conv2d(x, weights[f"{layer}.weight"], weights[f"{layer}.bias"])
        )
    x = functional.relu(torch_linear(torch_norm(x, weights, "norm1").flatten(1), weights, "fc1"))
    x = torch_norm(torch_linear(x, weights, "fc2"), weights, "norm2")
    return functional.log_softmax(x, 1)


def torch_norm(x: Any, weights: dict[str, Any], path: str) -> Any:
    mean, variance, gamma, beta = (
        weights[f"{path}.{name}"] for name in ("running_mean", "running_var", "gamma", "beta")
    )
    return functional.batch_norm(x, mean, variance, gamma, beta)


def torch_linear(x: Any, weights: dict[str, Any], path: str) -> Any:
    return torch.addmm(weights[f"{path}.bias"], x, weights[f"{path}.weight"])


PEERS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "burn-mnist": torch_burn_mnist,
    "import-mnist": torch_import_mnist,
}


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    print(f"{'model':<14}{'batch':>6}{'ruda ms':>10}{'torch ms':>10}{'ratio':>8}  slowest layers")
    for row in rows:
        peer = "–" if row["ratio"] is None else f"{row['torch_ms']:.2f}"
        ratio = "–" if row["ratio"] is None else f"{row['ratio']:.2f}"
        print(
            f"{row['model']:<14}{row['batch']:>6}{row['ruda_ms']:>10.2f}{peer:>10}{ratio:>8}  "
            + ", ".join(row["slowest"])
        )


if __name__ == "__main__":
    raise SystemExit(main())
