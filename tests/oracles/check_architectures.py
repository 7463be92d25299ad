"""Small models of transformers, timm and torchvision through Ruda's adapters, and their results.

    PYTHONPATH=core PYTHON_WITH_THEM tests/oracles/check_architectures.py [--write] [NAME…]

Every model is made by its own library, filled with values out of the names of its tensors, saved
as its users save it, loaded into Ruda's architecture by the adapter alone, and run: the results
must agree. Then it is saved back, which must give every key and every bit that the file had.
``--write`` keeps names, shapes and results in ``tests/golden/architectures``, by which the ordinary
tests check all of it without these libraries. Exit code 1 if a model fails.
"""

# ruff: noqa: BLE001, T201
from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import timm  # noqa: E402
import torch  # noqa: E402
import torchvision  # noqa: E402
import transformers as hf  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from timm.models.resnet import BasicBlock, Bottleneck  # noqa: E402

from ruda.models import get  # noqa: E402
from ruda.store import Recipe, apply, collect, convert, diff, open_store  # noqa: E402
from ruda.tensor import Tensor  # noqa: E402

GOLDEN = Path(__file__).parent.parent / "golden" / "architectures"
ATOL = 2e-5

_spec = importlib.util.spec_from_file_location("values", GOLDEN / "values.py")
assert _spec is not None
assert _spec.loader is not None
values = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(values)

hf.logging.set_verbosity_error()


@dataclass
class Case:
    """One model of another library, and what Ruda calls it."""

    make: Callable[[], Any]
    architecture: str
    settings: dict[str, int]
    adapt: str
    shape: tuple[int, ...]
    """Of the input: pictures, or tokens with two axes."""
    result: Callable[[Any], Any] = field(default=lambda out: out)
    """The tensor of results in what the model returns."""
    is_tiny: bool = True
    """False: too large for a golden."""


def states(out: Any) -> Any:
    """The last hidden states of a transformers model."""
    return out.last_hidden_state


def logits(out: Any) -> Any:
    """The logits of a transformers model."""
    return out.logits


BERT = {"hidden": 8, "layers": 2, "heads": 2, "ff": 12, "vocab": 11, "positions": 6}
GPT2 = {"hidden": 8, "layers": 2, "heads": 2, "ff": 32, "vocab": 11, "positions": 6}
LLAMA = {"dim": 16, "layers": 2, "heads": 4, "kv_heads": 2, "hidden": 12, "vocab": 11}
VIT = {"hidden": 8, "layers": 2, "heads": 2, "ff": 12, "image": 8, "patch": 4, "classes": 5}
DEPTHS = {"stage1": 1, "stage2": 2, "stage3": 1, "stage4": 1}
TEXT, PICTURE = (2, 5), (2, 3, 32, 32)


def bert_config() -> Any:
    return hf.BertConfig(
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=12,
        vocab_size=11,
        max_position_embeddings=6,
    )


def gpt2_config(**more: Any) -> Any:
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    return hf.GPT2Config(
        n_embd=8, n_layer=2, n_head=2, vocab_size=11, n_positions=6, **ends, **more
    )


def llama_sizes(**more: Any) -> dict[str, Any]:
    return {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 12,
        "vocab_size": 11,
        "pad_token_id": 0,
        "bos_token_id": 0,
        "eos_token_id": 0,
        **more,
    }


def hf_resnet(kind: str) -> Any:
    width = 4 if kind == "bottleneck" else 1
    config = hf.ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8 * width, 16 * width, 32 * width, 64 * width],
        depths=[1, 2, 1, 1],
        layer_type=kind,
        num_labels=5,
    )
    return hf.ResNetForImageClassification(config)


def timm_resnet(block: Any) -> Any:
    return timm.models.ResNet(block, [1, 2, 1, 1], num_classes=5)


def hf_vit() -> Any:
    config = hf.ViTConfig(
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=12,
        image_size=8,
        patch_size=4,
        num_labels=5,
    )
    return hf.ViTForImageClassification(config)


def timm_vit() -> Any:
    return timm.models.VisionTransformer(
        img_size=8, patch_size=4, embed_dim=8, depth=2, num_heads=2, mlp_ratio=1.5, num_classes=5
    )


def torchvision_vit() -> Any:
    return torchvision.models.VisionTransformer(8, 4, 2, 2, 8, 12, num_classes=5)


def hf_mobilenet() -> Any:
    return hf.MobileNetV2ForImageClassification(
        hf.MobileNetV2Config(depth_multiplier=0.1, num_labels=5)
    )


CASES: dict[str, Case] = {
    "hf-bert": Case(
        lambda: hf.BertModel(bert_config()), "bert-base", BERT, "hf-bert-to-ruda", TEXT, states
    ),
    "hf-bert-masked-lm": Case(
        lambda: hf.BertForMaskedLM(bert_config()),
        "bert-base",
        {**BERT, "pooler": 0},
        "hf-bert-to-ruda:bert.",
        TEXT,
        lambda out: out.hidden_states[-1],
    ),
    "hf-gpt2": Case(
        lambda: hf.GPT2LMHeadModel(gpt2_config()),
        "gpt2",
        GPT2,
        "hf-gpt2-to-ruda:transformer.",
        TEXT,
        logits,
    ),
    "hf-gpt2-untied": Case(
        lambda: hf.GPT2LMHeadModel(gpt2_config(tie_word_embeddings=False)),
        "gpt2",
        {**GPT2, "tied": 0},
        "hf-gpt2-to-ruda:transformer.",
        TEXT,
        logits,
    ),
    "hf-llama": Case(
        lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**llama_sizes(rms_norm_eps=1e-5))),
        "llama",
        LLAMA,
        "hf-llama-to-ruda",
        TEXT,
        logits,
    ),
    "hf-llama-tied": Case(
        lambda: hf.LlamaForCausalLM(
            hf.LlamaConfig(**llama_sizes(rms_norm_eps=1e-5, tie_word_embeddings=True))
        ),
        "llama",
        {**LLAMA, "tied": 1},
        "hf-llama-to-ruda",
        TEXT,
        logits,
    ),
    "hf-mistral": Case(
        lambda: hf.MistralForCausalLM(hf.MistralConfig(**llama_sizes(rms_norm_eps=1e-5))),
        "llama",
        LLAMA,
        "hf-llama-to-ruda",
        TEXT,
        logits,
    ),
    "hf-qwen2": Case(
        lambda: hf.Qwen2ForCausalLM(
            hf.Qwen2Config(**llama_sizes(tie_word_embeddings=True, rope_parameters=rope(1_000_000)))
        ),
        "qwen2-0.5b",
        LLAMA,
        "hf-llama-to-ruda",
        TEXT,
        logits,
    ),
    "hf-qwen3": Case(
        lambda: hf.Qwen3ForCausalLM(
            hf.Qwen3Config(
                **llama_sizes(tie_word_embeddings=True, rope_parameters=rope(1_000_000)),
                head_dim=6,
            )
        ),
        "qwen3-0.6b",
        {**LLAMA, "head_dim": 6},
        "hf-llama-to-ruda",
        TEXT,
        logits,
    ),
    "hf-resnet-basic": Case(
        lambda: hf_resnet("basic"),
        "resnet18",
        {"width": 8, "classes": 5, **DEPTHS},
        "hf-resnet-to-ruda",
        PICTURE,
        logits,
    ),
    "hf-resnet-bottleneck": Case(
        lambda: hf_resnet("bottleneck"),
        "resnet50",
        {"width": 8, "classes": 5, **DEPTHS},
        "hf-resnet-to-ruda",
        PICTURE,
        logits,
    ),
    "timm-resnet-basic": Case(
        lambda: timm_resnet(BasicBlock),
        "resnet18",
        {"classes": 5, **DEPTHS},
        "pytorch-to-ruda",
        PICTURE,
    ),
    "timm-resnet-bottleneck": Case(
        lambda: timm_resnet(Bottleneck),
        "resnet50",
        {"classes": 5, **DEPTHS},
        "pytorch-to-ruda",
        PICTURE,
        is_tiny=False,
    ),
    "torchvision-resnet18": Case(
        torchvision.models.resnet18, "resnet18", {}, "pytorch-to-ruda", PICTURE, is_tiny=False
    ),
    "torchvision-resnet34": Case(
        torchvision.models.resnet34, "resnet34", {}, "pytorch-to-ruda", PICTURE, is_tiny=False
    ),
    "torchvision-resnet50": Case(
        torchvision.models.resnet50, "resnet50", {}, "pytorch-to-ruda", PICTURE, is_tiny=False
    ),
    "torchvision-mobilenet-v2": Case(
        lambda: torchvision.models.mobilenet_v2(width_mult=0.1, num_classes=5),
        "mobilenet-v2",
        {"width": 10, "classes": 5},
        "pytorch-to-ruda",
        PICTURE,
    ),
    "timm-mobilenet-v2": Case(
        lambda: timm.create_model("mobilenetv2_100", num_classes=5),
        "mobilenet-v2",
        {"classes": 5},
        "timm-mobilenet-v2-to-ruda",
        PICTURE,
    ),
    "hf-mobilenet-v2": Case(
        hf_mobilenet,
        "mobilenet-v2",
        {"width": 10, "classes": 5, "eps": 3, "tf": 1},
        "hf-mobilenet-v2-to-ruda",
        PICTURE,
        logits,
    ),
    "hf-vit": Case(hf_vit, "vit-b16", {**VIT, "eps": 12}, "hf-vit-to-ruda", (2, 3, 8, 8), logits),
    "timm-vit": Case(timm_vit, "vit-b16", VIT, "timm-vit-to-ruda", (2, 3, 8, 8)),
    "torchvision-vit": Case(
        torchvision_vit, "vit-b16", VIT, "torchvision-vit-to-ruda", (2, 3, 8, 8)
    ),
}


def rope(theta: int) -> dict[str, Any]:
    """The setting of rotary positions."""
    return {"rope_type": "default", "rope_theta": theta}


def made(case: Case, folder: Path) -> tuple[Any, Path]:
    """The model, evaluating, and its file, with values out of the keys in the file."""
    model = case.make()
    if not isinstance(model, hf.PreTrainedModel):
        state = {key: valued(key, tensor) for key, tensor in model.state_dict().items()}
        model.load_state_dict(state)
        torch.save(model.state_dict(), folder / "model.pt")
        return model.eval(), folder / "model.pt"
    model.save_pretrained(folder)
    path = folder / "model.safetensors"
    state = {key: valued(key, tensor) for key, tensor in load_file(path).items()}
    save_file(state, path, {"format": "pt"})
    return type(model).from_pretrained(folder).eval(), path


def valued(key: str, tensor: Any) -> Any:
    """The values for a tensor of a file."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    return torch.from_numpy(values.weights(key, tuple(tensor.shape), dtype))


def given(case: Case) -> Any:
    """The input."""
    if len(case.shape) == 2:
        return values.tokens(case.shape, 11)
    return values.pictures(case.shape)


def ran(case: Case, model: Any) -> Any:
    """The results of the other library, f32."""
    more = {"output_hidden_states": True} if isinstance(model, hf.PreTrainedModel) else {}
    with torch.no_grad():
        return case.result(model(torch.from_numpy(given(case)), **more)).numpy()


def problems(case: Case, model: Any, path: Path) -> Iterator[str]:
    """What differs between the other library and Ruda, in sentences."""
    ours = get(case.architecture).build(**case.settings)
    recipe = Recipe(adapt=(case.adapt,))
    back = Recipe(adapt=(recipe.adapter().reverse().name,))
    with open_store(path) as source:
        report = diff(source, ours, recipe=recipe)
        if not report.is_complete:
            yield f"incomplete: {report}"
            return
        apply(source, ours, recipe=recipe)
        difference = np.abs(ours(Tensor(given(case))).numpy() - ran(case, model)).max()
        print(f"    {len(source):4} tensors, largest difference {difference:.1e}")
        if not difference < ATOL:
            yield f"results differ by {difference}"
        returned = convert(collect(ours), recipe=back)
        used = {each.key for row in report.rows if row.target for each in row.sources}
        if set(returned.snapshots) != used:
            yield f"other keys come back: {sorted(set(returned.snapshots) ^ used)[:4]}"
        for key in used & set(returned.snapshots):
            if returned[key].read().tobytes() != source[key].read().tobytes():
                yield f"other values come back: {key}"
        if case.adapt.startswith("hf-llama"):
            return  # heads are in the model only
        again = convert(convert(source, recipe=recipe), recipe=back)
        for key in source.snapshots:
            if key not in again.snapshots:
                yield f"{key} is lost without a target"
            elif again[key].read().tobytes() != source[key].read().tobytes():
                yield f"{key} differs without a target"


def write(name: str, case: Case, model: Any, path: Path) -> None:
    """Keep the names, shapes and results of a model."""
    with open_store(path) as source:
        keys = [[key, list(each.shape), str(each.dtype)] for key, each in source.items()]
    about = {
        "architecture": case.architecture,
        "settings": case.settings,
        "adapt": case.adapt,
        "input": case.shape,
        "made_with": [
            f"{module.__name__} {module.__version__}" for module in (torch, hf, timm, torchvision)
        ],
    }
    content = {
        "about": np.array(json.dumps(about)),
        "tensors": np.array(json.dumps(keys)),
        "output": ran(case, model).astype(np.float32),
    }
    np.savez_compressed(GOLDEN / f"{name}.npz", **content)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    failed = 0
    for name in options.names or CASES:
        print(name)
        case = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            try:
                model, path = made(case, Path(folder))
                found = list(problems(case, model, path))
                if options.write and case.is_tiny and not found:
                    write(name, case, model, path)
            except Exception as error:
                found = [f"{type(error).__name__}: {error}"]
        for problem in found:
            print(f"    FAILED: {problem}")
        failed += bool(found)
    total = len(options.names or CASES)
    print(f"{total - failed} of {total} models agree (within {ATOL})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
