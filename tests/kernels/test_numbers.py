"""Numbers, masks and overlaps that a kernel would take without a look: the gate refuses them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import ruda._kernels as kernels
from ruda.errors import DTypeError, SettingError

HUGE = 2**63  # more than a kernel's word holds: its wrapper failed with "exception set"


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


PLANES = zeros(1, 1, 4, 4)
IMAGE = [np.zeros((4, 4, 1), np.uint8)]
PLAIN = {"mean": [0.0], "std": [1.0]}
NUMBERS = [
    (lambda n: kernels.max_pool(PLANES, (2, 2), (n, 1)), "stride=.*two whole numbers from 1"),
    (lambda n: kernels.max_pool(PLANES, (n, 2), (1, 1)), "window=.*two whole numbers from 1"),
    (lambda n: kernels.max_pool(PLANES, (1, 1), (1, 1), dilation=(1, n)), "dilation=.*two whole"),
    (lambda n: kernels.average_pool(PLANES, (2, 2), (1, 1), divisor=n), "divisor=.*whole number"),
    (lambda n: kernels.unfold(PLANES, (1, 1), (1, 1), stride=(n, n)), "stride=.*two whole"),
    (lambda n: kernels.unfold(PLANES, (1, 1), (n, n)), "size=.*two whole numbers from 1"),
    (lambda n: kernels.depthwise_3x3(PLANES, zeros(1, 3, 3), stride=(n, 1)), "stride=.*two whole"),
    (lambda n: kernels.winograd_tiles(PLANES[0], n, 1, 0, zeros(16, 1, 1)), "top=.*a whole number"),
    (lambda n: kernels.largest_places(zeros(2, 3), n), "count=.*whole number from 0 to 3"),
    (lambda n: kernels.shuffle_order(n, 1), "n=.*whole number from 0 to 4294967295"),
    (lambda n: kernels.histogram(zeros(3), 0, 1, n), "bins=.*whole number from 1"),
    (lambda n: kernels.difference(zeros(3), zeros(3), steps=n), "steps=.*whole number from 0"),
    (lambda n: kernels.gather_items(zeros(3), np.zeros(1, int), n), "axis=.*whole number"),
    (lambda n: kernels.collate_images(IMAGE, (n, 1), **PLAIN), "size=.*two whole numbers"),
    (lambda n: kernels.collate_images(IMAGE, (1, 1), corners=[(n, 0)], **PLAIN), "corner of image"),
]


@pytest.mark.parametrize("number", [HUGE, 1.5, "2", None])
@pytest.mark.parametrize(("call", "message"), NUMBERS, ids=[m for _, m in NUMBERS])
def test_numbers_that_are_not_whole_or_too_large_are_refused(call, message, number) -> None:
    with pytest.raises(SettingError, match=message):
        call(number)


def test_whole_numbers_are_of_any_integer_type() -> None:
    pair = (np.int8(2), np.uint64(2))
    assert kernels.max_pool(PLANES, pair, (np.int16(1), True)).shape == (1, 1, 3, 3)
    assert kernels.largest_places(zeros(2, 3), np.int32(2)).shape == (2, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: kernels.softmax(zeros(1, 3), scale=10**400),
            "scale=an integer of 1329 bits: .*that float64 holds",
        ),
        (lambda: kernels.softmax(zeros(1, 3), scale=1e300), "scale=1e.300.*that float32 holds"),
        (lambda: kernels.layer_norm(zeros(1, 3), epsilon="small"), "epsilon='small'"),
        (
            lambda: kernels.rms_norm(zeros(1, 3), epsilon=10**400),
            "epsilon=an integer of .*that float64 holds",
        ),
        (
            lambda: kernels.histogram(zeros(3), -(10**400), 1, 3),
            "low=an integer of .*that float64 holds",
        ),
        (
            lambda: kernels.difference(zeros(3), zeros(3), relative=10**400),
            "relative=an integer of .*float64",
        ),
        (
            lambda: kernels.collate_images(IMAGE, (1, 1), mean=[0.0], std=[1e-320]),
            "with quotients that float32 holds",
        ),
    ],
)
def test_numbers_beyond_floats_are_refused(call, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        call()


OVERLAPS = """
import numpy as np
import ruda._kernels as kernels
from ruda.errors import LayoutError

def add_to_its_own_places():
    target = np.full(1000, 5, np.int64)
    kernels.scatter_add(target, target, np.full(1000, 10**12, np.int64), 0)

def add_slices_to_their_places():
    target = np.zeros((1000, 1))
    kernels.add_slices(target, target.view(np.int64)[:, 0], np.full((1000, 1), 1e300), 0)

def resize_into_its_columns():
    room = np.zeros((2, 1000), np.float32)
    columns = room[0].view(np.uint32)
    image = np.full((2, 2), 1e30, np.float32)
    kernels.resize_nearest(image, np.zeros(2, np.uint32), columns, room)

for call in (add_to_its_own_places, add_slices_to_their_places, resize_into_its_columns):
    try:
        call()
    except LayoutError as error:
        print(error)
"""


def test_places_in_the_memory_that_is_written_are_refused() -> None:
    """In a process of its own: places that change under way lead anywhere in memory."""
    done = subprocess.run(
        [sys.executable, "-c", OVERLAPS], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    sentence = "shares memory with the input; pass a separate array"
    assert done.stdout.splitlines() == [f"{n} {sentence}" for n in ("target", "target", "out")]


@pytest.mark.parametrize("call", [kernels.moments, kernels.erf, kernels.softmax])
def test_values_under_a_mask_are_not_taken_for_real_ones(call) -> None:
    masked = np.ma.masked_array(zeros(3), mask=[False, True, False])
    with pytest.raises(DTypeError, match="values has masked items; expected an array without"):
        call(masked)


def test_dtypes_without_a_byte_order_are_items_like_others() -> None:
    words = np.array(["a", "b"], np.dtypes.StringDType())
    assert kernels.gather_items(words, np.array([1, 0]), 0).tolist() == ["b", "a"]
    for call in (kernels.erf, kernels.moments):
        with pytest.raises(DTypeError, match="values has dtype StringDType"):
            call(words)
