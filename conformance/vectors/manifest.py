"""``manifest.json``: what the files of a folder of vectors are, enough to make them again."""

import hashlib
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from itertools import accumulate
from string import Template
from typing import Any

from eightfold.conformance.profile import Profile
from eightfold.conformance.units.unit import Column, Level
from eightfold.conformance.verdict import KIT

SPECS = {
    "tflite": "TensorFlow Lite 8-bit quantization specification, kernels of LiteRT 2.3",
    "tpu-mlir": "TPU-MLIR technical manual, chapter Quantization",
}
"""What the results are held against. Vectors are the same bytes whatever is installed, so that this
is a text of its own; its release of LiteRT is the one that pyproject.toml asks for."""

NAME = "manifest.json"

IDENTITY = "eightfold cases sha256"
"""What begins the comment of ``results.hex`` that says which cases it has the results of."""

COUNTS = "eightfold bench:"
"""What begins the comment, the last of ``results.hex``, in which a bench has counted what came."""


def identity_line(identity: str, unit: str, profile: str, level: Level, seed: int) -> str:
    """Return that comment, without what makes it one; fit for a text in C and in Verilog."""
    name = re.sub(r"[^\w .,+-]", "_", profile, flags=re.ASCII)
    return f"{IDENTITY} {identity}: {unit}, profile {name}, level {level}, seed {seed}"


def manifest(
    what: Mapping[str, Any], profile: Profile, level: Level, seed: int, sums: Mapping[str, str]
) -> bytes:
    """Return the text of a manifest.

    ``what``: fields of these vectors alone; with ``identity``, a SHA-256 of what is asked, where
    that is not of the files that are not ``expected``. ``sums``: `checksums` of the files beside
    it.
    """
    asked = {name: sums[name] for name in sorted(sums) if "expected" not in name}
    table = {
        "kit": KIT,
        "spec": SPECS[profile.spec],
        "profile": profile.as_dict(),
        "level": level,
        "seed": seed,
        "identity": hashlib.sha256(json.dumps(asked).encode()).hexdigest(),
        **what,
        "files": dict(sums),
    }
    return (json.dumps(table, indent=1) + "\n").encode()


def checksums(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of files, by their paths in the folder."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def described(columns: tuple[Column, ...]) -> list[dict[str, Any]]:
    """Return columns as the manifest has them; ``lsb`` is the place in a packed word."""
    places = accumulate((column.width for column in columns), initial=0)
    named = ("name", "bits", "signed", "length")
    return [
        {name: getattr(column, name) for name in named} | {"lsb": lsb, "text": column.text}
        for column, lsb in zip(columns, places, strict=False)
    ]


def filled(template: str, **values: object) -> bytes:
    """Return a template of this room with its ``$names`` replaced."""
    text = files("eightfold.conformance.vectors").joinpath(template).read_text(encoding="utf-8")
    return Template(text).substitute(values).encode()
