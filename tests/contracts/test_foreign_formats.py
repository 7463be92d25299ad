"""The contract of formats, run by those that other programs write: GGUF, HDF5, ONNX."""

import h5py  # noqa: TID253 - tests have every extra
import numpy as np

from ruda.store.formats.gguf import GgufFormat
from ruda.store.formats.hdf5 import Hdf5Format
from ruda.store.formats.onnx import OnnxFormat
from ruda.tensor import DType
from ruda.testing import FormatContract
from ruda.testing.foreign_bytes import GGUF_NUMBERS, ONNX_NUMBERS, gguf_bytes, onnx_bytes


class TestGguf(FormatContract):
    model_format = GgufFormat()
    dtypes = list(GGUF_NUMBERS)

    def build(self, arrays):
        return gguf_bytes(arrays)


class TestBigEndianGguf(FormatContract):
    model_format = GgufFormat()
    dtypes = list(GGUF_NUMBERS)

    def build(self, arrays):
        return gguf_bytes(arrays, order=">")


class TestOldGguf(FormatContract):
    model_format = GgufFormat()
    dtypes = list(GGUF_NUMBERS)

    def build(self, arrays):
        return gguf_bytes(arrays, version=2)


class TestOnnx(FormatContract):
    model_format = OnnxFormat()
    dtypes = list(ONNX_NUMBERS)

    def build(self, arrays):
        return onnx_bytes(arrays)


class TestTypedOnnx(FormatContract):
    """Values in lists of their type, whole numbers of varying length among them."""

    model_format = OnnxFormat()
    dtypes = list(ONNX_NUMBERS)

    def build(self, arrays):
        return onnx_bytes(arrays, typed=True)


def h5(arrays, **options):
    """A file as h5py writes it."""
    with h5py.File("file", "w", driver="core", backing_store=False) as file:
        for key, array in arrays.items():
            # Of a chunk an empty axis has none.
            file.create_dataset(key, data=array, **(options if array.size else {}))
        file.flush()
        return file.id.get_file_image()


class Hdf5Contract(FormatContract):
    model_format = Hdf5Format()
    # ml_dtypes' types are written as opaque bytes, which say nothing of them.
    dtypes = [d for d in DType if d.value.numpy is not None and d.numpy.isbuiltin == 1]
    keeps_any_key = False


class TestHdf5(Hdf5Contract):
    def build(self, arrays):
        return h5(arrays)


class TestNewHdf5(Hdf5Contract):
    """The layout of newer files: object headers with checksums, links in the header or a heap."""

    def build(self, arrays):
        with h5py.File("f", "w", driver="core", backing_store=False, libver="latest") as file:
            for key, array in arrays.items():
                file[key] = array
            file.flush()
            return file.id.get_file_image()


class TestChunkedHdf5(Hdf5Contract):
    def build(self, arrays):
        return h5(arrays, compression="gzip", shuffle=True, fletcher32=True)

    def small(self):
        return h5({"a.weight": np.ones((2, 3), "<f4"), "a.bias": np.ones(3)}, chunks=True)

    def test_what_is_written_is_read(self, tmp_path):
        arrays = {"a": np.arange(600, dtype="<f4").reshape(2, 300), "b": np.arange(9) > 4}
        with self.model_format.open(self.put(tmp_path, self.build(arrays))) as index:
            for key, array in arrays.items():
                self._assert_same(index[key], key, array)

    test_reading_a_tensor_reads_its_bytes_once = None  # its bytes are not those of the file
    test_opening_reads_no_values = None
