"""The contract of formats, run by those that other programs write: GGUF, HDF5, ONNX."""

import h5py  # noqa: TID253 - tests have every extra
import numpy as np

from ruda.store.formats.gguf import GgufFormat
from ruda.store.formats.hdf5 import Hdf5Format
from ruda.store.formats.keras_archive import KerasFormat
from ruda.store.formats.onnx import OnnxFormat
from ruda.tensor import DType
from ruda.testing import FormatContract
from ruda.testing.file_bytes import archive_bytes
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


class GrowingHdf5(Hdf5Contract):
    """Chunks of a new file; the list that they are in follows from how many axes have no limit."""

    free = 0

    def build(self, arrays):
        with h5py.File("f", "w", driver="core", backing_store=False, libver="latest") as file:
            for key, array in arrays.items():
                plain = not array.size or array.ndim < self.free
                limits = [None] * self.free + [n + 3 for n in array.shape[self.free :]]
                options = {} if plain or not array.ndim else {"maxshape": limits, "chunks": True}
                file.create_dataset(key, data=array, **options)
            file.flush()
            return file.id.get_file_image()

    test_reading_a_tensor_reads_its_bytes_once = None  # lists of chunks are read, too
    test_opening_reads_no_values = None  # a chunk can be smaller than what a header is read in


class TestFixedHdf5(GrowingHdf5):
    free = 0


class TestExtensibleHdf5(GrowingHdf5):
    free = 1


class TestTreeHdf5(GrowingHdf5):
    free = 2


class TestKeras(Hdf5Contract):
    model_format = KerasFormat()

    def build(self, arrays):
        about = {"metadata.json": b'{"keras_version": "3.8.0"}', "config.json": b"{}"}
        return archive_bytes({**about, "model.weights.h5": h5(arrays)})


class TestDeflatedKeras(Hdf5Contract):
    model_format = KerasFormat()

    def build(self, arrays):
        members = {"config.json": b"{}", "model.weights.h5": h5(arrays)}
        return archive_bytes(members, deflate=True)

    test_a_file_cut_while_it_is_open_is_refused = None  # its weights were unpacked before
