"""Tensors that files hold and no model needs: counters, and tables that are computed."""

from __future__ import annotations

HARMLESS = frozenset(
    {
        *("num_batches_tracked", "position_ids", "inv_freq", "masked_bias"),
        *("freq_cis_real", "freq_cis_imag"),
    }
)
"""Last segments of keys that PyTorch writes and no model needs: counters, and tables that are
computed."""

_MASK = "attn.bias"
"""End of the key of GPT-2's causal masks, which are (1, 1, time, time)."""

HARMLESS_ENDS = (*HARMLESS, _MASK)
"""What the key of such a tensor ends with; not every key that does is one (``is_harmless``)."""


def is_harmless(key: str, shape: tuple[int, ...]) -> bool:
    """True for the key and shape of a tensor that no model needs."""
    if key.rpartition(".")[2] in HARMLESS:
        return True
    is_mask = len(shape) == 4 and shape[:2] == (1, 1) and shape[2] == shape[3]
    return is_mask and (key == _MASK or key.endswith(f".{_MASK}"))
