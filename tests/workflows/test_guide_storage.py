"""The storage program of RUDA's guide, line by line."""

import numpy as np

from ruda.nn import LinearConfig
from ruda.store import RudapackStore
from ruda.tensor import DType, HostDevice, Tensor


def test_a_linear_layer_comes_back_bit_equal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    device = HostDevice()
    model = LinearConfig(2, 1).init(device)
    x = Tensor.from_data([[1.0, 2.0]], device=device, dtype=DType.F32)
    expected = model.forward(x).to_data()

    output = RudapackStore.from_file("linear.bpk").overwrite(True)
    model.save_into(output)

    restored = LinearConfig(2, 1).init(device, seed=7)
    assert restored.forward(x).to_data().array.tobytes() != expected.array.tobytes()
    source = RudapackStore.from_file("linear.bpk")
    result = restored.load_from(source)
    assert result.errors == ()
    assert result.missing == ()
    actual = restored.forward(x).to_data()
    np.testing.assert_array_equal(actual.array, expected.array)
    assert actual.array.tobytes() == expected.array.tobytes()


def test_running_it_again_replaces_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in (1, 2):
        LinearConfig(2, 1).init(HostDevice(), seed=seed).save_into(
            RudapackStore.from_file("linear.bpk", overwrite=True)
        )
    assert [p.name for p in tmp_path.iterdir()] == ["linear.bpk"]
