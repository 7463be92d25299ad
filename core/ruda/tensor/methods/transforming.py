"""Fourier transforms of signals, whole or in frames."""

from __future__ import annotations

from typing import Self

from ruda.tensor.methods.held import Held, tensor_array
from ruda.tensor.operations import spectra


class Transforming(Held):
    """Signals of f32, f64 or complex to spectra and back; new memory. Halves are too coarse."""

    __slots__ = ()

    def rfft(self, axis: int = -1) -> Self:
        """The n // 2 + 1 frequencies of real values that are not negative, complex.

        Raises DTypeError for complex values and halves, ShapeError without samples.
        """
        return self._new(spectra.transformed("rfft", self._array, axis, onesided=True))

    def irfft(self, axis: int = -1, size: int | None = None) -> Self:
        """Inverse of ``rfft``: ``size`` real values, 2 · (frequencies - 1) where None."""
        return self._new(spectra.restored("irfft", self._array, size, axis))

    def cfft(self, axis: int = -1) -> Self:
        """All n frequencies of real or complex values, complex. Errors as for ``rfft``."""
        return self._new(spectra.transformed("cfft", self._array, axis, onesided=False))

    def stft(
        self,
        size: int,
        hop: int | None = None,
        window: Self | None = None,
        *,
        centre: bool = True,
        normalised: bool = False,
        onesided: bool = True,
    ) -> Self:
        """Spectra of frames of ``size`` every ``hop``: (…, time) → (…, frequency, frame), complex.

        ``hop`` is a quarter of the size, the window all ones where None; a shorter one stands in
        the middle. ``centre`` puts the middle of frame t at t · hop and mirrors the ends. Raises
        ShapeError for a signal or window that does not fit, SettingError, DTypeError.
        """
        weights = None if window is None else tensor_array("stft", window)
        cut = spectra.frames(
            "stft", size, hop, weights, centre=centre, normalised=normalised, onesided=onesided
        )
        return self._new(spectra.short_time(self._array, cut))

    def istft(
        self,
        size: int,
        hop: int | None = None,
        window: Self | None = None,
        *,
        centre: bool = True,
        normalised: bool = False,
        onesided: bool = True,
        length: int | None = None,
    ) -> Self:
        """The real signal whose ``stft`` this is: (…, frequency, frame) → (…, time).

        ``length`` cuts it, or fills it up with zeros. Raises OperationError where the windows leave
        a gap, ShapeError for another number of frequencies.
        """
        weights = None if window is None else tensor_array("istft", window)
        cut = spectra.frames(
            "istft", size, hop, weights, centre=centre, normalised=normalised, onesided=onesided
        )
        return self._new(spectra.restored_from_frames(self._array, cut, length))
