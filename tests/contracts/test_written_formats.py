"""The contract of formats, run on files that Ruda wrote itself."""

import numpy as np

from ruda.store import TensorIndex, TensorSnapshot
from ruda.store.formats.numpy_files import NumpyFormat
from ruda.store.formats.pytorch import PytorchFormat
from ruda.store.formats.rudapack import RudapackFormat
from ruda.store.formats.safetensors import SafetensorsFormat
from ruda.store.plan import lay_out
from ruda.store.streaming import to_bytes
from ruda.tensor import DType, Kind
from ruda.testing import FormatContract

EMPTY = np.empty(0, "<f4")


def written(arrays, name):
    """Bytes of a file of these arrays."""
    made = [TensorSnapshot.from_array(key, array) for key, array in arrays.items()]
    return to_bytes(lay_out(TensorIndex.of(made, format="memory"), name))


class TestSafetensors(FormatContract):
    model_format = SafetensorsFormat()
    dtypes = [d for d in DType if d.safetensors]

    def build(self, arrays):
        return written(arrays, "safetensors")


class TestRudapack(FormatContract):
    model_format = RudapackFormat()
    dtypes = [d for d in DType if d.rudapack]

    def build(self, arrays):
        return written(arrays, "rudapack")


class TestPytorch(FormatContract):
    model_format = PytorchFormat()
    keeps_any_key = False
    dtypes = [d for d in DType if d.torch and d.kind is not Kind.QUANTIZED]

    def build(self, arrays):
        return written(arrays, "pytorch")


class TestNpz(FormatContract):
    model_format = NumpyFormat()
    dtypes = [d for d in DType if d.value.numpy is not None and d.numpy.isbuiltin == 1]
    keeps_any_key = False

    def build(self, arrays):
        return written(arrays or {"none": EMPTY}, "numpy")

    def test_what_is_written_is_read(self, tmp_path):
        arrays = {"a": np.arange(6, dtype="<f4").reshape(2, 3), "b": np.array(True)}
        with self.model_format.open(self.put(tmp_path, self.build(arrays))) as index:
            for key, array in arrays.items():
                self._assert_same(index[key], key, array)

    test_reading_a_tensor_reads_its_bytes_once = None  # the checksum covers the header, too
