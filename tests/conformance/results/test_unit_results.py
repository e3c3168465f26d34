"""Results of units from files: right ones are read in every form, wrong ones are one clear line."""

import io
import re
from pathlib import Path

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.answers import MISSING, UNKNOWN
from eightfold.conformance.profile import PROFILES, UNITS
from eightfold.conformance.results.unit_results import identified_answers
from eightfold.conformance.results.vectors import load_vectors
from eightfold.conformance.units.registry import unit_cases
from eightfold.conformance.vectors.unit_files import unit_files, write_unit

TFLITE = PROFILES["tflite"]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return folders of vectors of all units."""
    folder = tmp_path_factory.mktemp("vectors")
    for unit in UNITS:
        write_unit(folder / unit, unit, TFLITE, "smoke", "hex", 7)
    return folder


def expected(unit: str, suffix: str) -> bytes:
    """Return the right results in the form of a file."""
    return unit_files(unit, TFLITE, "smoke", suffix, 7)[0][f"expected.{suffix}"]  # pyright: ignore[reportArgumentType]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["hex", "npz", "csv"])
@pytest.mark.parametrize("unit", UNITS)
def test_right_results_are_read(unit: str, suffix: str, vectors: Path, tmp_path: Path) -> None:
    (tmp_path / f"results.{suffix}").write_bytes(expected(unit, suffix))
    answers, identified = identified_answers(load_vectors(vectors / unit), tmp_path)
    assert (answers.extra, answers.note, answers.crashed, identified) == (0, "", False, False)
    for name, values in unit_cases(unit, TFLITE, "smoke", 7).results.items():
        assert answers.results[name].dtype == np.int64
        np.testing.assert_array_equal(answers.results[name], values)


def read(vectors: Path, folder: Path, unit: str, name: str, content: bytes | str):
    """Return the answers of one file of results."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return identified_answers(load_vectors(vectors / unit), folder)[0]


def test_words_with_unknown_digits_comments_and_blanks(vectors: Path, tmp_path: Path) -> None:
    text = "// made\nFf zZ\n\n/* a\n b */ 8x // c\n0_1\r\n"
    answers = read(vectors, tmp_path, "requantizer", "results.hex", text)
    found = answers.results["result"][:5].tolist()
    assert found == [-1, UNKNOWN, UNKNOWN, 1, MISSING]


def test_only_the_columns_of_unknown_digits_are_unknown(vectors: Path, tmp_path: Path) -> None:
    # zero point, scale, valid, the last at the lowest bits.
    answers = read(vectors, tmp_path, "fake_quantize", "results.hex", "ffx000000001\n")
    first = [answers.results[name][0] for name in ("valid", "scale", "zero_point")]
    assert first == [1, UNKNOWN, -1]
    lists = read(vectors, tmp_path / "t", "tables", "results.hex", "x7" + "00" * 254 + "05\n")
    assert lists.results["result"][0, [0, 1, 255]].tolist() == [5, 0, UNKNOWN]
    assert lists.results["result"][1, 0] == MISSING


def test_fewer_words_are_missing_and_more_are_extra(vectors: Path, tmp_path: Path) -> None:
    lines = expected("dot", "hex").splitlines(keepends=True)
    few = read(vectors, tmp_path / "a", "dot", "results.hex", b"".join(lines[:-3]))
    assert (few.results["result"] == MISSING).sum() == 3 and few.extra == 0
    assert (few.results["result"][-3:] == MISSING).all()
    many = read(vectors, tmp_path / "b", "dot", "results.hex", b"".join([*lines, *lines[:5]]))
    assert many.extra == 5 and not (many.results["result"] == MISSING).any()
    none = read(vectors, tmp_path / "c", "dot", "results.hex", b"// nothing\n")
    assert (none.results["result"] == MISSING).all()


def npz(**arrays: np.ndarray) -> bytes:
    """Return the bytes of an .npz file."""
    file = io.BytesIO()
    np.savez(file, **arrays)  # pyright: ignore[reportArgumentType]
    return file.getvalue()


def ranges(scale: np.ndarray) -> bytes:
    """Return results of fake_quantize as .npz."""
    return npz(valid=np.ones(300, np.uint8), zero_point=np.zeros(300, np.int8), scale=scale)


HEX = expected("dot", "hex")
ZEROS = np.zeros(1600, np.int32)

WRONG: dict[tuple[str, str], list[tuple[bytes, str]]] = {
    ("dot", "hex"): [
        (HEX[:-4], "line 1600: '.....' has 5 digits, and a result 8; give whole words, and see"),
        (b"00000000\n0000000g\n", "line 2: '0000000g' is no word of hexadecimal digits, x or z"),
        (b"0x000000\n\n@10\n", "line 3: '@10' is no word of hexadecimal digits"),
        (b"hello world\n", "line 1: 'hello' is no word"),
        (b"\x00\xff\x1b[2J\n", r"line 1: '\?.\?\[2J' is no word"),
        (b"f" * 100_000, r"line 1: 'f{24}\.\.\.' has 100000 digits"),
        (b"/* never ends\n00000000\n", "line 1: '/\\*' is no word"),
    ],
    ("dot", "npz"): [
        (npz(result=ZEROS)[:-40], "cannot be read as .npz"),
        (npz(result=ZEROS)[:100], "cannot be read as .npz"),
        (b"", "cannot be read as .npz"),
        (b"garbage", "cannot be read as .npz"),
        (npz(result=np.array([object()])), "cannot be read as .npz: Object arrays"),
        (npz(results=ZEROS), "no column result; results have result"),
        (npz(result=ZEROS, more=ZEROS), "unknown column 'more'"),
        (npz(result=ZEROS.astype(float)), "result is float64, not int32"),
        (npz(result=ZEROS.astype(np.uint32)), "result is uint32, not int32"),
        (npz(result=ZEROS.reshape(40, 40)), r"result has shape \(40, 40\), not \(cases\)"),
    ],
    ("fake_quantize", "npz"): [
        (ranges(np.ones(300, np.float32)), r"scale is float32, not uint32; give the bits, \.view"),
        (ranges(np.ones(299, np.uint32)), "columns of 299, 300 cases"),
    ],
    ("dot", "csv"): [
        (b"", "no column result"),
        (b"result\n1\n1.5\n", "line 3: result is '1.5'; give an integer, x, or nothing"),
        (b"result\n1,2\n", "line 2 has 2 columns, and the first line 1; see whether"),
        (b"result,result\n1,2\n", "a column is there twice"),
        (b"result,b\n1,2\n", "unknown column 'b'"),
        (b"result\n\xff\n", "cannot be read as .csv"),
    ],
    ("tables", "csv"): [
        (expected("tables", "csv")[:-9], "line 121 has .* columns, and the first line 256")
    ],
}
"""Files that are no results of a unit, and what is said of them."""


@pytest.mark.parametrize(
    ("unit", "suffix", "content", "message"),
    [
        pytest.param(*kind, *wrong, id=f"{'-'.join(kind)}-{number}")
        for kind, all_wrong in WRONG.items()
        for number, wrong in enumerate(all_wrong)
    ],
)
def test_a_wrong_file_is_one_line(
    unit: str, suffix: str, content: bytes, message: str, vectors: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=f"results.{suffix}: .*{message}") as caught:
        read(vectors, tmp_path, unit, f"results.{suffix}", content)
    assert len(str(caught.value)) < 400 and "\n" not in str(caught.value)


def test_results_of_another_seed_are_refused(vectors: Path, tmp_path: Path) -> None:
    files, _ = unit_files("requantizer", TFLITE, "smoke", "hex", 8)
    (line,) = re.findall(r'"(// eightfold cases .*)"', files["bench.v"].decode())
    words = files["expected.hex"].decode()
    with pytest.raises(
        InputError,
        match=r"results.hex: results of other cases, of requantizer, profile tflite, level smoke, "
        r"seed 8; .* has requantizer, profile tflite, level smoke, seed 7; judge results with",
    ):
        read(vectors, tmp_path / "a", "requantizer", "results.hex", f"{line}\n{words}")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "manifest.json").write_bytes(files["manifest.json"])
    with pytest.raises(InputError, match=r"manifest.json: results of other cases, of .* seed 8"):
        read(vectors, tmp_path / "b", "requantizer", "results.csv", expected("requantizer", "csv"))


@pytest.mark.parametrize("by", ["comment", "manifest"])
def test_results_that_say_that_they_are_of_these_cases(
    by: str, vectors: Path, tmp_path: Path
) -> None:
    text = expected("dot", "hex")
    if by == "manifest":
        manifest = (vectors / "dot" / "manifest.json").read_bytes()
        (tmp_path / "manifest.json").write_bytes(manifest)
    else:
        bench = (vectors / "dot" / "bench.sv").read_text()
        (line,) = re.findall(r'"(// eightfold cases .*)"', bench)
        text = f"{line}\n".encode() + text
    (tmp_path / "results.hex").write_bytes(text)
    assert identified_answers(load_vectors(vectors / "dot"), tmp_path)[1]


def test_arrays_of_fewer_and_more_cases(vectors: Path, tmp_path: Path) -> None:
    few = read(vectors, tmp_path / "a", "dot", "results.npz", npz(result=ZEROS[:-2]))
    assert (few.results["result"] == MISSING).tolist() == [False] * 1598 + [True] * 2
    more = npz(result=np.full(1603, 2**63 - 1))
    many = read(vectors, tmp_path / "b", "dot", "results.npz", more)
    assert many.extra == 3 and (many.results["result"] == 2**62).all()


def test_cells_may_be_empty_or_unknown(vectors: Path, tmp_path: Path) -> None:
    answers = read(vectors, tmp_path, "dot", "results.csv", 'result\n 5\nx\n""\n-7\n')
    assert answers.results["result"][:5].tolist() == [5, UNKNOWN, MISSING, -7, MISSING]


def test_there_is_one_file_of_results(vectors: Path, tmp_path: Path) -> None:
    dot = load_vectors(vectors / "dot")
    with pytest.raises(InputError, match=r"no results; give one of results.hex, results.npz"):
        identified_answers(dot, tmp_path)
    for name in ("results.hex", "results.npz"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"results.hex and results.npz; give one of"):
        identified_answers(dot, tmp_path)


def test_a_run_in_the_folder_of_the_vectors_is_read(vectors: Path) -> None:
    folder = vectors / "dot"
    path = folder / "results.hex"
    path.write_bytes(HEX)
    assert identified_answers(load_vectors(folder), folder)[0].results
    path.unlink()
