"""Images as planes, against NumPy's own operations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from ruda._kernels import collate_images
from ruda.errors import DTypeError, SettingError, ShapeError

pytestmark = pytest.mark.usefixtures("variant")

LAWS = settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
MEAN, STD = (0.485, 0.456, 0.406, 0.5), (0.229, 0.224, 0.225, 0.25)


def images_of(count: int, channels: int, side: int = 12) -> list[NDArray[np.uint8]]:
    rng = np.random.default_rng(count)
    return [
        rng.integers(0, 256, (side + i, side + 2 * i, channels), np.uint8) for i in range(count)
    ]


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("size", [(12, 12), (5, 9), (1, 1), (0, 4)], ids=str)
def test_images_are_cut_turned_and_normalised(channels: int, size: tuple[int, int]) -> None:
    images = images_of(5, channels)
    height, width = size
    corners = [(min(i, 12 - height), min(2, 12 - width)) for i in range(5)]
    flips = [i % 2 == 1 for i in range(5)]
    mean, std = MEAN[:channels], STD[:channels]
    got = collate_images(images, size, mean=mean, std=std, corners=corners, flips=flips)
    assert got.shape == (5, channels, *size)
    for i, (top, left) in enumerate(corners):
        part = images[i][top : top + height, left : left + width]
        part = part[:, ::-1] if flips[i] else part
        expected = ((part / 255 - mean) / std).transpose(2, 0, 1)
        shift = (np.abs(mean) / np.array(std)).reshape(-1, 1, 1)
        allowed = 2.0**-22 * np.maximum(shift, np.abs(expected) + shift)
        assert (np.abs(got[i] - expected) <= allowed).all()


@LAWS
@given(image=arrays(np.uint8, (4, 5, 3)), flip=st.booleans())
def test_the_arithmetic_is_that_of_float32(image: NDArray[np.uint8], flip: bool) -> None:
    mean, std = MEAN[:3], STD[:3]
    factors = (1.0 / (255.0 * np.array(std))).astype(np.float32)
    shifts = (-np.array(mean) / np.array(std)).astype(np.float32)
    expected = (image * factors + shifts).transpose(2, 0, 1)
    expected = expected[..., ::-1] if flip else expected
    got = collate_images([image], (4, 5), mean=mean, std=std, flips=[flip])
    np.testing.assert_array_equal(got[0], expected, strict=True)


def test_foreign_layouts_of_images() -> None:
    image = images_of(1, 3)[0]
    plain = collate_images([image], (12, 12), mean=MEAN[:3], std=STD[:3])
    turned = np.asfortranarray(image)
    frozen = image.copy()
    frozen.flags.writeable = False
    room = np.repeat(image, 2, axis=2)[..., ::2]
    for given_ in (turned, frozen, room):
        got = collate_images([given_], (12, 12), mean=MEAN[:3], std=STD[:3])
        np.testing.assert_array_equal(got, plain, strict=True)


def test_pieces_are_joined() -> None:
    images = images_of(40, 3, side=230)
    out = np.empty((40, 3, 224, 224), np.float32)
    options = {"mean": MEAN[:3], "std": STD[:3]}
    assert collate_images(images, (224, 224), out=out, **options) is out
    for i in (0, 20, 39):
        alone = collate_images([images[i]], (224, 224), **options)
        np.testing.assert_array_equal(out[i], alone[0])


def test_refused() -> None:
    image = np.zeros((4, 5, 3), np.uint8)
    options = {"mean": MEAN[:3], "std": STD[:3]}
    with pytest.raises(ShapeError, match=r"image 0 has 4 × 5 pixels; 4 × 5 from \(1, 0\) do not"):
        collate_images([image], (4, 5), corners=[(1, 0)], **options)
    with pytest.raises(ShapeError, match=r"from \(-1, 0\) do not lie within"):
        collate_images([image], (4, 5), corners=[(-1, 0)], **options)
    with pytest.raises(
        ShapeError, match=r"image 1 has shape \(4, 5\); expected \(height, width, 3"
    ):
        collate_images([image, image[..., 0]], (4, 5), **options)
    with pytest.raises(ShapeError, match="1 images with 2 corners and 1 flips"):
        collate_images([image], (4, 5), corners=[(0, 0)] * 2, **options)
    with pytest.raises(DTypeError, match="image 0 has dtype int16; expected uint8"):
        collate_images([image.astype(np.int16)], (4, 5), **options)
    with pytest.raises(SettingError, match="std above 0"):
        collate_images([image], (4, 5), mean=MEAN[:3], std=(1, 0, 1))
    with pytest.raises(SettingError, match="expected one of each for every channel"):
        collate_images([image], (4, 5), mean=MEAN[:3], std=STD[:2])
    with pytest.raises(SettingError, match="expected one of each for every channel"):
        collate_images([image], (4, 5), mean=[MEAN[:3]], std=STD[:3])
