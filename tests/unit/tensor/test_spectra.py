"""Short-time Fourier transforms against their sum, and back again."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import DTypeError, OperationError, SettingError, ShapeError
from ruda.tensor import DType, Tensor

SIGNAL = np.random.default_rng(11).normal(size=(2, 50))


def tensor(values):
    return Tensor(np.asarray(values))


def by_its_sum(signal, size, hop, window, *, centre, normalised, onesided):
    """The definition, one product at a time."""
    weights = np.zeros(size)
    start = (size - len(window)) // 2
    weights[start : start + len(window)] = window
    if centre:
        signal = np.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(size // 2,) * 2], mode="reflect")
    count = (signal.shape[-1] - size) // hop + 1
    sides = size // 2 + 1 if onesided else size
    found = np.zeros((*signal.shape[:-1], sides, count), complex)
    for frame in range(count):
        for frequency in range(sides):
            turn = np.exp(-2j * np.pi * frequency * np.arange(size) / size)
            part = signal[..., frame * hop : frame * hop + size]
            found[..., frequency, frame] = (part * weights * turn).sum(-1)
    return found / np.sqrt(size) if normalised else found


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize(("size", "hop", "length"), [(8, 2, 8), (7, 3, 5), (16, 16, 16), (1, 1, 1)])
def test_stft_is_its_sum(size, hop, length, centre, normalised, onesided):
    window = np.hanning(length + 2)[1:-1]
    options = {"centre": centre, "normalised": normalised, "onesided": onesided}
    found = tensor(SIGNAL).stft(size, hop, tensor(window), **options)
    assert found.dtype is DType.C128
    wanted = by_its_sum(SIGNAL, size, hop, window, **options)
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-11)


def test_defaults():
    narrow = tensor(SIGNAL.astype(np.float32))
    found = narrow.stft(8)
    assert found.dtype is DType.C64
    assert found.shape == (2, 5, 26)
    assert narrow[0].stft(8).shape == (5, 26)
    assert found.istft(8).dtype is DType.F32


@given(st.integers(4, 20), st.integers(1, 5), st.booleans(), st.booleans())
def test_istft_gives_the_signal_back(size, parts, normalised, onesided):
    hop = max(1, size // (parts + 1))
    window = Tensor.hamming_window(size, dtype=DType.F64)
    options = {"normalised": normalised, "onesided": onesided}
    frames = tensor(SIGNAL).stft(size, hop, window, **options)
    found = frames.istft(size, hop, window, length=50, **options).numpy()
    # The last frame may end before the signal does.
    reached = min(50, (frames.shape[-1] - 1) * hop + size - size // 2)
    np.testing.assert_allclose(found[:, :reached], SIGNAL[:, :reached], atol=1e-10)
    assert not found[:, reached:].any()


def test_whole_transforms():
    signal = tensor(SIGNAL)
    np.testing.assert_allclose(signal.rfft().numpy(), np.fft.rfft(SIGNAL))
    np.testing.assert_allclose(signal.cfft(0).numpy(), np.fft.fft(SIGNAL, axis=0))
    np.testing.assert_allclose(signal.rfft().irfft().numpy(), SIGNAL)
    odd = tensor(SIGNAL[:, :7])
    np.testing.assert_allclose(odd.rfft().irfft(size=7).numpy(), SIGNAL[:, :7])


HALF = Tensor.ones((64,), dtype=DType.F16)
COMPLEX = tensor(SIGNAL + 0j)
REFUSED = [
    (lambda: HALF.stft(8), DTypeError, "stft: f16 is too coarse to transform"),
    (lambda: HALF.rfft(), DTypeError, "rfft: f16 is too coarse"),
    (lambda: COMPLEX.rfft(), DTypeError, "rfft: needs a float dtype, got c128; cfft takes complex"),
    (lambda: COMPLEX.stft(8), DTypeError, "stft: complex signals have both sides"),
    (lambda: tensor(SIGNAL).stft(0), SettingError, "stft: frames of 0 every 1; both are at least"),
    (lambda: tensor(SIGNAL).stft(8, 1.5), DTypeError, "stft: a hop is a whole number, got 1.5"),
    (lambda: tensor(SIGNAL).stft(8, 2, HALF), ShapeError, "a window of shape [64] for frames of 8"),
    (lambda: tensor(SIGNAL).stft(8, 2, Tensor.from_data([1])), DTypeError, "stft: needs a float"),
    (
        lambda: tensor(SIGNAL).stft(128),
        ShapeError,
        "stft: 50 samples are too few for frames of 128",
    ),
    (lambda: tensor(SIGNAL).stft(51, centre=False), ShapeError, "stft: 50 samples are too few"),
    (lambda: tensor(SIGNAL).stft(2**70), ShapeError, "stft: shape ["),
    (lambda: tensor(1.0).stft(1), ShapeError, "stft: a scalar has no time axis"),
    (lambda: tensor(SIGNAL).istft(8), ShapeError, "istft: shape [2, 50] is no spectrum of frames"),
    (
        lambda: tensor(SIGNAL).stft(8, 2).istft(8, 2, Tensor.zeros((8,))),
        OperationError,
        "istft: 26 frames of 8 every 2 do not cover the signal",
    ),
    (lambda: tensor(np.zeros((3, 0))).rfft(), ShapeError, "rfft: axis -1 of shape [3, 0] has no"),
    (lambda: tensor(np.zeros(1)).irfft(), ShapeError, "irfft: shape [1] has no signal of 0"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=[m for *_, m in REFUSED])
def test_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()
