"""The images: the data set, its split, and what the committed files hold of it."""

from pathlib import Path
from typing import Any

import numpy as np

from examples.digits.network import IMAGE_SHAPE, PIXEL_MAX

TEST_COUNT = 450
CALIBRATION_COUNT = 256
SPLIT_SEED = 0

IMAGE_SCALE = np.float32(1 / 255)
IMAGE_ZERO_POINT = -128

Labelled = tuple[np.ndarray, np.ndarray]


def load_split() -> tuple[Labelled, Labelled]:
    """Load the digits of scikit-learn and split them at random, always in the same way.

    Return pixels, uint8, shape (N, 8, 8, 1), 0..16, and labels, uint8, shape (N,): 1347 for
    training, 450 for the test.
    """
    from sklearn.datasets import load_digits  # pyright: ignore[reportMissingImports]

    digits: Any = load_digits()
    pixels = digits.images.astype(np.uint8).reshape(-1, *IMAGE_SHAPE)
    labels = digits.target.astype(np.uint8)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
    test = order[:TEST_COUNT]
    training = order[TEST_COUNT:]
    return (pixels[training], labels[training]), (pixels[test], labels[test])


def to_codes(pixels: np.ndarray) -> np.ndarray:
    """Quantize pixels 0..16 to the int8 codes of the network's input.

    ``code = rint(pixel * 255 / 16) - 128``: real value ``pixel / 16``, scale 1/255, zero point
    -128. Different pixels have different codes.
    """
    return (np.rint(pixels * (255 / PIXEL_MAX)) + IMAGE_ZERO_POINT).astype(np.int8)


def to_real(codes: np.ndarray) -> np.ndarray:
    """Return the real values ``pixel / 16``, float64, that `to_codes` has quantized."""
    return np.rint((codes.astype(np.float64) - IMAGE_ZERO_POINT) * (PIXEL_MAX / 255)) / PIXEL_MAX


def save(path: Path, pixels: np.ndarray, labels: np.ndarray) -> None:
    """Write ``images`` (int8 codes) and ``labels`` (uint8) to a compressed npz file."""
    np.savez_compressed(path, images=to_codes(pixels), labels=labels)


def load(path: Path) -> Labelled:
    """Read the ``images``, int8, shape (N, 8, 8, 1), and ``labels``, uint8, that `save` wrote."""
    with np.load(path) as file:
        return file["images"], file["labels"]
