"""The registered architectures, by name."""

from __future__ import annotations

import difflib

from ruda.errors import UnknownArchitectureError
from ruda.models.architecture import Architecture
from ruda.models.bert import BERT_BASE, MINILM_L6
from ruda.models.crepe import CREPE_TINY
from ruda.models.deep_resnet import RESNET18, RESNET34, RESNET50
from ruda.models.digit_recognizer import DIGIT_RECOGNIZER
from ruda.models.gpt2 import GPT2
from ruda.models.llama import LLAMA, QWEN2, QWEN3, TINYLLAMA
from ruda.models.mnist import BURN_MNIST, DIGITS, IMPORT_MNIST
from ruda.models.mobilenet import MOBILENET_V2
from ruda.models.mtcnn import ONET, PNET, RNET
from ruda.models.resnet import RESNET20
from ruda.models.vit import VIT_B16

_ALL = (
    *(BURN_MNIST, IMPORT_MNIST, DIGITS, DIGIT_RECOGNIZER, RESNET20),
    *(PNET, RNET, ONET, CREPE_TINY),
    *(RESNET18, RESNET34, RESNET50, MOBILENET_V2, VIT_B16),
    *(BERT_BASE, MINILM_L6, GPT2, LLAMA, TINYLLAMA, QWEN2, QWEN3),
)


def architectures() -> tuple[Architecture, ...]:
    """All registered architectures, in the order they are shown."""
    return _ALL


def get(name: str) -> Architecture:
    """The architecture of this name. Raises UnknownArchitectureError with the nearest name."""
    found = {architecture.name: architecture for architecture in _ALL}
    if name not in found:
        near = difflib.get_close_matches(name, found, n=1)
        raise UnknownArchitectureError(name, nearest=near[0] if near else None)
    return found[name]
