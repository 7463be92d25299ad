# pythran export largest_f32(int32[:,:] order(C), float32[:,:] order(C), int32[], int32[], int, int64[:,:] order(C))
# pythran export largest_i32(int32[:,:] order(C), int32[], int, int64[:,:] order(C))
"""The largest few of each row in falling order; of equal ones the first comes first.

A block of keys whose largest is no larger than the least of those kept is passed over.
"""

import numpy as np

BLOCK = 512


def _keys(words, values, out):
    """int32 that order like the values; 0 for both zeros, the largest key for every NaN."""
    for i in range(out.shape[0]):
        word = words[i]
        key = word ^ ((word >> np.int32(31)) & np.int32(0x7FFFFFFF))
        key = np.int32(0) if values[i] == np.float32(0) else key
        out[i] = np.int32(0x7FFFFFFF) if values[i] != values[i] else key


def _top(keys):
    high = np.int32(0x7FFFFFFF) ^ np.int32(-1)
    for i in range(keys.shape[0]):
        high = max(high, keys[i])
    return high


def _enter(keys, first, kept, best, places):
    """Keys of the items from ``first`` on go where they belong; how many are kept, and moves."""
    count = best.shape[0]
    moves = 0
    for i in range(keys.shape[0]):
        key = keys[i]
        if kept < count or key > best[count - 1]:
            at = kept if kept < count else count - 1
            while at > 0 and best[at - 1] < key:
                best[at] = best[at - 1]
                places[at] = places[at - 1]
                at -= 1
                moves += 1
            best[at] = key
            places[at] = first + i
            kept = kept + 1 if kept < count else kept
    return kept, moves


def largest_f32(words, values, room, best, patience, places):
    """Rows done: it gives up in a row where more than ``patience`` keys had to make room."""
    count = best.shape[0]
    for row in range(words.shape[0]):
        kept = 0
        moved = 0
        for at in range(0, words.shape[1], BLOCK):
            end = min(at + BLOCK, words.shape[1])
            keys = room[0 : end - at]
            _keys(words[row, at:end], values[row, at:end], keys)
            if kept < count or _top(keys) > best[count - 1]:
                kept, moves = _enter(keys, at, kept, best, places[row])
                moved += moves
                if moved > patience:
                    return row
    return words.shape[0]


def largest_i32(keys, best, patience, places):
    count = best.shape[0]
    for row in range(keys.shape[0]):
        kept = 0
        moved = 0
        for at in range(0, keys.shape[1], BLOCK):
            end = min(at + BLOCK, keys.shape[1])
            if kept < count or _top(keys[row, at:end]) > best[count - 1]:
                kept, moves = _enter(keys[row, at:end], at, kept, best, places[row])
                moved += moves
                if moved > patience:
                    return row
    return keys.shape[0]
