"""What is measured of an operator: series of models of three sizes."""

from collections.abc import Callable
from dataclasses import dataclass

from eightfold.ops.subject import Case, Size, Subject, Work

Build = Callable[[Subject, Size], Work]
"""Adds the operator to a model, and says what it has to do."""

INPUTS, OUTPUTS, WEIGHTS = "input", "output", "weight"
"""What the elements of a series are."""


@dataclass(frozen=True)
class Series:
    """Models that differ in size alone.

    Attributes
    ----------
    label
        What they have in common.
    build
        Makes one.
    counted
        What `Work.elements` counts.
    unit
        What `Work.units` counts, in the singular; empty if it is None.
    """

    label: str
    build: Build
    counted: str = OUTPUTS
    unit: str = ""

    def case(self, size: Size, *, inside: bool = True) -> Case:
        """Return the model of a size; ``inside`` as `Subject` takes it."""
        subject = Subject(inside)
        return subject.finish(self.build(subject, size))
