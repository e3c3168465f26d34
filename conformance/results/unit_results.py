"""The answers of a unit from a folder of results, and whether they say whose cases they are of."""

from pathlib import Path

from eightfold.common.errors import InputError
from eightfold.conformance.answers import UnitAnswers
from eightfold.conformance.results.columns import read_csv, read_npz
from eightfold.conformance.results.vectors import Vectors, load_vectors, read_manifest
from eightfold.conformance.results.words import read_words
from eightfold.conformance.units.registry import UNIT_KINDS
from eightfold.conformance.vectors.manifest import NAME

FILES = ("results.hex", "results.npz", "results.csv")
"""What a folder of results has one of."""


def unit_answers(vectors: Path | Vectors, results: Path) -> UnitAnswers:
    """Return the answers to a unit's cases.

    Parameters
    ----------
    vectors
        A folder of ``eightfold vectors``, of any format.
    results
        The folder with one of `FILES`; it may be the same.

    Raises
    ------
    InputError
        If the vectors are not as they were written, there is no file of results or several, it
        cannot be read, or it says that it has the results of other cases.
    """
    loaded = vectors if isinstance(vectors, Vectors) else load_vectors(vectors)
    return identified_answers(loaded, results)[0]


def identified_answers(vectors: Vectors, results: Path) -> tuple[UnitAnswers, bool]:
    """Return `unit_answers`, and whether something says that they are of these cases."""
    path = _file(results)
    columns, count = UNIT_KINDS[vectors.unit].results, vectors.manifest["cases"]
    identity = None
    if path.suffix == ".hex":
        answers, identity = read_words(path, columns, count)
    else:
        answers = (read_npz if path.suffix == ".npz" else read_csv)(path, columns, count)
    if identity is not None:
        check_identity(vectors, path, *identity)
    return answers, copied_manifest(vectors, results) or identity is not None


def _file(results: Path) -> Path:
    found = [results / name for name in FILES if (results / name).is_file()]
    if len(found) != 1:
        there = " and ".join(path.name for path in found) if found else "no results"
        raise InputError(f"{results}: {there}; give one of {', '.join(FILES)}")
    return found[0]


def copied_manifest(vectors: Vectors, results: Path) -> bool:
    """Return whether a manifest of these vectors is beside results.

    Raises
    ------
    InputError
        If a manifest is there that is of others.
    """
    if not (results / NAME).is_file():
        return False
    table = read_manifest(results)
    profile = table["profile"].get("name")
    says = f"{table['unit']}, profile {profile}, level {table['level']}, seed {table['seed']}"
    check_identity(vectors, results / NAME, table["identity"], says)
    return True


def check_identity(vectors: Vectors, path: Path, identity: str, says: str) -> None:
    """Raise InputError if results say that they are of other cases."""
    if identity != vectors.identity:
        raise InputError(
            f"{path}: results of other cases, of {says}; {vectors.folder} has {vectors.drawn_by}; "
            "judge results with the vectors that they were made from"
        )
