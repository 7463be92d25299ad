"""The contract of formats, run by every format that Ruda reads."""

import io
import zipfile

import numpy as np

from ruda.store.formats.numpy_files import NumpyFormat
from ruda.store.formats.pytorch import PytorchFormat
from ruda.store.formats.rudapack import RudapackFormat
from ruda.store.formats.safetensors import SafetensorsFormat
from ruda.tensor import DType
from ruda.testing import FormatContract
from ruda.testing.file_bytes import (
    rudapack_bytes,
    safetensors_bytes,
    torch_legacy_bytes,
    torch_zip_bytes,
)

OLD_TYPES = [d for d in DType if d.torch_storage]


class TestSafetensors(FormatContract):
    model_format = SafetensorsFormat()
    dtypes = [d for d in DType if d.safetensors]

    def build(self, arrays):
        return safetensors_bytes(arrays)


class TestRudapack(FormatContract):
    model_format = RudapackFormat()
    dtypes = [d for d in DType if d.rudapack]

    def build(self, arrays):
        return rudapack_bytes(arrays)


class TestPackedRudapack(FormatContract):
    """The layout of Burn before 0.20: data right behind the metadata."""

    model_format = RudapackFormat()
    dtypes = [d for d in DType if d.rudapack]

    def build(self, arrays):
        return rudapack_bytes(arrays, metadata={"version": "0.19.1"}, aligned=False)


class TestPytorchZip(FormatContract):
    model_format = PytorchFormat()
    dtypes = [d for d in DType if d.torch]
    keeps_any_key = False

    def build(self, arrays):
        return torch_zip_bytes(arrays)


class TestPytorchDeflated(FormatContract):
    model_format = PytorchFormat()
    dtypes = [d for d in DType if d.torch]
    keeps_any_key = False

    def build(self, arrays):
        return torch_zip_bytes(arrays, deflate=True)

    test_reading_a_tensor_reads_its_bytes_once = None  # its bytes are not those of the file
    test_opening_reads_no_values = None
    test_a_file_cut_while_it_is_open_is_refused = None


class TestPytorchLegacy(FormatContract):
    model_format = PytorchFormat()
    dtypes = OLD_TYPES
    keeps_any_key = False

    def build(self, arrays):
        return torch_legacy_bytes(arrays)


def npz(arrays):
    """An archive of arrays as NumPy writes it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for key, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{key}.npy"), member.getvalue())
    return out.getvalue()


class TestNpz(FormatContract):
    model_format = NumpyFormat()
    # ml_dtypes' types are written as void, which says nothing of them.
    dtypes = [d for d in DType if d.value.numpy is not None and d.numpy.isbuiltin == 1]
    keeps_any_key = False

    def build(self, arrays):
        return npz(arrays or {"none": np.empty(0, "<f4")})

    def test_what_is_written_is_read(self, tmp_path):
        arrays = {"a": np.arange(6, dtype="<f4").reshape(2, 3), "b": np.array(True)}
        with self.model_format.open(self.put(tmp_path, npz(arrays))) as index:
            for key, array in arrays.items():
                self._assert_same(index[key], key, array)

    test_reading_a_tensor_reads_its_bytes_once = None  # the checksum covers the header, too
