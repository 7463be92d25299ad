# pythran export histogram_f32(float32[], float, float, float, uint32[], int64[:,:] order(C))
# pythran export histogram_f64(float64[], float, float, float, uint32[], int64[:,:] order(C))
"""Counts of values in bins of equal width."""

import numpy as np


def _find_places(values, low, high, scale, outside, places):
    """The bin of every value; ``outside`` for those beyond low or high, and for NaN."""
    last = outside - 1.0
    for i in range(values.shape[0]):
        value = np.float64(values[i])
        place = min((value - low) * scale, last)
        # Two selects instead of one condition: the compiler vectorises these.
        place = place if value >= low else outside
        place = place if value <= high else outside
        places[i] = np.uint32(np.int32(place))


def _count(values, low, high, scale, places, out):
    n = values.shape[0]
    _find_places(values, low, high, scale, float(out.shape[1] - 1), places)
    whole = n - n % 4
    for i in range(0, whole, 4):
        # Four tables: an addition to the bin of the item before would have to wait for it.
        # The places are unsigned, which spares a test for negative indices.
        out[0, places[i]] += 1
        out[1, places[i + 1]] += 1
        out[2, places[i + 2]] += 1
        out[3, places[i + 3]] += 1
    for i in range(whole, n):
        out[0, places[i]] += 1


def histogram_f32(values, low, high, scale, places, out):
    _count(values, low, high, scale, places, out)


def histogram_f64(values, low, high, scale, places, out):
    _count(values, low, high, scale, places, out)
