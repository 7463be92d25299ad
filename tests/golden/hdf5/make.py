"""Writes the files in this folder: what h5py itself has no setting for, through its HDF5 library.

Run it with an interpreter that has h5py; the files here were written by h5py 3.16 (HDF5 2.0):

    python tests/golden/hdf5/make.py
"""

import ctypes
import pathlib

import h5py  # noqa: TID253 - it writes these files
import numpy as np

HERE = pathlib.Path(__file__).parent
LIBRARY = next((pathlib.Path(h5py.__file__).parents[1] / "h5py.libs").glob("libhdf5-*.so*"))
SPACE, TYPE, FILL, FILTERS, ATTRIBUTE = 1 << 1, 1 << 3, 1 << 5, 1 << 11, 1 << 12
GRID = np.arange(40 * 30, dtype="f4").reshape(40, 30)


def library():
    found = ctypes.CDLL(str(LIBRARY))
    found.H5Pset_shared_mesg_nindexes.argtypes = [ctypes.c_int64, ctypes.c_uint]
    found.H5Pset_shared_mesg_index.argtypes = [ctypes.c_int64] + [ctypes.c_uint] * 3
    found.H5Pset_chunk_opts.argtypes = [ctypes.c_int64, ctypes.c_uint]
    return found


def shared(name, *kinds, newest):
    """A file whose messages of these kinds are kept once, in a heap for each group of kinds."""
    create = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    assert library().H5Pset_shared_mesg_nindexes(create.id, len(kinds)) >= 0
    for place, group in enumerate(kinds):
        assert library().H5Pset_shared_mesg_index(create.id, place, group, 1) >= 0
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    low = h5py.h5f.LIBVER_LATEST if newest else h5py.h5f.LIBVER_EARLIEST
    access.set_libver_bounds(low, h5py.h5f.LIBVER_LATEST)
    path = str(HERE / name).encode()
    with h5py.File(h5py.h5f.create(path, h5py.h5f.ACC_TRUNC, create, access)) as file:
        for number in range(3):
            options = {"chunks": (3, 4), "compression": 1, "fillvalue": 2, "track_times": False}
            held = file.create_dataset(f"w{number}", data=GRID[:6, :5] + number, **options)
            held.attrs["units"] = "meters" * 5
            held.attrs["n"] = np.arange(9)
        file.attrs["units"] = "meters" * 5
        file.attrs["n"] = np.arange(9)


def plain_edges(name):
    """Chunks that reach over the end of the values are not packed."""
    create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    create.set_chunk((7, 4))
    create.set_deflate(3)
    create.set_obj_track_times(False)
    assert library().H5Pset_chunk_opts(create.id, 2) >= 0
    with h5py.File(HERE / name, "w", libver="latest") as file:
        space = h5py.h5s.create_simple(GRID.shape)
        held = h5py.h5d.create(file.id, b"w", h5py.h5t.IEEE_F32LE, space, create)
        held.write(h5py.h5s.ALL, h5py.h5s.ALL, GRID)


if __name__ == "__main__":
    shared("shared_in_one.h5", SPACE | TYPE | FILL | FILTERS | ATTRIBUTE, newest=False)
    shared("shared_in_two.h5", TYPE, SPACE | ATTRIBUTE, newest=True)
    plain_edges("plain_edges.h5")
