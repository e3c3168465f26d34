"""The kit's commands: ``eightfold vectors``, ``eightfold conform`` and ``eightfold golden-c``."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import wraps
from importlib.metadata import version
from json import dumps, loads
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from eightfold.cli.campaign import farm_of, farm_options, run_units
from eightfold.common.errors import InputError
from eightfold.common.extras import needs_extra
from eightfold.common.files import source_key
from eightfold.common.program import option_group, output_folder_option, path_option
from eightfold.common.terminal import terminal_progress

if TYPE_CHECKING:  # golden loads only when needed
    from eightfold.campaign.folder import Folder
    from eightfold.common.progress import OnProgress
    from eightfold.conformance.judge.models.impact import Network
    from eightfold.conformance.profile import Profile
    from eightfold.conformance.results.vectors import Draw
    from eightfold.conformance.units.unit import Level
    from eightfold.conformance.vectors.unit_files import Benches, Format
    from eightfold.conformance.verdict import Judged

UNITS = {
    "requantizer": "An int32 accumulator to int8: multiplier, shift, zero point, clamp.",
    "dot": "A dot product of int8 with zero points and a bias, in int32.",
    "tables": "LOGISTIC, TANH and QUANTIZE of int8: all 256 results for a pair of scales.",
    "fake_quantize": "Ranges of OpenVINO's FakeQuantize as int8 scale and zero point.",
    "sequence": "Steps of a processing element: clear, accumulate, last.",
    "convolution": "TPU-MLIR's Convolution: a window to a code.",
    "inner_product": "TPU-MLIR's InnerProduct: a row to a code.",
    "add_symmetric": "TPU-MLIR's Add of symmetric codes.",
    "add_asymmetric": "TPU-MLIR's Add of codes with zero points, in float32.",
    "avg_pool": "TPU-MLIR's AvgPool: a window to a code, in float32.",
    "leaky_relu": "TPU-MLIR's LeakyReLU.",
    "prelu": "TPU-MLIR's PReLU.",
    "pad": "TPU-MLIR's Pad: a code, or what pads.",
}


case_options = option_group(
    click.option(
        "--profile",
        default="tflite",
        show_default=True,
        metavar="NAME|FILE.toml",
        help="What is claimed: tflite, tflite-single, tflm, eightfold, npu-3x3, ethos-u-like, "
        "requantizer-right-shift, tpu-mlir, tpu-mlir-8, or a file.",
    ),
    click.option(
        "--level",
        type=click.Choice(["smoke", "standard", "full"]),
        default="smoke",
        show_default=True,
        help="How many cases: for seconds, minutes, hours of RTL simulation.",
    ),
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
)


def aspect_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what is asked beside the claims, --beyond-spec and --strictness, as ``aspects``."""

    @wraps(command)
    def with_aspects(**given: Any) -> Any:
        flags = {name: given.pop(name.replace("-", "_")) for name in ASPECTS}
        return command(aspects=[name for name, flag in flags.items() if flag], **given)

    for name, text in reversed(ASPECTS.items()):
        with_aspects = click.option(f"--{name}", is_flag=True, help=text)(with_aspects)
    return with_aspects


ASPECTS = {
    "beyond-spec": "Beside it, what the spec forbids and kernels take, also where C++ leaves it "
    "undefined.",
    "strictness": "Beside it, models that LiteRT refuses.",
}


def folder_option(**more: Any) -> Callable[..., Any]:
    """Return -o DIR, the folder that is written to."""
    path = click.Path(path_type=Path, file_okay=False)
    return click.option("-o", "--output", "folder", type=path, metavar="DIR", **more)


JUDGE_EXAMPLE = """\b
Example, with a requantizer in Verilog of somebody's own:
  eightfold vectors requantizer -o vectors
  (cd vectors; iverilog -DDUT=mine bench.v ../mine.v -o bench; vvp -n bench)
  mkdir results; mv vectors/results.hex results
  eightfold conform judge vectors --results results --html verdict.html
"""


@click.group()
def conform() -> None:
    """Judge hardware, a simulator or a runtime by the spec; a mistake is called by its name."""


report_options = option_group(
    path_option("--html", help="Write the report as a page for a browser."),
    path_option("--junit", help="Write it as JUnit XML for continuous integration."),
    path_option("--json", help="Write it as JSON; docs/conform-json.md has its fields."),
    click.option(
        "--impact",
        multiple=True,
        metavar="MODEL.tflite[=INPUTS.npz]",
        help="Run a network with the mistake that was found, and with the profile's contract, and "
        "say what changes; INPUTS.npz may have labels. Without it inputs are random. More than "
        "once for several networks.",
    ),
)


RUN_EXAMPLE = """\b
Examples:
  a requantizer, multiplier or table in Verilog, whose ports a class in mine.py names
    eightfold conform run --adapter mine.py:Requant --profile mine.toml
  the same behind registers of AXI4-Lite, APB or Wishbone, on Icarus
    eightfold conform run --adapter mine.py:Registers --backend icarus
  a runtime in Python, or any executable, that computes models
    eightfold conform run --adapter mine.py:Runtime --claims CONV_2D,ADD
  runtimes and hardware that come with the kit, every row of the spec
    eightfold conform run --adapter xnnpack --level standard --html xnnpack.html
    eightfold conform run --adapter eightfold --profile eightfold --out ours

docs/conformance.md shows what such a class says.
"""


@conform.command("run", epilog=RUN_EXAMPLE)
@click.option(
    "--adapter",
    required=True,
    metavar="FILE.py:CLASS|NAME",
    help="How it is asked: a class of yours, or litert, litert-optimized, xnnpack, tflm, tosa, "
    "openvino, openvino-float, golden, eightfold, eightfold-icarus.",
)
@case_options
@click.option(
    "--claims",
    metavar="NAMES",
    help="Only these of the profile's: CONV_2D,ADD or networks, for example.",
)
@click.option(
    "--backend",
    type=click.Choice(["verilator", "icarus", "ghdl", "nvc"]),
    help="What simulates hardware: verilator if nothing is said, ghdl for VHDL.",
)
@aspect_options
@farm_options
@path_option(
    "--out",
    metavar="DIR",
    help="Keep what was answered in a new folder, from which the run can be resumed and reported.",
)
@report_options
@needs_extra("campaign", "conform run")
def run(
    adapter: str,
    profile: str,
    level: "Level",
    seed: int,
    claims: str | None,
    backend: str | None,
    aspects: list[str],
    out: Path | None,
    html: Path | None,
    junit: Path | None,
    json: Path | None,
    impact: tuple[str, ...],
    **farm: Any,
) -> None:
    """Ask an implementation all cases of a profile, and judge its answers.

    Cases are shared among processes, here or on a farm, as those of eightfold campaign. With --out
    a run that was interrupted goes on by eightfold campaign resume DIR, and eightfold conform
    report DIR judges it. What is found is said in sentences, with the mistakes that these cases
    could not have told apart, and the conformance statement comes last.

    Exit status 0 if all that was asked is answered and right, 1 if not, 2 for bad input.
    """
    from eightfold.campaign.campaign import begin
    from eightfold.campaign.folder import Folder
    from eightfold.conformance.profile import Profile
    from eightfold.conformance.report import require_reports
    from eightfold.conformance.runs import adapter_name, claims_of, planned
    from eightfold.conformance.suite import Task

    require_reports(html=html, junit=junit, json=json)  # better before the work than after
    claimed = Profile.load(profile)
    _networks(impact, claimed)
    ready = farm_of(**farm)
    task = Task.of(adapter_name(adapter), claimed, level, seed)
    chosen = claims_of(task.load(), claimed, () if claims is None else claims.split(","), aspects)
    units = planned(task, chosen, backend)
    asked = {
        "adapter": task.adapter,
        "profile": claimed.as_dict(),
        "level": level,
        "seed": seed,
        "claims": chosen,
        "backend": units[0].backend,
    }
    with nullcontext(out) if out else TemporaryDirectory(prefix="eightfold-conform-") as path:
        folder = Folder(Path(path))
        begin(folder, asked, units)
        run_units(folder, kept=out is not None, **ready)
        _report(folder, impact, html=html, junit=junit, json=json)


IDENTIFY_EXAMPLE = """\b
Example, and then the unit is held to what was found:
  eightfold conform identify --adapter mine.py:Requant --out mine.toml
  eightfold conform run --adapter mine.py:Requant --profile mine.toml --level standard
"""


@conform.command("identify", epilog=IDENTIFY_EXAMPLE)
@click.option("--adapter", required=True, metavar="FILE.py:CLASS", help="How it is asked.")
@case_options
@click.option(
    "--backend",
    type=click.Choice(["verilator", "icarus"]),
    default="verilator",
    show_default=True,
    help="What simulates hardware.",
)
@path_option("--out", metavar="FILE.toml", help="The profile.")
def identify_command(
    adapter: str, profile: str, level: "Level", seed: int, backend: str, out: Path | None
) -> None:
    """Say which contract a requantizer keeps: what it does where it differs from the spec.

    Cases are asked until one contract is left, with limits of shift, accumulator, multiplier, zero
    point and clamp within which it explains every answer. --out writes it as a profile. --profile
    limits what is asked. docs/contracts.md has more.

    Exit status 0 if a contract explains the unit, 1 if none does, 2 for bad input.
    """
    from eightfold.common.files import write_file
    from eightfold.conformance.adapters.adapter import load_adapter
    from eightfold.conformance.identify import identify, profile_text
    from eightfold.conformance.profile import Profile

    with load_adapter(adapter) as asked:
        found = identify(asked, Profile.load(profile), backend, level, seed)
    click.echo("\n".join(found.lines))
    if found.profile is None:
        raise SystemExit(1)
    if out is not None:
        write_file(out, profile_text(found.profile, found.same))


@conform.command("init")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.v|.sv|.vhd|.py")
@click.option("--top", metavar="NAME", help="The module, if the file has several.")
@click.option(
    "--unit",
    type=click.Choice([*UNITS]),
    default="requantizer",
    show_default=True,
    help="What it claims to be.",
)
@folder_option(default=".", help="Where to write; here by default.")
@needs_extra("rtl", "conform init")
def init(file: Path, top: str | None, unit: str, folder: Path) -> None:
    """Read a module's ports, and write an adapter and a profile to be edited.

    Ports are understood by their names. What could not be guessed has a comment "edit:".
    """
    from eightfold.common.files import write_files
    from eightfold.conformance.adapters.draft import draft

    adapter, profile = folder / f"{file.stem}_adapter.py", folder / f"{file.stem}.toml"
    if there := [str(path) for path in (adapter, profile) if path.exists()]:
        raise InputError(f"{' and '.join(there)}: already there; remove it, or name a folder by -o")
    found = draft(file, top, unit, adapter)
    write_files({adapter: found.adapter.encode(), profile: found.profile.encode()})
    click.echo(f"{adapter} and {profile}: look at {found.questions} places that say edit:")


@conform.command("report")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@report_options
@needs_extra("campaign", "conform report")
def report(folder: Path, impact: tuple[str, ...], **files: Path | None) -> None:
    """Judge what eightfold conform run --out DIR has answered so far.

    What has not been answered is incomplete. Exit status as that of eightfold conform run.
    """
    from eightfold.campaign.folder import Folder
    from eightfold.conformance.report import require_reports

    require_reports(**files)
    _report(Folder(folder), impact, **files)


def _report(folder: "Folder", impact: Sequence[str], **files: Path | None) -> None:
    """Judge a run, write its reports, print the statement, and end with its status."""
    from eightfold.conformance.runs import judge_run, run_facts

    facts = run_facts(folder)  # which refuses what is no run, before the work
    with terminal_progress("judging") as on_progress:
        judged = judge_run(folder, on_progress)
    _say(judged, impact, facts, **files)


def _say(
    judged: "Judged",
    impact: Sequence[str],
    facts: Sequence[tuple[str, str]],
    **files: Path | None,
) -> None:
    """Print a statement with its impact, write its reports, and end with its status."""
    from eightfold.conformance.report import statement_lines, write_reports

    statement, found = judged.statement, []
    if networks := _networks(impact, statement.profile):
        from eightfold.conformance.judge.models.impact import impact_facts

        found = impact_facts(statement.findings, statement.profile, networks)
    click.echo("\n".join(statement_lines(statement, found)))
    write_reports(statement, judged.names, **files, facts=[*facts, *found])
    raise SystemExit(0 if statement.holds else 1)


def _networks(impact: Sequence[str], profile: "Profile") -> "list[Network]":
    """Return the networks of --impact; raises InputError if one cannot be run."""
    if not impact:
        return []
    from eightfold.conformance.judge.models.impact import Network, check_profile

    check_profile(profile)
    return [Network.load(each, reference=profile.reference) for each in impact]


@conform.command("judge", epilog=JUDGE_EXAMPLE)
@click.argument("vectors", type=click.Path(path_type=Path), metavar="DIR")
@path_option(
    "--results",
    required=True,
    metavar="DIR2",
    help="Folder with results.hex, .npz or .csv; of models with CASE/results.npz.",
)
@report_options
def judge(vectors: Path, results: Path, impact: tuple[str, ...], **files: Path | None) -> None:
    """Judge results by the vectors in DIR, which eightfold vectors has written.

    DIR may also have several folders of vectors, such as DIR/requantizer and DIR/operators; then
    DIR2 has a folder of the same name for each. What is found is said in sentences, with the
    mistakes that these cases could not have told apart, and the conformance statement comes last.

    The cases are drawn again from the profile, level and seed that DIR names: who has edited, left
    out or relabelled some is told so. A set of eightfold vectors --set is judged as it is, of any
    version; the statement names its digest.

    Exit status 0 if all is right, 1 if anything deviates, 2 if vectors or results cannot be used:
    changed since they were written, cut, or of other cases.
    """
    from eightfold.conformance.report import require_reports
    from eightfold.conformance.results.folders import judge_folders

    require_reports(**files)  # better before the work than after
    with terminal_progress("judging") as on_progress:
        judged = judge_folders(vectors, results, _remembered(on_progress))
    facts = [("Vectors", judged.statement.vectors)] if judged.statement.vectors else []
    _say(judged, impact, facts, **files)


def _remembered(on_progress: "OnProgress | None") -> "Draw":
    """Return what draws models again, and remembers their digests: a minute for all operators."""
    from eightfold.common.progress import tell
    from eightfold.conformance.results.vectors import model_digests
    from eightfold.conformance.verdict import KIT
    from eightfold.sim.simulator.cache import cached, content_key

    def draw(claim: str, profile: "Profile", level: "Level", seed: int) -> list[str]:
        def make(folder: Path) -> None:
            tell(on_progress, f"drawing the cases of {claim} again")
            text = dumps(model_digests(claim, profile, level, seed))
            (folder / "digests.json").write_text(text, encoding="utf-8")

        drawn_by = [KIT, source_key(), version("numpy"), claim, profile.as_dict(), level, seed]
        folder = cached("cases", content_key(*drawn_by), make)
        return loads((folder / "digests.json").read_text(encoding="utf-8"))

    return draw


@click.group(invoke_without_command=True)
@click.option("--set", "name", metavar="NAME", help="A set to cite: smoke@1.0 or standard@1.0.")
@folder_option(help="Where the set goes: a new folder.")
@click.pass_context
def vectors(context: click.Context, name: str | None, folder: Path | None) -> None:
    """Write cases with the results that the spec demands, for hardware and programs of yours.

    With --set all units, operators and networks as a set that stays the same, whoever writes it:
    its digest is known, and README.md in it says how it is read and cited. docs/conformance.md says
    what the other files are.

    \b
    Example:
      eightfold vectors --set smoke@1.0 -o vectors
    """
    if context.invoked_subcommand is not None:
        if name is not None or folder is not None:
            raise click.UsageError(f"--set and -o come without {context.invoked_subcommand}")
        return
    if name is None or folder is None:
        raise click.UsageError("name a set and a folder, --set NAME -o DIR, or a command")
    from eightfold.conformance.vectors.frozen import recipes, write_set

    known = recipes()
    if name not in known:
        raise click.UsageError(f"--set {name}: no such set; use one of {', '.join(known)}")
    with terminal_progress("vectors") as on_progress:
        made = write_set(folder, known[name], on_progress)
    click.echo(f"{made.name}: {made.cases} cases in {folder}, SHA-256 {made.sha256}")


def _benches(adapter: str, unit: str, form: "Format") -> "Benches":
    """Return what writes the benches of an adapter."""
    from eightfold.conformance.adapters.adapter import load_adapter
    from eightfold.conformance.adapters.stream import StreamAdapter

    loaded = load_adapter(adapter)
    if form != "hex":
        raise InputError(f"--adapter: benches read words; use --format hex, not {form}")
    if not isinstance(loaded, StreamAdapter):
        raise InputError(f"--adapter {adapter}: benches are written for a StreamAdapter alone")
    if loaded.unit != unit:
        raise InputError(f"--adapter {adapter}: answers {loaded.unit}; use vectors {loaded.unit}")
    return loaded.bench_files


def _unit_command(unit: str, text: str) -> click.Command:
    @click.command(unit, help=text)
    @case_options
    @folder_option(required=True)
    @click.option(
        "--format",
        "form",
        type=click.Choice(["hex", "npz", "csv", "c"]),
        default="hex",
        show_default=True,
        help="hex: words for $readmemh with benches in Verilog and SystemVerilog; c: C99 arrays "
        "and a loop.",
    )
    @click.option(
        "--adapter",
        metavar="FILE.py:CLASS",
        help="Write benches for the module of a StreamAdapter: its ports, handshakes and pauses, "
        "in Verilog, SystemVerilog and VHDL; only with --format hex.",
    )
    def write(
        profile: str, level: "Level", form: "Format", adapter: str | None, seed: int, folder: Path
    ) -> None:
        from eightfold.conformance.profile import Profile
        from eightfold.conformance.vectors.unit_files import write_unit

        benches = _benches(adapter, unit, form) if adapter else None
        claimed = Profile.load(profile)
        files, cases = write_unit(folder, unit, claimed, level, form, seed, benches)
        count = len(cases)
        outside = "".join(f", {n} {why} left out" for why, n in cases.left_out.items() if n)
        click.echo(f"{count} cases of {unit} in {folder}: {', '.join(files)}{outside}")

    return write


for _name, _text in UNITS.items():
    vectors.add_command(_unit_command(_name, _text))


@vectors.command("operators")
@case_options
@folder_option(required=True)
@click.option(
    "--operators",
    "names",
    default="all",
    show_default=True,
    metavar="NAMES",
    help="CONV_2D,ADD for example; all are those that the profile claims.",
)
@aspect_options
def operators_command(
    profile: str, level: "Level", seed: int, folder: Path, names: str, aspects: list[str]
) -> None:
    """Models of one operator each: to be computed, every tensor stated, and to be refused."""
    from eightfold.conformance.profile import Profile
    from eightfold.conformance.vectors.models import chosen, write_models

    claimed = Profile.load(profile)
    operators = chosen(names, claimed)
    counts = write_models(folder, claimed.with_aspects(operators, aspects), claimed, level, seed)
    models = f"{counts['computed']} models to compute, {counts['refused']} to refuse"
    click.echo(f"{len(operators)} operators in {folder}: {models}")


@vectors.command("networks")
@case_options
@folder_option(required=True)
def networks_command(profile: str, level: "Level", seed: int, folder: Path) -> None:
    """Random networks of the operators that the profile claims, every tensor stated."""
    from eightfold.conformance.profile import NETWORKS, Profile
    from eightfold.conformance.vectors.models import write_models

    counts = write_models(folder, [NETWORKS], Profile.load(profile), level, seed)
    click.echo(f"{counts['computed']} networks in {folder}")


@click.command("golden-c")
@output_folder_option
@click.option("--profile", metavar="FILE.toml", help="Write the contract that it states, too.")
def golden_c(output: Path, profile: str | None) -> None:
    """Write the reference arithmetic as C99, for C models and DPI-C.

    Fixed-point primitives, the requantizer, and the kernels of LOGISTIC, TANH, QUANTIZE, the RELU
    family, LEAKY_RELU, ADD, SUB, MUL, CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED, the pools, MEAN
    and SUM, bit for bit as golden computes them: a header that documents every function, C files
    that need nothing but the C standard library, and a SystemVerilog package that imports the
    scalar functions. See docs/golden-c.md.

    \b
    Example:
      eightfold golden-c -o golden-c
      cc -std=c99 -O2 -Igolden-c my_model.c golden-c/*.c -lm
    """
    from eightfold.conformance.c import write_golden_c
    from eightfold.conformance.profile import Profile

    for path in write_golden_c(output, Profile.load(profile) if profile else None):
        click.echo(path)


@click.command()
@click.argument("name", required=False, metavar="[RULE_OR_OPERATOR]")
@click.option("--json", "as_json", is_flag=True, help="Print the whole records as JSON.")
def spec(name: str | None, as_json: bool) -> None:
    """Print the numbered rules of the TFLite 8-bit spec, which findings cite.

    A rule such as TFL8-CONV_2D-3 with all that is known of it: where the spec says it, what
    eightfold check asks because of it, cases that show it, and mistakes with a name that break it.
    Those of an operator, of GENERAL, or without a name all of them: one to a line.
    """
    from eightfold.conformance.citation import record_of
    from eightfold.operators.spec import RULES, rules_of

    rules = rules_of(name) if name is not None else [*RULES.values()]
    if as_json:
        click.echo(dumps([record_of(each) for each in rules], indent=1))
    elif len(rules) > 1:
        click.echo("\n".join(f"{each.identity:26}{each.text}" for each in rules))
    else:
        for field, value in record_of(rules[0]).items():
            if value:
                click.echo(f"{field}: {', '.join(value) if isinstance(value, list) else value}")
