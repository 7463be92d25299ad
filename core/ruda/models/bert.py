"""BERT: a transformer that reads text and gives a vector for every token; MiniLM is a small one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ruda.errors import ShapeError
from ruda.models.architecture import SEED, Architecture, InputSpec, Setting
from ruda.nn import (
    Embedding,
    LayerNorm,
    Linear,
    Module,
    TransformerEncoder,
    TransformerSettings,
    derive_seed,
)
from ruda.tensor import Tensor

Array = np.ndarray[Any, Any]


class BertEmbeddings(Module):
    """The sum of what a token, its place and its segment stand for, normalised."""

    def __init__(
        self, vocab: int, positions: int, types: int, width: int, *, epsilon: float, seed: int
    ) -> None:
        self.word_embeddings = Embedding(vocab, width, seed=derive_seed(seed, "word_embeddings"))
        self.position_embeddings = Embedding(
            positions, width, seed=derive_seed(seed, "position_embeddings")
        )
        self.token_type_embeddings = Embedding(
            types, width, seed=derive_seed(seed, "token_type_embeddings")
        )
        self.norm = LayerNorm(width, epsilon=epsilon)

    def embed(self, ids: Tensor, types: Tensor) -> Tensor:
        """(batch, time) of tokens and of segments → (batch, time, width)."""
        time, room = ids.shape[1], self.position_embeddings.weight.shape[0]
        if time > room:
            raise ShapeError(f"{self.place()}: {time} tokens, there are {room} positions")
        places = Tensor(np.arange(time, dtype=np.int64))
        found = self.word_embeddings(ids).numpy() + self.token_type_embeddings(types).numpy()
        return self.norm(Tensor(found + self.position_embeddings(places).numpy()))


class Bert(Module):
    """Embeddings and a stack of encoder layers with norms behind; ``pooler`` may be None.

    The pooler is part of the files of ``BertModel`` and is not used here: sentences are compared
    by ``sentence``.
    """

    def __init__(
        self,
        *,
        hidden: int = 768,
        layers: int = 12,
        heads: int = 12,
        ff: int = 3072,
        vocab: int = 30522,
        positions: int = 512,
        types: int = 2,
        eps: int = 12,
        pooler: int = 1,
        seed: int = 0,
    ) -> None:
        epsilon = 10.0**-eps
        self.embeddings = BertEmbeddings(
            vocab, positions, types, hidden, epsilon=epsilon, seed=derive_seed(seed, "embeddings")
        )
        settings = TransformerSettings(hidden, ff, heads, layer_norm_eps=epsilon)
        self.encoder = TransformerEncoder(settings, layers, seed=derive_seed(seed, "encoder"))
        self.pooler = Linear(hidden, hidden, seed=derive_seed(seed, "pooler")) if pooler else None

    def forward(self, x: Tensor) -> Tensor:
        """(batch, time) whole numbers of tokens → (batch, time, hidden), all tokens seen."""
        return self.encode(x)

    def encode(
        self, ids: Tensor, *, mask: Array | None = None, types: Tensor | None = None
    ) -> Tensor:
        """(batch, time) of tokens → (batch, time, hidden).

        ``mask`` is (batch, time): 0 or False where a token is only there to fill up. ``types``
        are the segments, all 0 if not given. Raises ShapeError for a mask of another shape.
        """
        if ids.rank != 2:
            raise self.shape_error("[batch, time]", ids.shape)
        if mask is not None and mask.shape != ids.shape:
            raise ShapeError(f"a mask of shape {list(mask.shape)} for {list(ids.shape)} tokens")
        segments = Tensor(np.zeros(ids.shape, np.int64)) if types is None else types
        x = self.embeddings.embed(ids, segments)
        hidden = None if mask is None else np.asarray(mask) == 0
        for layer in self.encoder.layers:
            x = layer.forward_masked(x, mask_pad=hidden)
        return x

    def sentence(self, ids: Tensor, *, mask: Array | None = None) -> Tensor:
        """(batch, hidden): the mean over the tokens that count, of length 1."""
        states = self.encode(ids, mask=mask).numpy()
        counts = np.ones(ids.shape, states.dtype) if mask is None else (mask != 0)
        weights = counts.astype(states.dtype)[..., None]
        with np.errstate(all="ignore"):
            mean = (states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
            length = np.sqrt(np.square(mean).sum(axis=1, keepdims=True))
            return Tensor(mean / np.maximum(length, 1e-12))


def _settings(hidden: int, layers: int, heads: int, ff: int) -> tuple[Setting, ...]:
    return (
        Setting("hidden", hidden, 1, 1 << 16, "Width of a token's vector."),
        Setting("layers", layers, 1, 1 << 10, "Number of layers."),
        Setting("heads", heads, 1, 1 << 10, "Number of heads; no shape in a file says it."),
        Setting("ff", ff, 1, 1 << 20, "Width of the feed-forward layers."),
        Setting("vocab", 30522, 1, 1 << 24, "Number of tokens."),
        Setting("positions", 512, 1, 1 << 20, "Longest text in tokens."),
        Setting("types", 2, 1, 1 << 10, "Number of segments."),
        Setting("eps", 12, 1, 15, "The norms' epsilon is ten to the power of minus this."),
        Setting("pooler", 1, 0, 1, "1 where the file has a pooler."),
        SEED,
    )


BERT_BASE = Architecture(
    name="bert-base",
    title="BERT base",
    summary="An encoder of text with 12 layers of 768.",
    input=InputSpec((512,), (), (), ()),
    output="states",
    settings=_settings(768, 12, 12, 3072),
    builder=Bert,
    adapters=("hf-bert-to-ruda",),
)

MINILM_L6 = Architecture(
    name="minilm-l6",
    title="MiniLM L6",
    summary="A sentence encoder: a BERT with 6 layers of 384.",
    input=InputSpec((512,), (), (), ()),
    output="states",
    settings=_settings(384, 6, 12, 1536),
    builder=Bert,
    adapters=("hf-bert-to-ruda",),
)
