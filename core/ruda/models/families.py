"""Settings of architectures out of what a file holds: shapes, and the config.json beside it.

One function per family: it looks at shapes under Ruda's keys and returns what they say. What only
a configuration says (heads, the epsilon of norms) is taken from there and is left open without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ruda.models.mobilenet import rounded

Shapes = Mapping[str, tuple[int, ...]]
Config = Mapping[str, Any]


@dataclass(slots=True)
class Sizes:
    """What was found out about a model of one family."""

    names: tuple[str, ...]
    """The registered architectures of the family."""
    shaped: dict[str, int] = field(default_factory=dict)
    """Settings that follow from shapes."""
    configured: dict[str, int] = field(default_factory=dict)
    """Settings that the configuration says."""
    left: list[str] = field(default_factory=list)
    """Settings that nothing says."""
    doubts: list[str] = field(default_factory=list)
    """What the configuration asks for and Ruda does not do, in sentences."""

    def take(self, setting: str, value: object) -> None:
        """A setting out of the configuration; left open where it is no whole number."""
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            self.configured[setting] = value
        else:
            self.left.append(setting)

    def take_exponent(self, setting: str, value: object) -> None:
        """A power of ten out of the configuration, as minus its exponent."""
        if isinstance(value, float) and 0 < value < 1:
            exponent = round(-math.log10(value))
            if math.isclose(10.0**-exponent, value, rel_tol=1e-6):
                self.configured[setting] = exponent
                return
            self.doubts.append(f"an epsilon of {value:g} is no power of ten")
        self.left.append(setting)


def layers_of(shapes: Shapes, before: str) -> int:
    """Number of members of the list under a key."""
    numbers = (key[len(before) :].partition(".")[0] for key in shapes if key.startswith(before))
    # Longer ones are no layers, and very long ones are slow to read.
    sound = (int(n) for n in numbers if n.isascii() and n.isdigit() and len(n) < 9)
    return max(sound, default=-1) + 1


def bert(shapes: Shapes, config: Config) -> Sizes | None:
    """Of a BERT, or None."""
    words = shapes.get("embeddings.word_embeddings.weight", ())
    inner = shapes.get("encoder.layers.0.pwff.linear_inner.weight", ())
    places = shapes.get("embeddings.position_embeddings.weight", ())
    types = shapes.get("embeddings.token_type_embeddings.weight", ())
    if not len(words) == len(inner) == len(places) == len(types) == 2:
        return None
    found = Sizes(("bert-base", "minilm-l6"))
    found.shaped = {
        "hidden": words[1],
        "layers": layers_of(shapes, "encoder.layers."),
        "ff": inner[1],
        "vocab": words[0],
        "positions": places[0],
        "types": types[0],
        "pooler": int("pooler.weight" in shapes),
    }
    found.take("heads", config.get("num_attention_heads"))
    found.take_exponent("eps", config.get("layer_norm_eps"))
    _expect(found, config, "hidden_act", "gelu")
    _expect(found, config, "position_embedding_type", "absolute")
    return found


def gpt2(shapes: Shapes, config: Config) -> Sizes | None:
    """Of a GPT-2, or None."""
    words = shapes.get("token_embeddings.weight", ())
    inner = shapes.get("encoder.layers.0.pwff.linear_inner.weight", ())
    places = shapes.get("position_embeddings.weight", ())
    if not len(words) == len(inner) == len(places) == 2:
        return None
    found = Sizes(("gpt2",))
    found.shaped = {
        "hidden": words[1],
        "layers": layers_of(shapes, "encoder.layers."),
        "ff": inner[1],
        "vocab": words[0],
        "positions": places[0],
        "tied": int("head.weight" not in shapes),
    }
    found.take("heads", config.get("n_head"))
    _expect(found, config, "activation_function", "gelu_new", "gelu_pytorch_tanh")
    _expect(found, config, "layer_norm_epsilon", 1e-5)
    _expect(found, config, "scale_attn_by_inverse_layer_idx", False)
    return found


def llama(shapes: Shapes, config: Config) -> Sizes | None:
    """Of a Llama or one of its kin, or None."""
    words = shapes.get("tok_embeddings.weight", ())
    first = "layers.0.attention."
    query, key = shapes.get(f"{first}wq.weight", ()), shapes.get(f"{first}wk.weight", ())
    gate = shapes.get("layers.0.feed_forward.w1.weight", ())
    if not len(words) == len(query) == len(key) == len(gate) == 2:
        return None
    found = Sizes(("llama", "tinyllama-1.1b", "qwen2-0.5b", "qwen3-0.6b"))
    found.shaped = {
        "dim": words[1],
        "layers": layers_of(shapes, "layers."),
        "hidden": gate[1],
        "vocab": words[0],
        "tied": int("output.weight" not in shapes),
        "bias": int(f"{first}wq.bias" in shapes),
        "qk_norm": int(f"{first}q_norm.gamma" in shapes),
    }
    _heads_of_llama(found, _head_width(shapes, first), query, key, config)
    rope = config.get("rope_parameters")
    rope = rope if isinstance(rope, dict) else {}
    theta = config.get("rope_theta", rope.get("rope_theta"))
    found.take("theta", int(theta) if isinstance(theta, float) and theta.is_integer() else theta)
    found.take_exponent("eps", config.get("rms_norm_eps"))
    _expect(found, config, "hidden_act", "silu")
    _expect(found, config, "rope_scaling", None)
    _expect(found, rope, "rope_type", "default")
    return found


def _head_width(shapes: Shapes, first: str) -> int:
    """Size of one head where a tensor has it: a norm of heads, or a table of half its angles."""
    norm = shapes.get(f"{first}q_norm.gamma", ())
    if len(norm) == 1:
        return norm[0]
    angles = shapes.get("freq_cis_real", ()) or shapes.get("rope.freqs", ())
    return 2 * angles[-1] if angles else 0


def _heads_of_llama(
    found: Sizes, width: int, query: tuple[int, ...], key: tuple[int, ...], config: Config
) -> None:
    """The heads: by the size of one where a tensor has it, else by the configuration."""
    dim = found.shaped["dim"]
    if width and not query[1] % width and not key[1] % width:
        found.shaped |= {"heads": query[1] // width, "kv_heads": key[1] // width}
        found.shaped["head_dim"] = 0 if query[1] == dim else width
        return
    heads = config.get("num_attention_heads")
    found.take("heads", heads)
    if isinstance(heads, int) and not isinstance(heads, bool) and heads > 0:
        width = query[1] // heads
        found.shaped["kv_heads"] = key[1] // max(1, width)
        found.shaped["head_dim"] = 0 if width * heads == dim else width
    else:
        # As few as the shapes allow: the columns that turn together cannot be told without.
        found.left.append("kv_heads")
        found.shaped |= {"heads": max(1, query[1] // max(1, key[1])), "kv_heads": 1, "head_dim": 0}


def resnet(shapes: Shapes, config: Config) -> Sizes | None:
    """Of a ResNet for large pictures, or None."""
    first, last = shapes.get("conv1.weight", ()), shapes.get("fc.weight", ())
    if first[1:] != (3, 7, 7) or len(last) != 2:
        return None
    is_deep = "layer1.0.conv3.weight" in shapes
    found = Sizes(("resnet50",) if is_deep else ("resnet18", "resnet34"))
    found.shaped = {"width": first[0], "classes": last[1]}
    for stage in range(1, 5):
        found.shaped[f"stage{stage}"] = layers_of(shapes, f"layer{stage}.")
    _expect(found, config, "hidden_act", "relu")
    _expect(found, config, "downsample_in_bottleneck", False)
    return found


_WIDTHS = (100, 140, 130, 120, 110, 75, 50, 35, 25, 10, *range(5, 301))
"""The usual ones first: close ones are the same network, as channels are multiples of 8."""


def mobilenet(shapes: Shapes, config: Config) -> Sizes | None:
    """Of a MobileNetV2, or None."""
    ends = [shapes.get(f"features.{at}.0.weight", (0,) * 4)[0] for at in (0, 18)]
    channels = [shapes.get(f"features.{at}.conv.3.weight", ()) for at in (2, 4, 7, 11, 14, 17)]
    norms = [shapes.get(f"features.{at}.conv.3.gamma", (0,))[0] for at in (2, 4, 7, 11, 14, 17)]
    head = shapes.get("classifier.1.weight", ())
    if not all(ends) or any(channels) or len(head) != 2:
        return None

    def fits(width: int) -> bool:
        wanted = [rounded(usual * width) for usual in (24, 32, 64, 96, 160, 320)]
        last = rounded(1280 * max(100, width))
        return [rounded(32 * width), last, *wanted] == [*ends, *norms]

    widths = [width for width in _WIDTHS if fits(width)]
    if not widths:
        return None
    found = Sizes(("mobilenet-v2",))
    found.shaped = {"width": widths[0], "classes": head[1]}
    if "depth_multiplier" in config or "tf_padding" in config:
        found.configured["tf"] = int(config.get("tf_padding") is not False)
        found.take_exponent("eps", config.get("layer_norm_eps", 1e-3))
    return found


def vit(shapes: Shapes, config: Config) -> Sizes | None:
    """Of a ViT, or None."""
    places, patches = shapes.get("position_embeddings", ()), shapes.get("patches.weight", ())
    inner = shapes.get("encoder.layers.0.pwff.linear_inner.weight", ())
    head = shapes.get("head.weight", ())
    if not (len(places) == 3 and len(patches) == 4 and len(inner) == len(head) == 2):
        return None
    side = math.isqrt(max(0, places[1] - 1))
    if side * side + 1 != places[1]:
        return None
    found = Sizes(("vit-b16",))
    found.shaped = {
        "hidden": places[2],
        "layers": layers_of(shapes, "encoder.layers."),
        "ff": inner[1],
        "image": side * patches[2],
        "patch": patches[2],
        "classes": head[1],
    }
    found.take("heads", config.get("num_attention_heads"))
    if "layer_norm_eps" in config:
        found.take_exponent("eps", config["layer_norm_eps"])
    _expect(found, config, "hidden_act", "gelu")
    return found


def _expect(found: Sizes, config: Config, name: str, *usual: object) -> None:
    """Note a doubt where the configuration says something else than what Ruda does."""
    if name in config and config[name] is not None and config[name] not in usual:
        found.doubts.append(
            f"{name} is {config[name]!r} in the configuration, which is not computed"
        )


FAMILIES: tuple[Callable[[Shapes, Config], Sizes | None], ...] = (
    bert,
    gpt2,
    llama,
    resnet,
    mobilenet,
    vit,
)


def sizes_of(shapes: Shapes, config: Config) -> Iterator[Sizes]:
    """What each family says that knows these keys."""
    for family in FAMILIES:
        found = family(shapes, config)
        if found is not None:
            yield found
