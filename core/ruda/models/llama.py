"""Llama: a transformer that continues text, with the names of Meta's files."""

from __future__ import annotations

from ruda.errors import ModelError, SettingError
from ruda.models.architecture import SEED, Architecture, InputSpec, Setting
from ruda.nn import Embedding, Linear, Module, RmsNorm, derive_seed
from ruda.tensor import Tensor


class Attention(Module):
    """Projections of queries, and of keys and values that several queries share."""

    def __init__(self, dim: int, heads: int, kv_heads: int, *, seed: int) -> None:
        shared = dim // heads * kv_heads
        self.wq = _projection(dim, dim, seed, "wq")
        self.wk = _projection(dim, shared, seed, "wk")
        self.wv = _projection(dim, shared, seed, "wv")
        self.wo = _projection(dim, dim, seed, "wo")


class FeedForward(Module):
    """Gate (``w1``), down (``w2``) and up (``w3``)."""

    def __init__(self, dim: int, hidden: int, *, seed: int) -> None:
        self.w1 = _projection(dim, hidden, seed, "w1")
        self.w2 = _projection(hidden, dim, seed, "w2")
        self.w3 = _projection(dim, hidden, seed, "w3")


class LlamaBlock(Module):
    """One layer."""

    def __init__(self, dim: int, hidden: int, heads: int, kv_heads: int, *, seed: int) -> None:
        self.attention = Attention(dim, heads, kv_heads, seed=derive_seed(seed, "attention"))
        self.feed_forward = FeedForward(dim, hidden, seed=derive_seed(seed, "feed_forward"))
        self.attention_norm = RmsNorm(dim)
        self.ffn_norm = RmsNorm(dim)


class Llama(Module):
    """The parameters of a Llama. The rotary positions are those of Meta: pairs side by side.

    With ``tied`` the last layer is the transposed embedding and has no parameter of its own.
    Raises SettingError where the heads do not divide.
    """

    def __init__(
        self,
        *,
        dim: int = 64,
        layers: int = 5,
        heads: int = 8,
        kv_heads: int = 4,
        hidden: int = 172,
        vocab: int = 512,
        tied: int = 0,
        seed: int = 0,
    ) -> None:
        if dim % heads or heads % kv_heads:
            raise SettingError(
                f"heads divide dim and kv_heads divide heads, got dim {dim}, {heads} heads and "
                f"{kv_heads} kv_heads"
            )
        self.tok_embeddings = Embedding(vocab, dim, seed=derive_seed(seed, "tok_embeddings"))
        self.layers = [
            LlamaBlock(dim, hidden, heads, kv_heads, seed=derive_seed(seed, f"layers.{at}"))
            for at in range(layers)
        ]
        self.norm = RmsNorm(dim)
        self.output = None if tied else _projection(dim, vocab, seed, "output")

    def forward(self, x: Tensor) -> Tensor:
        """Raises ModelError: the network holds parameters only."""
        raise ModelError("Llama cannot be run yet; its weights can be loaded and converted")


def _projection(d_input: int, d_output: int, seed: int, name: str) -> Linear:
    return Linear(d_input, d_output, bias=False, seed=derive_seed(seed, name))


LLAMA = Architecture(
    name="llama",
    title="Llama",
    summary="A transformer that continues text; holds weights, cannot be run yet.",
    input=InputSpec((512,), (), (), ()),
    output="logits",
    settings=(
        Setting("dim", 64, 1, 1 << 16, "Width of a token's vector."),
        Setting("layers", 5, 1, 1 << 10, "Number of layers."),
        Setting("heads", 8, 1, 1 << 10, "Number of query heads."),
        Setting("kv_heads", 4, 1, 1 << 10, "Number of key and value heads."),
        Setting("hidden", 172, 1, 1 << 20, "Width of the feed-forward layers."),
        Setting("vocab", 512, 1, 1 << 24, "Number of tokens."),
        Setting("tied", 0, 0, 1, "1 where the last layer is the embedding and not stored."),
        SEED,
    ),
    builder=Llama,
)
