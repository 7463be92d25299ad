"""GPT-2: a transformer that continues text, with a tied head."""

from __future__ import annotations

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


class Gpt2(Module):
    """Embeddings of tokens and places, layers with norms first, a norm, and logits of tokens.

    With ``tied`` the head is the transposed embedding and has no parameter of its own.
    """

    def __init__(
        self,
        *,
        hidden: int = 768,
        layers: int = 12,
        heads: int = 12,
        ff: int = 3072,
        vocab: int = 50257,
        positions: int = 1024,
        tied: int = 1,
        seed: int = 0,
    ) -> None:
        self.token_embeddings = Embedding(vocab, hidden, seed=derive_seed(seed, "token_embeddings"))
        self.position_embeddings = Embedding(
            positions, hidden, seed=derive_seed(seed, "position_embeddings")
        )
        settings = TransformerSettings(hidden, ff, heads, norm_first=True, activation="gelu_tanh")
        self.encoder = TransformerEncoder(settings, layers, seed=derive_seed(seed, "encoder"))
        self.norm = LayerNorm(hidden)
        head = derive_seed(seed, "head")
        self.head = None if tied else Linear(hidden, vocab, bias=False, seed=head)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, time) whole numbers of tokens → logits (batch, time, vocab) of the next ones."""
        if x.rank != 2:
            raise self.shape_error("[batch, time]", x.shape)
        time, room = x.shape[1], self.position_embeddings.weight.shape[0]
        if time > room:
            raise ShapeError(f"{self.place()}: {time} tokens, there are {room} positions")
        places = self.position_embeddings(Tensor(np.arange(time, dtype=np.int64)))
        seen = Tensor(self.token_embeddings(x).numpy() + places.numpy())
        later = np.triu(np.ones((time, time), dtype=bool), 1)
        for layer in self.encoder.layers:
            seen = layer.forward_masked(seen, mask_attn=later)
        return tied_logits(self.norm(seen), self.head, self.token_embeddings)


def tied_logits(x: Tensor, head: Linear | None, embedding: Embedding) -> Tensor:
    """(batch, time, width) → (batch, time, vocab), by the embedding where there is no head."""
    if head is not None:
        return head(x)
    table = embedding.weight.value().cast(x.dtype).numpy()
    with np.errstate(all="ignore"):  # NaN and Inf in weights or input are results, not news
        return Tensor(np.matmul(x.numpy(), table.T))


GPT2 = Architecture(
    name="gpt2",
    title="GPT-2",
    summary="Continues text; the small one of 12 layers of 768.",
    input=InputSpec((1024,), (), (), ()),
    output="logits",
    settings=(
        Setting("hidden", 768, 1, 1 << 16, "Width of a token's vector."),
        Setting("layers", 12, 1, 1 << 10, "Number of layers."),
        Setting("heads", 12, 1, 1 << 10, "Number of heads; no shape in a file says it."),
        Setting("ff", 3072, 1, 1 << 20, "Width of the feed-forward layers."),
        Setting("vocab", 50257, 1, 1 << 24, "Number of tokens."),
        Setting("positions", 1024, 1, 1 << 20, "Longest text in tokens."),
        Setting("tied", 1, 0, 1, "0 where the head has a tensor of its own."),
        SEED,
    ),
    builder=Gpt2,
    adapters=("hf-gpt2-to-ruda",),
)
