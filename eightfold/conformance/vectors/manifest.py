"""``manifest.json``: what the files of a folder of vectors are, enough to make them again."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from eightfold.conformance.profile import Profile
from eightfold.conformance.units.unit import Column, Level

KIT = "1.0"
"""Version of the conformance kit: another one may draw other cases from the same seed."""

SPECS = {
    "tflite": "TensorFlow Lite 8-bit quantization specification, kernels of LiteRT 2.3",
    "tpu-mlir": "TPU-MLIR technical manual, chapter Quantization",
}
"""What the results are held against."""

NAME = "manifest.json"


def manifest(
    what: Mapping[str, Any], profile: Profile, level: Level, seed: int, files: Mapping[str, bytes]
) -> bytes:
    """Return the text of a manifest.

    Parameters
    ----------
    what
        Fields of these vectors alone.
    files
        What each file beside it holds, by its path in the folder.
    """
    table = {
        "kit": KIT,
        "spec": SPECS[profile.spec],
        "profile": profile.as_dict(),
        "level": level,
        "seed": seed,
        **what,
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    return (json.dumps(table, indent=1) + "\n").encode()


def described(columns: tuple[Column, ...]) -> list[dict[str, Any]]:
    """Return columns as the manifest has them; ``lsb`` is the place in a packed word."""
    lsb = 0
    entries = []
    for column in columns:
        entries.append(
            {
                "name": column.name,
                "bits": column.bits,
                "signed": column.signed,
                "length": column.length,
                "lsb": lsb,
                "text": column.text,
            }
        )
        lsb += column.width
    return entries
