"""Every module of torch's own module_db that Ruda has: its state_dict loads by the adapter alone.

    PYTHONPATH=core PYTHON_WITH_TORCH tests/oracles/check_torch_modules.py [--verbose]

For every constructor call that torch's test suite makes, the state_dict is saved as ``.pt``,
loaded into the module of Ruda's by ``pytorch-to-ruda`` with no other rule, and taken back by
``ruda-to-pytorch``; every value must come back in its place. Transformers must also give torch's
results. No part of the test suite: torch is
no dependency. Exit code 1 if a call fails.
"""

# ruff: noqa: BLE001, T201
from __future__ import annotations

import argparse
import sys
import tempfile
import types
import unittest
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

# torch's test utilities import a package for expected output, which is not used here.
_EXPECT = types.ModuleType("expecttest")
_EXPECT.TestCase = unittest.TestCase  # type: ignore[attr-defined]
_EXPECT.assert_expected_inline = lambda *args, **kwargs: None  # type: ignore[attr-defined]
sys.modules.setdefault("expecttest", _EXPECT)
warnings.simplefilter("ignore")

import torch  # noqa: E402
from torch.testing._internal.common_modules import module_db  # noqa: E402

from ruda import nn  # noqa: E402
from ruda.store import Recipe, apply, collect, convert, diff, open_store  # noqa: E402
from ruda.tensor import Tensor  # noqa: E402

TO_RUDA = Recipe(adapt=("pytorch-to-ruda",))
TO_PYTORCH = Recipe(adapt=("ruda-to-pytorch",))


class UnlikeError(Exception):
    """Ruda has the module, but not with these settings."""


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise UnlikeError(reason)


def batch_norm(m: Any) -> nn.Module:
    _require(m.affine and m.track_running_stats, "no gamma and beta, or no statistics")
    _require(m.bias is not None, "gamma alone")
    return nn.BatchNorm(m.num_features)


def layer_norm(m: Any) -> nn.Module:
    _require(len(m.normalized_shape) == 1, "more than one axis")
    _require(m.elementwise_affine, "no gamma and beta")
    return nn.LayerNorm(m.normalized_shape[0], bias=m.bias is not None)


def rms_norm(m: Any) -> nn.Module:
    _require(len(m.normalized_shape) == 1, "more than one axis")
    _require(m.elementwise_affine, "no gamma")
    return nn.RmsNorm(m.normalized_shape[0])


def group_norm(m: Any) -> nn.Module:
    _require(not m.affine or m.bias is not None, "gamma alone")
    return nn.GroupNorm(m.num_groups, m.num_channels, affine=m.affine)


def instance_norm(m: Any) -> nn.Module:
    _require(not m.track_running_stats, "running statistics")
    _require(not m.affine or m.bias is not None, "gamma alone")
    return nn.InstanceNorm(m.num_features, affine=m.affine)


def convolution(m: Any) -> nn.Module:
    _require(m.padding_mode == "zeros", f"padding mode {m.padding_mode}")
    make = getattr(nn, type(m).__name__.replace("Lazy", ""))
    kernel = m.kernel_size if len(m.kernel_size) > 1 else m.kernel_size[0]
    settings = {"groups": m.groups, "bias": m.bias is not None}
    return make(m.in_channels, m.out_channels, kernel, **settings)


def recurrent(m: Any) -> nn.Module:
    _require(not getattr(m, "proj_size", 0), "a projection of the hidden state")
    kind = type(m).__name__.replace("Cell", "").capitalize()
    ways = 2 if getattr(m, "bidirectional", False) else 1
    make = getattr(nn, ("Bi" if ways == 2 else "") + kind)
    bias = bool(m.bias)
    layers = getattr(m, "num_layers", 1)
    if layers == 1:
        return make(m.input_size, m.hidden_size, bias=bias)
    holder = nn.Module()
    holder.part = [  # type: ignore[attr-defined]
        make(m.hidden_size * ways if at else m.input_size, m.hidden_size, bias=bias)
        for at in range(layers)
    ]
    return holder


def attention(m: Any) -> nn.Module:
    _require(m.bias_k is None, "a bias of its own for keys and values")
    _require(m.kdim == m.embed_dim == m.vdim, "keys or values of another width")
    return nn.MultiHeadAttention(m.embed_dim, m.num_heads, bias=m.in_proj_bias is not None)


def _settings(layer: Any) -> nn.TransformerSettings:
    activation = "relu" if layer.activation in (torch.relu, torch.nn.functional.relu) else "gelu"
    return nn.TransformerSettings(
        layer.self_attn.embed_dim,
        layer.linear1.out_features,
        layer.self_attn.num_heads,
        norm_first=layer.norm_first,
        activation=activation,
        bias=layer.linear1.bias is not None,
    )


def transformer_layer(m: Any) -> nn.Module:
    return getattr(nn, type(m).__name__)(_settings(m))


def transformer_stack(m: Any) -> nn.Module:
    make = getattr(nn, type(m).__name__)
    return make(_settings(m.layers[0]), m.num_layers, final_norm=m.norm is not None)


def transformer(m: Any) -> nn.Module:
    encoder, decoder = m.encoder, m.decoder
    return nn.Transformer(_settings(encoder.layers[0]), encoder.num_layers, decoder.num_layers)


def _convolutions(*dims: int) -> dict[str, Callable[[Any], nn.Module]]:
    return {
        f"{lazy}{stem}{dim}d": convolution
        for dim in dims
        for stem in ("Conv", "ConvTranspose")
        for lazy in ("", "Lazy")
    }


POOLS = ("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool")


def pool(m: Any) -> nn.Module:
    return getattr(nn, type(m).__name__)(1)


OURS: dict[str, Callable[[Any], nn.Module]] = {
    "Linear": lambda m: nn.Linear(m.in_features, m.out_features, bias=m.bias is not None),
    "Bilinear": lambda m: nn.Bilinear(
        m.in1_features, m.in2_features, m.out_features, bias=m.bias is not None
    ),
    "Embedding": lambda m: nn.Embedding(m.num_embeddings, m.embedding_dim),
    "PReLU": lambda m: nn.PRelu(m.num_parameters),
    "GroupNorm": group_norm,
    "LayerNorm": layer_norm,
    "RMSNorm": rms_norm,
    **{f"BatchNorm{d}d": batch_norm for d in (1, 2, 3)},
    **{f"InstanceNorm{d}d": instance_norm for d in (1, 2, 3)},
    **_convolutions(1, 2, 3),
    **dict.fromkeys(("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"), recurrent),
    "MultiheadAttention": attention,
    "TransformerEncoderLayer": transformer_layer,
    "TransformerDecoderLayer": transformer_layer,
    "TransformerEncoder": transformer_stack,
    "TransformerDecoder": transformer_stack,
    "Transformer": transformer,
    # Nothing to load: an empty file into a module without parameters.
    "ReLU": lambda m: nn.Relu(),
    "ReLU6": lambda m: nn.Relu6(),
    "SiLU": lambda m: nn.Silu(),
    "GELU": lambda m: nn.Gelu(),
    **{f"{kind}{d}d": pool for kind in POOLS for d in (1, 2, 3)},
}


def encoded(ours: Any, module: Any) -> tuple[np.ndarray, Any]:
    width = module.linear1.in_features if hasattr(module, "linear1") else _width(module)
    x = torch.randn(2, 5, width)
    return ours(Tensor.from_data(x.numpy())).numpy(), _batch_first(module, x)


def _width(stack: Any) -> int:
    return int(stack.layers[0].linear1.in_features)


def _batch_first(module: Any, *given: Any) -> Any:
    """What the module makes of inputs whose first axis is the batch."""
    inner = module.layers[0] if hasattr(module, "layers") else module
    inner = inner.encoder.layers[0] if hasattr(inner, "encoder") else inner
    if inner.self_attn.batch_first:
        return module(*given)
    return module(*(x.transpose(0, 1) for x in given)).transpose(0, 1)


def decoded(ours: Any, module: Any) -> tuple[np.ndarray, Any]:
    width = module.linear1.in_features if hasattr(module, "linear1") else _width(module)
    x, memory = torch.randn(2, 5, width), torch.randn(2, 4, width)
    found = ours.forward_with_memory(Tensor.from_data(x.numpy()), Tensor.from_data(memory.numpy()))
    return found.numpy(), _batch_first(module, x, memory)


def translated(ours: Any, module: Any) -> tuple[np.ndarray, Any]:
    x, source = torch.randn(2, 5, module.d_model), torch.randn(2, 4, module.d_model)
    hidden = np.triu(np.ones((5, 5), bool), 1)
    padding = np.array([[False] * 4, [False, False, True, True]])
    found = ours.forward_with_source(
        Tensor.from_data(x.numpy()),
        Tensor.from_data(source.numpy()),
        source_mask_pad=padding,
        target_mask_attn=hidden,
        memory_mask_pad=padding,
    )
    pad = torch.from_numpy(padding)
    masks = {"src_key_padding_mask": pad, "memory_key_padding_mask": pad}
    masks["tgt_mask"] = torch.from_numpy(hidden)
    if module.batch_first:
        return found.numpy(), module(source, x, **masks)
    given = source.transpose(0, 1), x.transpose(0, 1)
    return found.numpy(), module(*given, **masks).transpose(0, 1)


RESULTS: dict[str, Callable[[Any, Any], tuple[np.ndarray, Any]]] = {
    "TransformerEncoderLayer": encoded,
    "TransformerEncoder": encoded,
    "TransformerDecoderLayer": decoded,
    "TransformerDecoder": decoded,
    "Transformer": translated,
}
"""Modules of several parts, whose results are compared as well: ours and torch's."""


def check(module: Any, ours: nn.Module, path: Path) -> None:
    """Raises if a value of the state_dict does not load, or does not come back."""
    inner = module
    if hasattr(ours, "part"):  # several layers: PyTorch's module is a field of ours
        inner = torch.nn.Module()
        inner.part = module
    state = inner.state_dict()
    torch.save(state, path)
    with open_store(path) as source:
        report = diff(source, ours, recipe=TO_RUDA)
        if not report.is_clean or not report.totals_hold:
            raise AssertionError(str(report))
        apply(source, ours, recipe=TO_RUDA)
    if type(module).__name__ in RESULTS:
        module.eval()
        with torch.no_grad():
            result, expected = RESULTS[type(module).__name__](ours, module)
        np.testing.assert_allclose(result, expected.numpy(), rtol=1e-4, atol=1e-5)
    back = convert(collect(ours), recipe=TO_PYTORCH, target=ours)
    wanted = {k: v.numpy() for k, v in state.items() if not k.endswith("num_batches_tracked")}
    cells = type(module).__name__.endswith("Cell")
    found = {k.removesuffix("_l0") if cells else k: s.read() for k, s in back.items()}
    if set(found) != set(wanted):
        raise AssertionError(f"came back as {sorted(found)}, expected {sorted(wanted)}")
    for key, values in wanted.items():
        np.testing.assert_array_equal(found[key], values, err_msg=key)


def samples(info: Any, training: bool) -> list[Any]:
    """The constructor calls of torch's test suite; none where it makes none on the CPU."""
    try:
        return list(
            info.module_inputs_func(
                info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
            )
        )
    except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
        print(f"{info.name}: no samples: {error}", file=sys.stderr)
        return []


def main() -> int:
    """Print a line for each module and the counts; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--verbose", action="store_true", help="also say what was left out")
    options = parser.parse_args()
    torch.manual_seed(0)
    good: Counter[str] = Counter()
    bad: Counter[str] = Counter()
    unlike: dict[str, Counter[str]] = defaultdict(Counter)
    absent: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.pt"
        for info in module_db:
            name = info.module_cls.__name__
            if name not in OURS:
                absent.add(name)
                continue
            for sample in (s for mode in (True, False) for s in samples(info, mode)):
                call = sample.constructor_input
                module = info.module_cls(*call.args, **call.kwargs)
                if any(isinstance(p, torch.nn.UninitializedParameter) for p in module.parameters()):
                    given = sample.forward_input
                    module(*given.args, **given.kwargs)
                try:
                    check(module, OURS[type(module).__name__](module), path)
                except UnlikeError as reason:
                    unlike[name][str(reason)] += 1
                except Exception as error:  # every failure is one to report
                    bad[name] += 1
                    print(f"{name}{call.args}{call.kwargs}: {error}", file=sys.stderr)
                else:
                    good[name] += 1
    for name in sorted({*good, *bad, *unlike}):
        left = ", ".join(f"{count} with {why}" for why, count in unlike[name].items())
        print(
            f"{name:28} {good[name]:4} loaded {bad[name]:3} failed"
            + (f"   ({left})" if left else "")
        )
    kinds = sum(1 for name in good if not bad[name])
    print(
        f"{kinds} of {len(good.keys() | bad.keys())} modules, {good.total()} calls loaded, "
        f"{bad.total()} failed; {sum(c.total() for c in unlike.values())} calls with settings "
        f"that Ruda has not; {len(absent)} modules of {len(module_db)} that Ruda has not"
    )
    if options.verbose:
        print("not in Ruda:", ", ".join(sorted(absent)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
