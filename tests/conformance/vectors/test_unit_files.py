"""Files of vectors: the same bytes again, the same cases in each format, and checks that fail."""

import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from eightfold.common.files import IMPORT_ROOT
from eightfold.conformance.profile import PROFILES, UNITS, Profile
from eightfold.conformance.units.registry import UNIT_KINDS, unit_cases
from eightfold.conformance.units.unit import UnitCases
from eightfold.conformance.vectors.manifest import SPECS
from eightfold.conformance.vectors.unit_files import FORMATS, Format, unit_files, write_unit
from eightfold.hw.blocks.layouts import REQUANTIZE_LAYOUT
from eightfold.hw.requantizer import Requantizer
from eightfold.rtl.verilog import unit_verilog
from eightfold.run.reference.runtimes import RUNTIMES
from eightfold.target.config import AcceleratorConfig
from tests.support.conformance.streams import needs_icarus, run_icarus

TFLITE = PROFILES["tflite"]
RTL = Path(__file__).parent / "requantizer.v"
"""A combinational requantizer as somebody else might have written it."""

needs_c = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def test_the_spec_names_the_release_of_litert_that_is_installed_to_compare_with() -> None:
    project = tomllib.loads((IMPORT_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (asked,) = (
        each
        for each in project["optional-dependencies"]["compare"]
        if each.startswith(RUNTIMES["litert"].package)
    )
    release = re.search(r">=([\d.]+)", asked)
    assert release is not None
    assert SPECS["tflite"].endswith(f" kernels of LiteRT {release[1]}")


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.usual(count=7)
def test_the_same_bytes_come_again(unit: str, form: Format) -> None:
    first, _ = unit_files(unit, TFLITE, "smoke", form, 5)
    again, _ = unit_files(unit, TFLITE, "smoke", form, 5)
    other, _ = unit_files(unit, TFLITE, "smoke", form, 6)
    assert first == again
    assert first != other


@pytest.mark.slow
def test_the_same_bytes_come_from_another_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "eightfold.cli.main", "vectors", "tables"]
    for form in FORMATS:
        folder = tmp_path / form
        subprocess.run(
            [*command, "--format", form, "--seed", "5", "-o", str(folder)],
            check=True,
            capture_output=True,
        )
        files, _ = unit_files("tables", TFLITE, "smoke", form, 5)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == files


@pytest.mark.parametrize("unit", UNITS)
def test_the_manifest_says_what_is_there(unit: str) -> None:
    files, cases = unit_files(unit, TFLITE, "smoke", "hex", 5)
    manifest = json.loads(files.pop("manifest.json"))
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    assert manifest["files"] == sums
    assert (manifest["unit"], manifest["level"], manifest["seed"]) == (unit, "smoke", 5)
    assert manifest["cases"] == len(cases) == sum(manifest["kinds"].values())
    assert Profile.from_dict(manifest["profile"]) == TFLITE
    again = unit_cases(unit, TFLITE, manifest["level"], manifest["seed"])
    for name, values in again.results.items():
        np.testing.assert_array_equal(values, cases.results[name])


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_cases_have_one_identity_in_all_formats(unit: str) -> None:
    def identity(form: Format, seed: int) -> str:
        return json.loads(unit_files(unit, TFLITE, "smoke", form, seed)[0]["manifest.json"])[
            "identity"
        ]

    files, _ = unit_files(unit, TFLITE, "smoke", "hex", 5)
    assert {identity(form, 5) for form in FORMATS} == {
        hashlib.sha256(files["cases.hex"]).hexdigest()
    }
    assert identity("hex", 6) != identity("hex", 5)


def test_a_name_with_quotes_breaks_no_bench(tmp_path: Path) -> None:
    profile = Profile(name='a "core" %d \\n ??/ */')
    files, _ = unit_files("dot", profile, "smoke", "c", 0)
    line = next(line for line in files["run.c"].decode().splitlines() if "sha256" in line)
    assert line.endswith('profile a _core_ _d _n ___ __, level smoke, seed 0\\n");')


@pytest.mark.parametrize("unit", UNITS)
def test_csv_has_the_cases(unit: str) -> None:
    files, cases = unit_files(unit, TFLITE, "smoke", "csv", 5)
    for name, arrays in (("cases.csv", cases.inputs), ("expected.csv", cases.results)):
        rows = list(csv.DictReader(io.StringIO(files[name].decode())))
        for column, values in arrays.items():
            if values.ndim == 1:
                read = [int(row[column]) for row in rows]
            else:
                places = range(values.shape[1])
                read = [[int(row[f"{column}_{place}"]) for place in places] for row in rows]
            np.testing.assert_array_equal(read, values)
        if name == "cases.csv":
            assert [row["kind"] for row in rows] == cases.kinds.tolist()


@pytest.mark.parametrize("unit", UNITS)
def test_hex_has_the_cases_where_the_manifest_says(unit: str) -> None:
    files, cases = unit_files(unit, TFLITE, "smoke", "hex", 5)
    manifest = json.loads(files["manifest.json"])
    for name, entries, arrays in (
        ("cases.hex", manifest["inputs"], cases.inputs),
        ("expected.hex", manifest["results"], cases.results),
    ):
        words = [int(line, 16) for line in files[name].decode().split()]
        for entry in entries:
            values = arrays[entry["name"]].reshape(len(cases), -1)
            for word, row in zip(words, values.tolist(), strict=True):
                for place, value in enumerate(row):
                    bits = word >> (entry["lsb"] + place * entry["bits"])
                    assert (bits - value) % (1 << entry["bits"]) == 0


def simulate(folder: Path, standard: str, *arguments: str) -> str:
    """Compile a bench with Icarus, run it, and return its last line."""
    bench = "bench.sv" if standard == "2012" else "bench.v"
    return run_icarus(folder, *arguments, bench=bench).strip().splitlines()[-1]


def answers(folder: Path) -> list[str]:
    first, *words = (folder / "results.hex").read_text().splitlines()
    identity = json.loads((folder / "manifest.json").read_text())["identity"]
    assert first.startswith(f"// eightfold cases sha256 {identity}: ")
    return words


@needs_icarus
@pytest.mark.parametrize("standard", ["2005", "2012"])
def test_a_right_requantizer_answers_rightly_and_a_wrong_one_does_not(
    standard: str, tmp_path: Path
) -> None:
    write_unit(tmp_path, "requantizer", TFLITE)
    expected = (tmp_path / "expected.hex").read_text().split()
    last = simulate(tmp_path, standard, "-DDUT=requantizer", str(RTL))
    assert last == f"0 of {len(expected)} answers are wrong"
    assert answers(tmp_path) == expected
    broken = tmp_path / "broken.v"
    text = RTL.read_text()
    assert "y < 0 ? half - 1 : half" in text
    broken.write_text(text.replace("y < 0 ? half - 1 : half", "half"))
    last = simulate(tmp_path, standard, "-DDUT=requantizer", str(broken))
    wrong = sum(got != want for got, want in zip(answers(tmp_path), expected, strict=True))
    assert wrong > 20
    assert last == f"{wrong} of {len(expected)} answers are wrong"


@needs_icarus
def test_unknown_bits_are_written_and_are_wrong(tmp_path: Path) -> None:
    write_unit(tmp_path, "requantizer", TFLITE)
    (tmp_path / "mine.v").write_text(RTL.read_text().replace("assign result", "wire unused"))
    last = simulate(tmp_path, "2005", "-DDUT=requantizer", "mine.v")
    assert answers(tmp_path)[0] == "zz"
    assert last.startswith("2569 of 2569")


FIELDS = {
    "bias": "32'd0",
    "left": "(shift > 0 ? shift : 8'd0)",
    "right": "(shift < 0 ? -shift : 8'd0)",
    "single": "1'd0",
    "rounding": "3'd0",
}
"""Of our requantizer, what is no column of the cases."""


def wrapper() -> str:
    """Return a module with the bench's ports around our requantizer."""
    wires, names = [], []
    for name, field in REQUANTIZE_LAYOUT:
        wires.append(f"  wire [{field.width - 1}:0] field_{name} = {FIELDS.get(str(name), name)};")
        names.insert(0, f"field_{name}")
    return f"""
module dut (
  input clk,
  input signed [31:0] accumulator, multiplier,
  input signed [7:0] shift, zero_point, low, high,
  output signed [7:0] result
);
{chr(10).join(wires)}
  wire i_ready, o_valid;
  eightfold_requantizer requantizer (
    .clk(clk), .rst(1'b0), .i__valid(1'b1), .i__ready(i_ready),
    .i__payload({{{", ".join(names)}, accumulator}}),
    .o__valid(o_valid), .o__ready(1'b1), .o__payload(result)
  );
endmodule
"""


@needs_icarus
@pytest.mark.slow
@pytest.mark.parametrize("standard", ["2005", "2012"])
def test_our_requantizer_answers_after_its_latency(standard: str, tmp_path: Path) -> None:
    write_unit(tmp_path, "requantizer", TFLITE)
    (tmp_path / "ours.v").write_text(unit_verilog("requantizer", AcceleratorConfig()) + wrapper())
    for latency, right in ((Requantizer.LATENCY, True), (Requantizer.LATENCY + 1, False)):
        last = simulate(tmp_path, standard, f"-DLATENCY={latency}", "ours.v")
        assert (last == "0 of 2569 answers are wrong") is right


ANSWERS = {
    "requantizer": "result = 8'd0",
    "dot": "result = 32'd0",
    "tables": "result = 2048'd0",
    "fake_quantize": "{zero_point, scale, valid} = 48'd0",
    "sequence": "result = 32'd0",
}


@needs_icarus
@pytest.mark.parametrize("standard", ["2005", "2012"])
@pytest.mark.parametrize("unit", UNITS)
def test_every_bench_compiles_and_counts(unit: str, standard: str, tmp_path: Path) -> None:
    _, cases = write_unit(tmp_path, unit, TFLITE)
    kind = UNIT_KINDS[unit]
    ports = [
        f"{way} [{column.width - 1}:0] {column.name}"
        for way, columns in (("input", kind.inputs), ("output", kind.results))
        for column in columns
    ]
    text = f"module zeros ({', '.join(ports)});\n  assign {ANSWERS[unit]};\nendmodule\n"
    (tmp_path / "zeros.v").write_text(text)
    last = simulate(tmp_path, standard, "-DDUT=zeros", "zeros.v")
    assert last == f"{_not_zero(cases)} of {len(cases)} answers are wrong"


def _not_zero(cases: UnitCases) -> int:
    rows = [values.reshape(len(cases), -1) for values in cases.results.values()]
    return int(np.sum(np.any(np.concatenate(rows, axis=1) != 0, axis=1)))


BODIES = {
    "requantizer": """
    int32_t x = (int32_t)((uint32_t)c->accumulator << (c->shift > 0 ? c->shift : 0));
    int32_t y = (int32_t)(((int64_t)x * c->multiplier + (1ll << 30)) >> 31);
    int e = c->shift < 0 ? -c->shift : 0;
    int64_t half = e ? 1ll << (e - 1) : 0;
    int32_t z = (int32_t)((y + (y < 0 && e ? half - 1 : half)) >> e);
    int32_t v = (int32_t)((uint32_t)z + (uint32_t)c->zero_point);
    r.result = (int8_t)(v < c->low ? c->low : v > c->high ? c->high : v);""",
    "dot": """
    uint32_t sum = (uint32_t)c->bias;
    for (int i = 0; i < c->length; i++)
        sum += (uint32_t)((c->inputs[i] - c->input_zero_point) *
                          (c->weights[i] - c->weight_zero_point));
    r.result = (int32_t)sum;""",
    "tables": "\n    for (int i = 0; i < 256; i++)\n        r.result[i] = c->input_zero_point;",
    "fake_quantize": "\n    r.valid = c->levels == 256;",
    "sequence": """
    static uint32_t sum;
    sum = c->clear ? (uint32_t)c->bias : sum;
    for (int i = 0; i < 4; i++)
        sum += (uint32_t)((c->inputs[i] - c->input_zero_point) * c->weights[i]);
    r.result = (int32_t)sum;""",
}


@pytest.mark.slow
@needs_c
@pytest.mark.parametrize("unit", UNITS)
def test_c_calls_a_function_for_each_case(unit: str, tmp_path: Path) -> None:
    _, cases = write_unit(tmp_path, unit, TFLITE, form="c")
    (tmp_path / "mine.c").write_text(
        f'#include "vectors.h"\n'
        f"struct {unit}_result {unit}(const struct {unit}_case *c)\n"
        f"{{\n    struct {unit}_result r = {{0}};{BODIES[unit]}\n    return r;\n}}\n"
    )
    subprocess.run(
        ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "run.c", "mine.c"],
        check=True,
        cwd=tmp_path,
    )
    run = subprocess.run([tmp_path / "a.out"], check=False, capture_output=True, text=True)
    expected = unit_files(unit, TFLITE)[0]["expected.hex"].decode().split()
    first, *words = run.stdout.splitlines()
    identity = json.loads((tmp_path / "manifest.json").read_text())["identity"]
    assert first == (
        f"// eightfold cases sha256 {identity}: {unit}, profile tflite, level smoke, seed 0"
    )
    wrong = sum(got != want for got, want in zip(words, expected, strict=True))
    assert run.stderr == f"{wrong} of {len(cases)} results are wrong\n"
    assert run.returncode == (wrong > 0)
    assert (wrong == 0) is (unit in ("requantizer", "dot", "sequence"))
