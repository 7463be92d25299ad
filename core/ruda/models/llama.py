"""Llama and its kin (Mistral, Qwen2, Qwen3): transformers that continue text.

Names and the layout of rotary positions are those of Meta's files: ``hf-llama-to-ruda`` takes
Hugging Face's.
"""

from __future__ import annotations

import numpy as np

from ruda.errors import SettingError
from ruda.models.architecture import SEED, Architecture, InputSpec, Setting
from ruda.models.gpt2 import tied_logits
from ruda.nn import Embedding, Linear, Module, RmsNorm, RotaryAttention, Silu, derive_seed
from ruda.tensor import Tensor


class FeedForward(Module):
    """Gate (``w1``), down (``w2``) and up (``w3``): w2(silu(w1 x) · w3 x)."""

    def __init__(self, dim: int, hidden: int, *, seed: int) -> None:
        self.w1 = _projection(dim, hidden, seed, "w1")
        self.w2 = _projection(hidden, dim, seed, "w2")
        self.w3 = _projection(dim, hidden, seed, "w3")
        self.activation = Silu()

    def forward(self, x: Tensor) -> Tensor:
        """(…, dim) of the same shape."""
        with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
            gated = self.activation(self.w1(x)).numpy() * self.w3(x).numpy()
        return self.w2(Tensor(gated))


class LlamaBlock(Module):
    """One layer: attention and feed-forward, each with a norm before and added to its input."""

    def __init__(self, attention: RotaryAttention, feed_forward: FeedForward, eps: float) -> None:
        dim = attention.wq.weight.shape[0]
        self.attention = attention
        self.feed_forward = feed_forward
        self.attention_norm = RmsNorm(dim, epsilon=eps)
        self.ffn_norm = RmsNorm(dim, epsilon=eps)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, time, dim) of the same shape."""
        with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
            x = Tensor(x.numpy() + self.attention(self.attention_norm(x)).numpy())
            return Tensor(x.numpy() + self.feed_forward(self.ffn_norm(x)).numpy())


class Llama(Module):
    """Embeddings of tokens, layers, a norm, and logits of tokens.

    With ``tied`` the last layer is the transposed embedding and has no parameter of its own.
    ``head_dim`` 0 is dim / heads. Raises SettingError where the heads do not divide.
    """

    def __init__(
        self,
        *,
        dim: int = 64,
        layers: int = 5,
        heads: int = 8,
        kv_heads: int = 4,
        head_dim: int = 0,
        hidden: int = 172,
        vocab: int = 512,
        tied: int = 0,
        bias: int = 0,
        qk_norm: int = 0,
        theta: int = 10_000,
        eps: int = 5,
        seed: int = 0,
    ) -> None:
        if (dim % heads and not head_dim) or heads % kv_heads:
            raise SettingError(
                f"heads divide dim and kv_heads divide heads, got dim {dim}, {heads} heads and "
                f"{kv_heads} kv_heads"
            )
        epsilon = 10.0**-eps
        self.tok_embeddings = Embedding(vocab, dim, seed=derive_seed(seed, "tok_embeddings"))
        self.layers: list[LlamaBlock] = []
        for at in range(layers):
            place = derive_seed(seed, f"layers.{at}")
            attention = RotaryAttention(
                dim,
                heads,
                kv_heads,
                head_dim=head_dim or None,
                theta=theta,
                bias=bool(bias),
                qk_norm=bool(qk_norm),
                epsilon=epsilon,
                seed=derive_seed(place, "attention"),
            )
            ff = FeedForward(dim, hidden, seed=derive_seed(place, "feed_forward"))
            self.layers.append(LlamaBlock(attention, ff, epsilon))
        self.norm = RmsNorm(dim, epsilon=epsilon)
        self.output = None if tied else _projection(dim, vocab, seed, "output")

    def forward(self, x: Tensor) -> Tensor:
        """(batch, time) whole numbers of tokens → logits (batch, time, vocab) of the next ones."""
        if x.rank != 2:
            raise self.shape_error("[batch, time]", x.shape)
        x = self.tok_embeddings(x)
        for layer in self.layers:
            x = layer(x)
        return tied_logits(self.norm(x), self.output, self.tok_embeddings)


def _projection(d_input: int, d_output: int, seed: int, name: str) -> Linear:
    return Linear(d_input, d_output, bias=False, seed=derive_seed(seed, name))


_SMALL = {"dim": 64, "layers": 5, "heads": 8, "kv_heads": 4, "hidden": 172, "vocab": 512}


def _settings(**other: int) -> tuple[Setting, ...]:
    """The settings, with these defaults instead of those of the smallest story teller."""
    given = {**_SMALL, "head_dim": 0, "tied": 0, "bias": 0, "qk_norm": 0, **other}
    return (
        Setting("dim", given["dim"], 1, 1 << 16, "Width of a token's vector."),
        Setting("layers", given["layers"], 1, 1 << 10, "Number of layers."),
        Setting("heads", given["heads"], 1, 1 << 10, "Number of query heads."),
        Setting("kv_heads", given["kv_heads"], 1, 1 << 10, "Number of key and value heads."),
        Setting("head_dim", given["head_dim"], 0, 1 << 12, "Width of a head; 0 for dim / heads."),
        Setting("hidden", given["hidden"], 1, 1 << 20, "Width of the feed-forward layers."),
        Setting("vocab", given["vocab"], 1, 1 << 24, "Number of tokens."),
        Setting("tied", given["tied"], 0, 1, "1 where the last layer is the embedding."),
        Setting("bias", given["bias"], 0, 1, "1 where queries, keys and values have biases."),
        Setting("qk_norm", given["qk_norm"], 0, 1, "1 where heads have norms, as in Qwen3."),
        Setting("theta", given.get("theta", 10_000), 1, 1 << 40, "Base of the rotary positions."),
        Setting("eps", given.get("eps", 5), 1, 15, "The norms' epsilon is 10 to minus this."),
        SEED,
    )


def _architecture(
    name: str, title: str, summary: str, positions: int, **sizes: int
) -> Architecture:
    return Architecture(
        name=name,
        title=title,
        summary=summary,
        input=InputSpec((positions,), (), (), ()),
        output="logits",
        settings=_settings(**sizes),
        builder=Llama,
        adapters=("hf-llama-to-ruda", "pytorch-to-ruda", "llama2c-to-ruda"),
    )


LLAMA = _architecture(
    "llama", "Llama", "Continues text; by default with the sizes of stories260K.", 512
)

TINYLLAMA = _architecture(
    "tinyllama-1.1b",
    "TinyLlama 1.1B",
    "Continues text.",
    2048,
    dim=2048,
    layers=22,
    heads=32,
    kv_heads=4,
    hidden=5632,
    vocab=32000,
)

QWEN2 = _architecture(
    "qwen2-0.5b",
    "Qwen2 0.5B",
    "A Llama with biases and a tied head.",
    32768,
    dim=896,
    layers=24,
    heads=14,
    kv_heads=2,
    hidden=4864,
    vocab=151936,
    tied=1,
    bias=1,
    theta=1_000_000,
    eps=6,
)

QWEN3 = _architecture(
    "qwen3-0.6b",
    "Qwen3 0.6B",
    "A Llama with a norm for every head and a tied head.",
    40960,
    dim=1024,
    layers=28,
    heads=16,
    kv_heads=8,
    head_dim=128,
    hidden=3072,
    vocab=151936,
    tied=1,
    qk_norm=1,
    theta=1_000_000,
    eps=6,
)
