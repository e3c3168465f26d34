"""What all adapters are: something that answers cases."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from eightfold.common.child import Closing
from eightfold.common.errors import InputError
from eightfold.conformance.answers import Columns, ModelAnswer, UnitAnswers

if TYPE_CHECKING:  # loads a simulator's toolchain
    from eightfold.sim.simulator.build import Design


class Adapter(Closing):
    """Something that answers cases; a context manager, which ends what it has started."""

    runtime: ClassVar[str | None] = None
    """A key of `eightfold.run.reference.runtimes.RUNTIMES`, of what asks one of these."""

    def close(self) -> None:
        """End what was started, if anything."""

    def designs(self) -> Sequence["Design"]:
        """Return what is simulated, so that it can be built before."""
        return ()

    def for_unit(self, unit: str, spec: str) -> "UnitAdapter | None":
        """Return what answers the cases of a unit of a spec; None if nothing here does."""
        return None

    def made_of(self) -> Iterable[Path]:
        """Return the files that it consists of, besides Python modules of its own folder.

        A run is of these files as they were when it began: see
        `eightfold.conformance.adapters.load.files_of`.

        Raises InputError if one does not exist.
        """
        return ()


class UnitAdapter(Adapter, ABC):
    """Answers the cases of one unit."""

    unit: str = "requantizer"
    """A name of `eightfold.conformance.units.registry.UNIT_KINDS`."""

    def for_unit(self, unit: str, spec: str) -> "UnitAdapter | None":
        """Return this, for its own unit."""
        return self if unit == self.unit else None

    @property
    def simulators(self) -> Sequence[str]:
        """The simulators that can have it, the one to take first."""
        return ("verilator", "icarus")

    def simulator_of(self, asked: str | None) -> str:
        """Return a simulator by the name that is asked for, or the first. Raises InputError if it
        is none of `simulators`."""
        if asked is not None and asked not in self.simulators:
            raise InputError(
                f"--backend {asked}: {type(self).__name__} is for {' or '.join(self.simulators)}"
            )
        return asked or self.simulators[0]

    @abstractmethod
    def answer(
        self, cases: Columns, *, simulator: str, seed: int = 0, trace: Path | None = None
    ) -> UnitAnswers:
        """Return the answers to cases.

        ``cases``: by column of the unit's inputs, as `eightfold.conformance.units.unit.UnitCases`
        has them. ``simulator``: one of `simulators`. ``seed``: of pauses between cases. ``trace``:
        file for the waves.

        Raises InputError if the adapter, or what it names, is wrong: a file or a port that does not
        exist.
        """

    def paused(self, pauses: float) -> "UnitAdapter | None":
        """Return the same with ``pauses``, a probability, between cases; None if it has none."""
        return None

    def takes(self, cases: Columns) -> NDArray[np.bool_]:
        """Return which cases fit its ports, shape (cases,): all, where nothing is known of them."""
        return np.ones(len(next(iter(cases.values()))), bool)


class ModelRunner(Adapter, ABC):
    """Computes models."""

    simulator: Literal["verilator", "icarus"] | None = None
    """``verilator`` or ``icarus``, of what is a simulation."""

    @abstractmethod
    def answer(self, model: bytes, inputs: Mapping[int, np.ndarray]) -> ModelAnswer:
        """Return what it makes of a ``.tflite`` file and its inputs by tensor index."""

    def answer_all(
        self, cases: Sequence[tuple[bytes, Mapping[int, np.ndarray]]]
    ) -> list[ModelAnswer]:
        """Return the answers to many models and their inputs, in their order.

        One after the other; what computes many at once, such as a simulator, does it here.
        """
        return [self.answer(model, inputs) for model, inputs in cases]
