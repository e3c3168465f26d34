"""Hashes of what a change of the layout must not change: ``python -m lab.frozen``.

`RECORD` has them by part:

- ``verilog``: every unit of every preset.
- ``streams``: commands, memory image and layout of random models of every operator, and of whole
  networks, as three configurations compile them.
- ``vectors``: the conformance kit's cases of every profile at level ``smoke``, in every format.
- ``pages``: page, JUnit and JSON of made-up campaigns.
- ``tests``: the names of each file's test functions.
"""

import ast
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import chdir
from itertools import product
from pathlib import Path

import click

from eightfold.campaign.folder import Folder
from eightfold.campaign.report import write_report
from eightfold.cases.networks import network_rng, random_network
from eightfold.cases.operators import OPERATORS, accelerator_case, case_rng
from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT, NETWORKS, write_file
from eightfold.common.program import one_line_errors
from eightfold.compiler.passes import prepare
from eightfold.conformance.profile import NETWORKS as NETWORKS_CLAIM
from eightfold.conformance.profile import PROFILES, UNITS, Profile
from eightfold.conformance.vectors.models import digest_of_cases, model_cases
from eightfold.conformance.vectors.unit_files import FORMATS, unit_files
from eightfold.hw.units import UNITS as HARDWARE_UNITS
from eightfold.operators import load_model
from eightfold.rtl.verilog import unit_verilog
from eightfold.target.config import PRESETS, AcceleratorConfig
from examples.mobilenet import mobilenet_model
from examples.operators import operators_model
from tests.support.campaign.folders import Plan, broken, different, make_campaign, mixed
from tests.support.networks.cascades import block_model
from tests.support.networks.redundant import redundant_model
from tests.support.networks.sparse import sparse_model

RECORD = Path(__file__).with_suffix(".json")

SEEDS = range(20)
"""Random models of an operator."""

CONFIGS = {
    "nano": PRESETS["nano"],
    "small": PRESETS["small"],
    "little-fits": AcceleratorConfig.load(IMPORT_ROOT / "tests" / "configs" / "little-fits.toml"),
}
"""Configurations that streams are compiled for."""

MODELS: Mapping[str, Callable[[], bytes]] = {
    "digits": lambda: (NETWORKS / "digits.tflite").read_bytes(),
    "every operator": operators_model,
    "MobileNetV2": lambda: mobilenet_model(0.35, 96, 10),
    "MobileNetV2, explicit": lambda: mobilenet_model(0.35, 64, 10, explicit=True),
    "block": block_model,
    "redundant": lambda: redundant_model(0),
    "sparse": lambda: sparse_model(0),
    "random": lambda: random_network(network_rng(0))[0],
}
"""Whole networks."""

CAMPAIGNS: Mapping[str, Callable[[Path], Folder]] = {
    "mixed": mixed,
    "passed": lambda path: make_campaign(path, Plan(coverage=1.0)),
    "stopped": lambda path: make_campaign(
        path,
        Plan(
            chosen={
                ("ADD", "golden", 5): different("ADD", 5),
                ("ADD", "golden", 7): broken("ADD", 7),
            },
            ends=0.7,
        ),
    ),
}
"""Made-up campaigns, by what became of them."""

FACTS = {"created": "2026-01-01T00:00:00+00:00", "commit": "0" * 40, "machine": {}, "versions": {}}
"""Facts of the campaigns that would differ from one machine or day to the next."""


def sha(*contents: bytes) -> str:
    """Return a short hash of some contents and their sizes."""
    digest = hashlib.sha256()
    for content in contents:
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:16]


def verilog(unit: str, preset: str) -> str:
    return sha(unit_verilog(unit, PRESETS[preset]).encode())


def operator_streams(operator: str, name: str) -> str:
    """Hash what random models of an operator are compiled to."""
    models = (accelerator_case(operator, case_rng(operator, seed))[0] for seed in SEEDS)
    return sha(*(part for model in models for part in _compiled(model, CONFIGS[name])))


def network_streams(network: str, name: str) -> str:
    """Hash what a whole network is compiled to."""
    return sha(*_compiled(MODELS[network](), CONFIGS[name]))


def _compiled(model: bytes, config: AcceleratorConfig) -> Iterator[bytes]:
    """Yield the compiled segments of a model, or why there are none."""
    try:
        network = prepare(load_model(model), config, fallback=True).network
    except InputError as error:
        yield str(error).encode()
        return
    for compiled in network.streams:
        layout = (compiled.arena, sorted(compiled.inputs.items()), sorted(compiled.outputs.items()))
        yield from (compiled.words.tobytes(), compiled.model, repr(layout).encode())


def unit_vectors(unit: str, profile: str, form: str) -> str:
    """Hash the files of a unit's cases."""
    files, _ = unit_files(unit, Profile.load(profile), form=form)  # pyright: ignore[reportArgumentType]
    return sha(
        *(part for name, content in sorted(files.items()) for part in (name.encode(), content))
    )


def operator_vectors(operator: str, profile: str) -> str:
    """Hash an operator's models within a profile."""
    return sha(digest_of_cases(model_cases(operator, Profile.load(profile))).encode())


def network_vectors(profile: str) -> str:
    return sha(digest_of_cases(model_cases(NETWORKS_CLAIM, Profile.load(profile))).encode())


def pages(name: str) -> str:
    """Hash the reports of a made-up campaign."""
    with tempfile.TemporaryDirectory(prefix="eightfold-") as scratch, chdir(scratch):
        folder = CAMPAIGNS[name](Path(name))
        folder.facts_file.write_text(json.dumps({**folder.facts(), **FACTS}), encoding="utf-8")
        forms = {form: Path(f"report.{form}") for form in ("html", "junit", "json")}
        write_report(folder, **forms)
        # Processors differ in the last digits of what a chart's axes are computed with.
        contents = (path.read_bytes() for path in forms.values())
        return sha(*(re.sub(rb"(\.\d\d)\d{3,}", rb"\1", content) for content in contents))


def tests(file: str) -> str:
    """Say how many test functions a file has, with a hash of their names."""
    names = sorted(_tests((IMPORT_ROOT / file).read_text(encoding="utf-8")))
    return f"{len(names)} {sha(*(name.encode() for name in names))}"


def _tests(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = [ast.unparse(each) for each in node.decorator_list]
            if node.name.startswith("test_") or any("cocotb.test" in each for each in decorators):
                yield node.name


def _profiles(claims: Iterable[str]) -> list[str]:
    return [name for name, profile in PROFILES.items() if set(claims) & set(profile.claims)]


def _test_files() -> Iterator[str]:
    for path in sorted(p for top in ("tests", "sim") for p in (IMPORT_ROOT / top).rglob("*.py")):
        if any(_tests(path.read_text(encoding="utf-8"))):
            yield path.relative_to(IMPORT_ROOT).as_posix()


PARTS: Mapping[str, Mapping[Callable[..., str], Callable[[], Iterable[tuple[str, ...]]]]] = {
    "verilog": {verilog: lambda: product(HARDWARE_UNITS, PRESETS)},
    "streams": {
        operator_streams: lambda: product(OPERATORS, CONFIGS),
        network_streams: lambda: product(MODELS, CONFIGS),
    },
    "vectors": {
        unit_vectors: lambda: (
            (unit, profile, form)
            for unit in UNITS
            for profile, form in product(_profiles([unit]), FORMATS)
        ),
        operator_vectors: lambda: (
            (operator, profile) for operator in OPERATORS for profile in _profiles([operator])
        ),
        network_vectors: lambda: ((profile,) for profile in _profiles([NETWORKS_CLAIM])),
    },
    "pages": {pages: lambda: ((name,) for name in CAMPAIGNS)},
    "tests": {tests: lambda: ((file,) for file in _test_files())},
}
"""For each part the functions that hash, and what each is called with."""


def _hashed(function: Callable[..., str], arguments: tuple[str, ...]) -> str:
    """Return what a function hashes; where it refuses, the hash of why."""
    try:
        return function(*arguments)
    except InputError as error:
        return sha(str(error).encode())


def freeze(parts: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the hashes of some parts by their names, made in a process for each core."""
    record: dict[str, dict[str, str]] = {part: {} for part in parts}
    with ProcessPoolExecutor() as pool:
        futures = {
            pool.submit(_hashed, function, arguments): (
                part,
                f"{function.__name__} {' '.join(arguments)}",
            )
            for part in parts
            for function, calls in PARTS[part].items()
            for arguments in calls()
        }
        with click.progressbar(
            as_completed(futures), len(futures), "hashes", hidden=not sys.stderr.isatty()
        ) as ended:
            for future in ended:
                part, name = futures[future]
                record[part][name] = future.result()
    return {part: dict(sorted(hashes.items())) for part, hashes in record.items()}


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Yield what is gone, new or other among the hashes of a part.

    What has its hash under another name has moved, which is no difference.
    """
    gone, new = before.keys() - after.keys(), after.keys() - before.keys()
    for name in sorted(gone):
        if moved := next((other for other in sorted(new) if after[other] == before[name]), None):
            gone, new = gone - {name}, new - {moved}
    for name in sorted(gone | new | (before.keys() & after.keys())):
        if name not in after:
            yield f"gone: {name}"
        elif name not in before:
            yield f"new: {name}"
        elif before[name] != after[name]:
            yield f"other: {name}"


def _lost_tests() -> Iterator[str]:
    """Yield the test functions that were there when the record was written and are not any more."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(IMPORT_ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    commit = git("log", "-1", "--format=%H", "--", str(RECORD)).strip()
    if not commit:
        return
    names = git("ls-tree", "-r", "--name-only", commit, "tests", "sim").split("\n")
    sources = [name for name in names if name.endswith(".py")]
    before = {test for name in sources for test in _tests(git("show", f"{commit}:{name}"))}
    now = {test for name in _test_files() for test in _tests((IMPORT_ROOT / name).read_text())}
    yield from sorted(before - now)


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
@click.option("--write", is_flag=True, help="Write the record anew.")
def main(parts: tuple[str, ...], write: bool) -> None:
    """Compare the hashes of PARTS, of all without any, with the record; exit 1 if one differs."""
    kept = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    now = freeze(parts or tuple(PARTS))
    changed = {part: list(differences(kept.get(part, {}), now[part])) for part in now}
    for part, lines in changed.items():
        click.echo(f"{part}: {len(now[part])} hashes, {len(lines)} differ")
        for line in lines:
            click.echo(f"  {line}")
    if changed.get("tests"):
        for name in _lost_tests():
            click.echo(f"  no test function of this name any more: {name}")
    if write:
        write_file(RECORD, json.dumps({**kept, **now}, indent=1) + "\n")
    elif any(changed.values()):
        sys.exit(1)


if __name__ == "__main__":
    one_line_errors(main)
