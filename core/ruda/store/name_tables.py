"""The name maps there are: Hugging Face's, timm's and torchvision's names of Ruda's architectures.

Read off the modules of transformers 5.24, timm 1.0.31 and torchvision 0.29, and off the files that
``save_pretrained`` writes; ``tests/oracles/check_architectures.py`` compares them with these.
ResNets of torchvision and timm and torchvision's MobileNetV2 have no map: Ruda's field names are
theirs, and ``pytorch-to-ruda`` does the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from ruda.store.name_map import NameMap, Row

_HEADS = "no tensor says the number of heads: see config.json"


def _bert() -> NameMap:
    layer, there = "encoder.layers.*", "encoder.layer.*"
    return NameMap(
        "hf-bert",
        "Hugging Face's BERT",
        (
            *(
                Row(f"embeddings.{name}_embeddings", f"embeddings.{name}_embeddings", "Embedding")
                for name in ("word", "position", "token_type")
            ),
            Row("embeddings.norm", "embeddings.LayerNorm", "LayerNorm"),
            *(
                Row(f"{layer}.mha.{name}", f"{there}.attention.self.{name}", "Linear")
                for name in ("query", "key", "value")
            ),
            Row(f"{layer}.mha.output", f"{there}.attention.output.dense", "Linear"),
            Row(f"{layer}.norm_1", f"{there}.attention.output.LayerNorm", "LayerNorm"),
            Row(f"{layer}.pwff.linear_inner", f"{there}.intermediate.dense", "Linear"),
            Row(f"{layer}.pwff.linear_outer", f"{there}.output.dense", "Linear"),
            Row(f"{layer}.norm_2", f"{there}.output.LayerNorm", "LayerNorm"),
            Row("pooler", "pooler.dense", "Linear"),
        ),
        (
            "embeddings.word_embeddings.weight",
            "embeddings.token_type_embeddings.weight",
            "encoder.layer.0.attention.self.query.weight",
        ),
        ("", "bert."),
        note=_HEADS,
    )


def _gpt2() -> NameMap:
    layer, there = "encoder.layers.*", "h.*"
    return NameMap(
        "hf-gpt2",
        "Hugging Face's GPT-2",
        (
            Row("token_embeddings", "wte", "Embedding"),
            Row("position_embeddings", "wpe", "Embedding"),
            # Norms come first: Burn's norm_2 is before attention, norm_1 before feed-forward.
            Row(f"{layer}.norm_2", f"{there}.ln_1", "LayerNorm"),
            *(
                Row(f"{layer}.mha.{name}", f"{there}.attn.c_attn", "Conv1D", at, 3)
                for at, name in enumerate(("query", "key", "value"))
            ),
            Row(f"{layer}.mha.output", f"{there}.attn.c_proj", "Conv1D"),
            Row(f"{layer}.norm_1", f"{there}.ln_2", "LayerNorm"),
            Row(f"{layer}.pwff.linear_inner", f"{there}.mlp.c_fc", "Conv1D"),
            Row(f"{layer}.pwff.linear_outer", f"{there}.mlp.c_proj", "Conv1D"),
            Row("norm", "ln_f", "LayerNorm"),
            Row("head", "lm_head", "Linear", outside=True, tied_to="token_embeddings"),
        ),
        ("wte.weight", "wpe.weight", "h.0.attn.c_attn.weight", "h.0.mlp.c_fc.weight"),
        ("", "transformer."),
        note=_HEADS,
    )


def _llama() -> NameMap:
    layer, there = "layers.*", "layers.*"
    attention, apart = f"{layer}.attention", f"{there}.self_attn"
    return NameMap(
        "hf-llama",
        "Hugging Face's Llama, Mistral, Qwen2 and Qwen3",
        (
            Row("tok_embeddings", "embed_tokens", "Embedding"),
            Row(f"{attention}.wq", f"{apart}.q_proj", "Linear", rotary="query"),
            Row(f"{attention}.wk", f"{apart}.k_proj", "Linear", rotary="key"),
            Row(f"{attention}.wv", f"{apart}.v_proj", "Linear"),
            Row(f"{attention}.wo", f"{apart}.o_proj", "Linear"),
            Row(f"{attention}.q_norm", f"{apart}.q_norm", "RmsNorm", rotary="norm"),
            Row(f"{attention}.k_norm", f"{apart}.k_norm", "RmsNorm", rotary="norm"),
            Row(f"{layer}.feed_forward.w1", f"{there}.mlp.gate_proj", "Linear"),
            Row(f"{layer}.feed_forward.w2", f"{there}.mlp.down_proj", "Linear"),
            Row(f"{layer}.feed_forward.w3", f"{there}.mlp.up_proj", "Linear"),
            Row(f"{layer}.attention_norm", f"{there}.input_layernorm", "RmsNorm"),
            Row(f"{layer}.ffn_norm", f"{there}.post_attention_layernorm", "RmsNorm"),
            Row("norm", "norm", "RmsNorm"),
            Row("output", "lm_head", "Linear", outside=True, tied_to="tok_embeddings"),
        ),
        (
            "embed_tokens.weight",
            "layers.0.self_attn.q_proj.weight",
            "layers.0.mlp.gate_proj.weight",
            "layers.0.post_attention_layernorm.weight",
        ),
        ("model.", ""),
        note="no tensor says the base and scaling of rotary positions and the norms' epsilon: "
        "see rope_theta, rope_scaling (which is not computed) and rms_norm_eps in config.json",
    )


def _hf_resnet() -> NameMap:
    def pair(conv: str, norm: str, there: str) -> tuple[Row, Row]:
        return (
            Row(conv, f"{there}.convolution", "Conv2d"),
            Row(norm, f"{there}.normalization", "BatchNorm"),
        )

    rows = [*pair("conv1", "bn1", "embedder.embedder")]
    for stage in range(4):
        here, there = f"layer{stage + 1}.*", f"encoder.stages.{stage}.layers.*"
        for at in range(3):
            rows += pair(f"{here}.conv{at + 1}", f"{here}.bn{at + 1}", f"{there}.layer.{at}")
        rows += pair(f"{here}.downsample.0", f"{here}.downsample.1", f"{there}.shortcut")
    rows.append(Row("fc", "classifier.1", "Linear", outside=True))
    return NameMap(
        "hf-resnet",
        "Hugging Face's ResNet",
        tuple(rows),
        (
            "embedder.embedder.convolution.weight",
            "encoder.stages.0.layers.0.layer.0.convolution.weight",
        ),
        ("resnet.", ""),
    )


_MOBILE_BLOCKS = (1, 2, 3, 4, 3, 3, 1)
"""Blocks of the stages of a MobileNetV2."""


def _mobile_blocks() -> Iterator[tuple[int, int, int]]:
    """Place in ``features``, stage and place in the stage of every block but the first."""
    place = 2
    for stage, count in enumerate(_MOBILE_BLOCKS):
        for at in range(count):
            if stage:
                yield place, stage, at
                place += 1


def _mobile_rows(steps: list[tuple[str, str, str, str]]) -> Iterator[Row]:
    """Rows of pairs of a convolution and a norm: here, then elsewhere."""
    for conv, norm, conv_there, norm_there in steps:
        yield Row(conv, conv_there, "Conv2d")
        yield Row(norm, norm_there, "BatchNorm")


def _timm_mobilenet() -> NameMap:
    steps = [("features.0.0", "features.0.1", "conv_stem", "bn1")]
    first, there = "features.1.conv", "blocks.0.0"
    steps += [
        (f"{first}.0.0", f"{first}.0.1", f"{there}.conv_dw", f"{there}.bn1"),
        (f"{first}.1", f"{first}.2", f"{there}.conv_pw", f"{there}.bn2"),
    ]
    for place, stage, at in _mobile_blocks():
        here, there = f"features.{place}.conv", f"blocks.{stage}.{at}"
        steps += [
            (f"{here}.0.0", f"{here}.0.1", f"{there}.conv_pw", f"{there}.bn1"),
            (f"{here}.1.0", f"{here}.1.1", f"{there}.conv_dw", f"{there}.bn2"),
            (f"{here}.2", f"{here}.3", f"{there}.conv_pwl", f"{there}.bn3"),
        ]
    steps.append(("features.18.0", "features.18.1", "conv_head", "bn2"))
    return NameMap(
        "timm-mobilenet-v2",
        "timm's MobileNetV2",
        (*_mobile_rows(steps), Row("classifier.1", "classifier", "Linear")),
        (
            "conv_stem.weight",
            "blocks.0.0.conv_dw.weight",
            "blocks.6.0.conv_pwl.weight",
            "conv_head.weight",
        ),
    )


def _hf_mobilenet() -> NameMap:
    def step(conv: str, norm: str, there: str) -> tuple[str, str, str, str]:
        return conv, norm, f"{there}.convolution", f"{there}.normalization"

    first = "features.1.conv"
    steps = [
        step("features.0.0", "features.0.1", "conv_stem.first_conv"),
        step(f"{first}.0.0", f"{first}.0.1", "conv_stem.conv_3x3"),
        step(f"{first}.1", f"{first}.2", "conv_stem.reduce_1x1"),
    ]
    for place, _, _ in _mobile_blocks():
        here, there = f"features.{place}.conv", f"layer.{place - 2}"
        steps += [
            step(f"{here}.0.0", f"{here}.0.1", f"{there}.expand_1x1"),
            step(f"{here}.1.0", f"{here}.1.1", f"{there}.conv_3x3"),
            step(f"{here}.2", f"{here}.3", f"{there}.reduce_1x1"),
        ]
    steps.append(step("features.18.0", "features.18.1", "conv_1x1"))
    return NameMap(
        "hf-mobilenet-v2",
        "Hugging Face's MobileNetV2",
        (*_mobile_rows(steps), Row("classifier.1", "classifier", "Linear", outside=True)),
        ("conv_stem.first_conv.convolution.weight", "layer.0.expand_1x1.convolution.weight"),
        ("mobilenet_v2.", ""),
        note="results are Hugging Face's with the settings eps=3 tf=1",
    )


def _hf_vit() -> NameMap:
    # Files say encoder.layer; transformers 5 says layers in memory, and keeps writing the former.
    layer, there, new = "encoder.layers.*", "encoder.layer.*", "layers.*"
    return NameMap(
        "hf-vit",
        "Hugging Face's ViT",
        (
            Row("class_token", "embeddings.cls_token"),
            Row("position_embeddings", "embeddings.position_embeddings"),
            Row("patches", "embeddings.patch_embeddings.projection", "Conv2d"),
            *(
                Row(
                    f"{layer}.mha.{name}",
                    (
                        f"{there}.attention.attention.{name}",
                        f"{new}.attention.{name[0]}_proj",
                    ),
                    "Linear",
                )
                for name in ("query", "key", "value")
            ),
            Row(
                f"{layer}.mha.output",
                (f"{there}.attention.output.dense", f"{new}.attention.o_proj"),
                "Linear",
            ),
            Row(
                f"{layer}.pwff.linear_inner",
                (f"{there}.intermediate.dense", f"{new}.mlp.fc1"),
                "Linear",
            ),
            Row(
                f"{layer}.pwff.linear_outer", (f"{there}.output.dense", f"{new}.mlp.fc2"), "Linear"
            ),
            # Norms come first: Burn's norm_2 is before attention, norm_1 before feed-forward.
            Row(
                f"{layer}.norm_2",
                (f"{there}.layernorm_before", f"{new}.layernorm_before"),
                "LayerNorm",
            ),
            Row(
                f"{layer}.norm_1",
                (f"{there}.layernorm_after", f"{new}.layernorm_after"),
                "LayerNorm",
            ),
            Row("norm", "layernorm", "LayerNorm"),
            Row("head", "classifier", "Linear", outside=True),
        ),
        ("embeddings.cls_token", "embeddings.patch_embeddings.projection.weight"),
        ("vit.", ""),
        note=f"results are Hugging Face's with the setting eps=12; {_HEADS}",
    )


def _timm_vit() -> NameMap:
    layer, there = "encoder.layers.*", "blocks.*"
    return NameMap(
        "timm-vit",
        "timm's ViT",
        (
            Row("class_token", "cls_token"),
            Row("position_embeddings", "pos_embed"),
            Row("patches", "patch_embed.proj", "Conv2d"),
            Row(f"{layer}.norm_2", f"{there}.norm1", "LayerNorm"),
            *(
                Row(f"{layer}.mha.{name}", f"{there}.attn.qkv", "Linear", at, 3)
                for at, name in enumerate(("query", "key", "value"))
            ),
            Row(f"{layer}.mha.output", f"{there}.attn.proj", "Linear"),
            Row(f"{layer}.norm_1", f"{there}.norm2", "LayerNorm"),
            Row(f"{layer}.pwff.linear_inner", f"{there}.mlp.fc1", "Linear"),
            Row(f"{layer}.pwff.linear_outer", f"{there}.mlp.fc2", "Linear"),
            Row("norm", "norm", "LayerNorm"),
            Row("head", "head", "Linear"),
        ),
        ("cls_token", "pos_embed", "patch_embed.proj.weight", "blocks.0.attn.qkv.weight"),
        note="no tensor says the number of heads: 3 for a width of 192, 6 for 384, 12 for 768",
    )


def _torchvision_vit() -> NameMap:
    layer, there = "encoder.layers.*", "encoder.layers.encoder_layer_*"
    attention = f"{there}.self_attention"
    return NameMap(
        "torchvision-vit",
        "torchvision's ViT",
        (
            Row("class_token", "class_token"),
            Row("position_embeddings", "encoder.pos_embedding"),
            Row("patches", "conv_proj", "Conv2d"),
            Row(f"{layer}.norm_2", f"{there}.ln_1", "LayerNorm"),
            *(
                Row(f"{layer}.mha.{name}", f"{attention}.in_proj_{{}}", "Linear", at, 3)
                for at, name in enumerate(("query", "key", "value"))
            ),
            Row(f"{layer}.mha.output", f"{attention}.out_proj", "Linear"),
            Row(f"{layer}.norm_1", f"{there}.ln_2", "LayerNorm"),
            # Files from before torchvision 0.13 say linear_1 and linear_2.
            Row(
                f"{layer}.pwff.linear_inner",
                (f"{there}.mlp.0", f"{there}.mlp.linear_1"),
                "Linear",
            ),
            Row(
                f"{layer}.pwff.linear_outer",
                (f"{there}.mlp.3", f"{there}.mlp.linear_2"),
                "Linear",
            ),
            Row("norm", "encoder.ln", "LayerNorm"),
            Row("head", "heads.head", "Linear"),
        ),
        (
            "class_token",
            "conv_proj.weight",
            "encoder.layers.encoder_layer_0.self_attention.in_proj_weight",
        ),
        note="no tensor says the number of heads: 12 for a width of 768, 16 for 1024 and 1280",
    )


def _llama2c() -> NameMap:
    layer = "layers.*"
    once = {"tok_embeddings": "Embedding", "norm": "RmsNorm", "output": "Matrix"}
    attention = {f"attention.{name}": name for name in ("wq", "wk", "wv", "wo")}
    forward = {f"feed_forward.{name}": name for name in ("w1", "w2", "w3")}
    return NameMap(
        "llama2c",
        "llama2.c's files",
        (
            *(
                Row(
                    name,
                    f"{name}!",
                    kind,
                    tied_to="tok_embeddings" if name == "output" else "",
                )
                for name, kind in once.items()
            ),
            *(
                Row(f"{layer}.{here}", f"{there}!", "Matrix", is_stacked=True)
                for here, there in (attention | forward).items()
            ),
            *(
                Row(f"{layer}.{name}", f"{name}!", "RmsNorm", is_stacked=True)
                for name in ("attention_norm", "ffn_norm")
            ),
        ),
        ("tok_embeddings", "attention_norm", "wq", "w1", "ffn_norm"),
    )


_MAKERS = {
    "hf-bert": _bert,
    "hf-gpt2": _gpt2,
    "hf-llama": _llama,
    "hf-resnet": _hf_resnet,
    "hf-mobilenet-v2": _hf_mobilenet,
    "hf-vit": _hf_vit,
    "llama2c": _llama2c,
    "timm-mobilenet-v2": _timm_mobilenet,
    "timm-vit": _timm_vit,
    "torchvision-vit": _torchvision_vit,
}

NAME_MAPS: tuple[str, ...] = tuple(_MAKERS)
"""Names of the maps, in the order in which they are listed."""


@cache
def name_map(name: str) -> NameMap:
    """The map of this name, compiled when first asked for. Raises KeyError for a name of none."""
    return _MAKERS[name]()
