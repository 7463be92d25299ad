# pythran export transpose(uint8[:,:] order(C), uint8[:,:] order(C), int, int)
# pythran export transpose(uint16[:,:] order(C), uint16[:,:] order(C), int, int)
# pythran export transpose(uint32[:,:] order(C), uint32[:,:] order(C), int, int)
# pythran export transpose(uint64[:,:] order(C), uint64[:,:] order(C), int, int)
"""Columns first … last of ``words`` become the same rows of ``out``, in tiles through a buffer.

The buffer breaks the pattern that hurts: rows a power of two apart fall on the same few lines of
the cache, and would evict each other before a tile is done.
"""

import numpy as np

TILE = 64  # 4 lines of the cache from each row: what fetches ahead has something to fetch


def _load(words, row, column, tile):
    for i in range(TILE):
        line = words[row + i]
        for j in range(TILE):
            tile[j * TILE + i] = line[column + j]


def _store(tile, out, row, column):
    for j in range(TILE):
        line = out[column + j]
        for i in range(TILE):
            line[row + i] = tile[j * TILE + i]


def transpose(words, out, first, last):
    tile = np.empty(TILE * TILE, words.dtype)
    rows = words.shape[0]
    whole_rows = rows - rows % TILE
    whole = last - (last - first) % TILE
    for column in range(first, whole, TILE):
        for row in range(0, whole_rows, TILE):
            _load(words, row, column, tile)
            _store(tile, out, row, column)
        for row in range(whole_rows, rows):
            for j in range(column, column + TILE):
                out[j, row] = words[row, j]
    for column in range(whole, last):
        for row in range(rows):
            out[column, row] = words[row, column]
