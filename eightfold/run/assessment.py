"""One verdict about a file: whether it keeps to the spec, where each operator runs, what it costs.

What `eightfold check` shows, and the suite `files` of campaigns keeps of each file. Nothing is
simulated: bytes are those of the compiled streams, cycles those of the estimate. docs/check-json.md
lists the fields of its JSON.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, TypedDict

from eightfold.common.errors import InputError, Untaken
from eightfold.common.progress import OnProgress, tell
from eightfold.golden.quantization import Reference
from eightfold.model import Graph, read_model
from eightfold.model.inputs import random_inputs
from eightfold.operators import (
    Finding,
    check_model,
    check_prepared,
    findings_as_json,
    has_violation,
    host_operators,
    load_int8,
    render,
    run_graph,
    unsupported,
)
from eightfold.operators.gate import misfits
from eightfold.operators.run import UndefinedResult
from eightfold.run.report.clock import clock_of, times_json
from eightfold.run.report.result import REWRITTEN, hardware_reports
from eightfold.target.config import AcceleratorConfig


class PlaceJson(TypedDict):
    """An operator, and where it runs at the preset where most is possible."""

    index: Annotated[int, "its index"]
    name: Annotated[str, "its name"]
    where: Annotated[
        str | None,
        "`hardware`, `host` at the edges, `golden` with `--fallback golden`, or `nowhere`; null if "
        "it is not known, as another operator stops the network",
    ]
    reason: Annotated[str | None, "why it is in golden, or nowhere"]


class PresetJson(TypedDict):
    """The network at a preset, or another configuration."""

    config: Annotated[str, "its name"]
    status: Annotated[str, "`runs`, `fallback` or `refused`: as of the whole report"]
    reason: Annotated[str | None, "why it is refused"]
    cycles: Annotated[int | None, "of what the accelerator computes, by the estimate; null if none"]
    milliseconds: Annotated[float | None, "their time, at a preset whose clock was measured"]
    commands_bytes: Annotated[int | None, "of the command streams"]
    model_bytes: Annotated[int | None, "of weights and parameters"]
    arena_bytes: Annotated[int | None, "of memory for tensors"]
    scratchpad_bytes: Annotated[int | None, "in use of the scratchpad, up to the last one"]


class AdviceJson(TypedDict):
    """Something in the way of int8 throughout."""

    found: Annotated[str, "what it is"]
    line: Annotated[str, "the line for TensorFlow's converter that changes it"]


class CheckJson(TypedDict):
    """What `eightfold check` says of a file."""

    model: Annotated[str, "the file"]
    status: Annotated[
        str,
        "`runs`, on the accelerator but for conversions at the edges; `fallback`: with `--fallback "
        "golden`; `refused`; at the preset where most is possible",
    ]
    reason: Annotated[str | None, "why it is refused"]
    conforms: Annotated[bool, "whether it was read, and violates no row of the spec"]
    violations: Annotated[int, "how many findings are violations"]
    notes: Annotated[int, "how many are notes"]
    findings: Annotated[list[Finding], "where it is not as the spec or the kernels want it"]
    operators: Annotated[list[PlaceJson], "all operators; none if the file is not taken at all"]
    presets: Annotated[list[PresetJson], "those that were asked for"]
    advice: Annotated[list[AdviceJson], "what to change when the network is converted"]


NOWHERE = "nowhere"
"""Where an operator runs that neither the accelerator nor golden nor the host computes."""

STATUSES = ("runs", "fallback", "refused")
"""Whether a network runs, from best to worst: on the accelerator but for what the host converts at
its edges; with ``--fallback golden``; not at all."""

Places = Mapping[int, tuple[str, str]]
"""By operator: ``hardware``, ``host``, ``golden`` or `NOWHERE`; why one of the last two, or ""."""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A network at one configuration: its `STATUSES`, and if it is refused why, in a line.

    ``places``: where operators run; ``bytes`` as `eightfold.compiler.artifacts.region_bytes` has
    them, ``cycles`` by the estimate of what the accelerator computes: both None of a network that
    is refused, or none of whose operators the accelerator computes.
    """

    config: str
    status: str
    reason: str = ""
    places: Places = field(default_factory=dict)
    cycles: int | None = None
    bytes: Mapping[str, int] | None = None


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """What is known of a file without running it on hardware.

    ``graph`` is None if not even that could be made of the file; ``findings`` beside the spec;
    ``fits`` by configuration; ``advice``: what is in the way, and the converter's line that changes
    it.
    """

    model: str
    graph: Graph | None
    findings: Sequence[Finding]
    fits: Sequence[Fit]
    advice: Sequence[tuple[str, str]]

    @property
    def best(self) -> Fit:
        """The fit with the best status, of equal ones that of most bytes of scratchpad."""
        return min(reversed(self.fits), key=lambda fit: STATUSES.index(fit.status))

    def finding_lines(self) -> list[str]:
        """Return a line for each finding, violations first; notes of one kind are one line."""
        if self.graph is None:
            return []
        groups: dict[tuple[str, ...], list[Finding]] = {}
        for each in sorted(self.findings, key=lambda finding: finding.severity != "violation"):
            kind = (each.rule, each.source, each.operator_name, each.found)
            alone = each.severity == "violation"
            groups.setdefault((*kind, str(len(groups))) if alone else kind, []).append(each)
        firsts = render((group[0] for group in groups.values()), self.graph)
        return [
            line + f" (and {len(group) - 1} more such)" * (len(group) > 1)
            for line, group in zip(firsts, groups.values(), strict=True)
        ]

    def as_json(self) -> dict[str, Any]:
        """Return plain data, as `eightfold.run.assessment` has it."""
        operators = self.graph.operators if self.graph else ()
        places = self.best.places
        return {
            "model": self.model,
            "status": self.best.status,
            "reason": self.best.reason or None,
            "conforms": self.graph is not None and not has_violation(self.findings),
            **findings_as_json(self.findings),
            "operators": [
                {"index": op.index, "name": op.name, "where": where, "reason": reason or None}
                for op in operators
                for where, reason in [places.get(op.index, (None, ""))]
            ],
            "presets": [_fit_json(fit) for fit in self.fits],
            "advice": [{"found": found, "line": line} for found, line in self.advice],
        }


def _fit_json(fit: Fit) -> dict[str, Any]:
    sizes = fit.bytes or dict.fromkeys(("commands", "model", "arena", "scratchpad"))
    times = times_json(fit.cycles, clock_of(AcceleratorConfig.load(fit.config)))
    return {
        "config": fit.config,
        "status": fit.status,
        "reason": fit.reason or None,
        "cycles": fit.cycles,
        "milliseconds": times["milliseconds"],
        **{f"{name}_bytes": size for name, size in sizes.items()},
    }


def assess(
    source: bytes | str | Path,
    configs: Sequence[str | AcceleratorConfig],
    reference: Reference = "litert",
    *,
    on_progress: OnProgress | None = None,
) -> Assessment:
    """Return what becomes of a file at some configurations, of which there is one at least.

    Raises `InputError` if there is no such file, or it is damaged.

    ``source``: the bytes of a ``.tflite`` file, or its path; ``configs``: names of presets,
    ``.toml`` files, or configurations, which are called ``custom``; ``reference``: whose kernels to
    equal where LiteRT and TFLite Micro differ; ``on_progress``: called with the configuration that
    is compiled for.
    """
    model = "model" if isinstance(source, bytes) else str(source)
    try:
        graph, findings = check_prepared(read_model(source))
    except Untaken as untaken:
        fits = [Fit(config=_name(c), status="refused", reason=str(untaken)) for c in configs]
        return Assessment(model=model, graph=None, findings=[], fits=fits, advice=[])
    findings += check_model(graph)
    try:
        int8 = load_int8(source)
    except InputError as error:
        fit = partial(_refused, graph, error)
    else:
        golden = cache(partial(_golden_refusal, int8, reference))  # golden runs it at most once
        fit = partial(_fit, int8, graph, reference, golden)
    fits = []
    for number, config in enumerate(configs):
        tell(on_progress, f"compiling for {_name(config)}", number, len(configs))
        fits.append(fit(config))
    advice = list(dict.fromkeys(_advice(graph, findings)))
    return Assessment(model=model, graph=graph, findings=findings, fits=fits, advice=advice)


def _name(config: str | AcceleratorConfig) -> str:
    return config if isinstance(config, str) else "custom"


def _fit(
    graph: Graph,
    read: Graph,
    reference: Reference,
    golden_refusal: Callable[[], InputError | None],
    config: str | AcceleratorConfig,
) -> Fit:
    from eightfold.compiler.artifacts import region_bytes
    from eightfold.compiler.passes import prepare
    from eightfold.estimate.estimate import estimate

    sizes = AcceleratorConfig.load(config)
    try:
        prepared = prepare(graph, sizes, reference, fallback=True)
    except InputError as error:
        return _refused(read, error, config)
    if prepared.network.reasons and (refusal := golden_refusal()):
        return _refused(read, refusal, config)
    streams = prepared.network.streams
    reports = hardware_reports(graph, prepared, sizes)
    return Fit(
        config=_name(config),
        status="fallback" if prepared.network.reasons else "runs",
        places={
            report.index: (
                "hardware" if report.where == REWRITTEN else report.where,
                report.reason or "",
            )
            for report in reports
        },
        cycles=estimate(streams).total if streams else None,
        bytes=region_bytes(streams) if streams else None,
    )


def _refused(read: Graph, error: InputError, config: str | AcceleratorConfig) -> Fit:
    reasons = {op.index: unsupported(read.tensors, op) for op in read.operators}
    places = {index: (NOWHERE, reason) for index, reason in reasons.items() if reason}
    return Fit(config=_name(config), status="refused", reason=str(error), places=places)


def _golden_refusal(graph: Graph, reference: Reference) -> InputError | None:
    """Return why golden refuses an operator, of which the compiler knows no more."""
    try:
        run_graph(graph, random_inputs(graph, 0), reference)
    except UndefinedResult:
        return None  # for these values
    except InputError as error:
        return error
    return None


_INT8 = "converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]"
_CALIBRATE = "converter.representative_dataset = representative_dataset"
_QUANTIZER = "converter.experimental_new_quantizer = True"

_LINES = {
    "float32": ("converter.optimizations = [tf.lite.Optimize.DEFAULT]", _CALIBRATE, _INT8),
    "uint8": (_QUANTIZER, _CALIBRATE, _INT8),
    "int16": (_INT8,),
}
"""What makes TensorFlow's converter give int8 within a network that has an element type."""


def _advice(graph: Graph, findings: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    """Yield what is in the way of int8 throughout, each with a line for TensorFlow's converter."""
    for side, tensors in (("input", graph.inputs), ("output", graph.outputs)):
        for kind in (graph.tensors[index].dtype.name for index in tensors):
            if kind in ("float32", "uint8"):
                yield f"{kind} {side}", f"converter.inference_{side}_type = tf.int8"
    at_edges = host_operators(graph)
    for operator, tensor in misfits(graph):
        if operator.index not in at_edges:
            for line in _LINES.get(tensor.dtype.name, ()):
                yield f"operators on {tensor.dtype.name}", line
    for finding in findings:
        if finding.found.startswith("one scale for"):
            yield "weights per tensor", "converter._experimental_disable_per_channel = False"
        elif finding.severity == "violation" and _is_quantization(finding):
            yield "quantization that the spec forbids", _QUANTIZER


def _is_quantization(finding: Finding) -> bool:
    """Return whether a row of the spec asks it, of scales, zero points or codes."""
    return finding.source.startswith("spec") and not finding.rule.startswith("data_type")
