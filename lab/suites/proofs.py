"""Proofs about the hardware: what holds for all inputs. A unit is one proof.

Its operator is the file of the hardware, its seed the proof's number among those of the file.
"""

from collections.abc import Iterator, Mapping

from eightfold.campaign.records import Case, Evidence, Unit, Verdict, error_case
from eightfold.campaign.suite import MAKE_HARDWARE, Suite
from eightfold.common.errors import InputError
from eightfold.common.extras import installed_versions, needs_extra
from lab.formal.proof import How, Proof
from lab.suites.common import FILES, Request, planned, run_without_waves

VERDICTS: dict[How, Verdict] = {
    "proved": "passed",
    "refuted": "failed",
    "unknown": "failed",
    "skipped": "refused",
}


def plan(request: Request) -> Iterator[Unit]:
    """Yield a unit for each proof of the files that are asked for, or of all."""
    proofs = _proofs()
    for name in request.files or proofs:
        path, _, number = name.partition(":")
        found = [file for file in proofs if f"{file}/".startswith(f"{path.rstrip('/')}/")]
        seeds = {file: range(len(proofs[file])) for file in found}
        if number and found == [path] and number.isdecimal() and int(number) in seeds[path]:
            seeds[path] = range(int(number), int(number) + 1)
        elif number or not found:
            raise InputError(
                f"--files {name}: there is no such proof; name one of {', '.join(proofs)}, "
                "a folder of them, or FILE:N for number N of a file, counted from 0"
            )
        for file in found:
            for seed in seeds[file]:
                yield Unit(suite="proofs", operator=file, first=seed, count=1, backend="solver")


@needs_extra("prove", "suite proofs")
def _proofs() -> Mapping[str, tuple[Proof, ...]]:
    """Return every proof by its file; loaded here, for other suites need no solver."""
    from lab.formal.proofs import PROOFS

    return PROOFS


def _case(unit: Unit, seed: int) -> Case:
    proof = _proofs()[unit.operator][seed]
    try:
        found = proof.prove()
    except Exception as error:
        return error_case(seed, proof.file, error)
    log = f"{proof.name}: {proof.text}\n{found.message}\n{found.log}"
    return Case(
        seed=seed,
        operator=proof.file,
        verdict=VERDICTS[found.how],
        message=f"{found.how}: {found.message}: {proof.name}",
        evidence=None if found.how == "proved" else Evidence(log=log),
    )


@needs_extra("prove", "suite proofs")
def _tools() -> dict[str, str]:
    """Return what proves, and what writes the hardware down for it."""
    from lab.formal.checker import abc_version

    return installed_versions((*MAKE_HARDWARE, "z3-solver")) | {"ABC": abc_version()}


SUITE = Suite(
    name="proofs",
    text="what holds of the hardware for all inputs, by solvers",
    run=run_without_waves(_case),
    plan=planned(plan),
    options=(FILES,),
    tools=_tools,
    patience=6,  # a proof has its own limit, in CPU time
    subject="file",
)
