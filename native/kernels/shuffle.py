# pythran export permute(int64[], uint64[])
"""``fy64-v1``: Fisher-Yates from the end, drawing with SplitMix64 and rejection."""

import numpy as np


def _word(high, low):
    """A 64-bit constant in two halves: Pythran takes no literal above int64."""
    return (np.uint64(high) << np.uint64(32)) | np.uint64(low)


def _mix(z):
    z = (z ^ (z >> np.uint64(30))) * _word(0xBF58476D, 0x1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * _word(0x94D049BB, 0x133111EB)
    return z ^ (z >> np.uint64(31))


def permute(out, key):
    n = out.shape[0]
    for i in range(n):
        out[i] = i
    gamma = _word(0x9E3779B9, 0x7F4A7C15)
    low = np.uint64(0xFFFFFFFF)
    state = key[0]
    for i in range(n - 1, 0, -1):
        places = np.uint64(i + 1)
        state = state + gamma
        drawn = (_mix(state) >> np.uint64(32)) * places
        # The threshold is below ``places``: the costly remainder is needed only under that.
        if (drawn & low) < places:
            least = (np.uint64(0x100000000) - places) % places
            while (drawn & low) < least:
                state = state + gamma
                drawn = (_mix(state) >> np.uint64(32)) * places
        other = int(drawn >> np.uint64(32))
        out[i], out[other] = out[other], out[i]
