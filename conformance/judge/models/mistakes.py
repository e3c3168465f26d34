"""All mistakes of operators that have a name."""

from functools import cache

from eightfold.conformance.judge.models.elementwise import ELEMENTWISE
from eightfold.conformance.judge.models.movement import MOVEMENT
from eightfold.conformance.judge.models.pools import POOLS
from eightfold.conformance.judge.models.rows import ROWS
from eightfold.conformance.judge.models.runtimes import RUNTIMES
from eightfold.conformance.judge.models.scaling import mistakes_inside
from eightfold.conformance.judge.models.subject import OperatorMistake
from eightfold.conformance.judge.models.weighted import WEIGHTED


@cache
def operator_mistakes(operator: str) -> tuple[OperatorMistake, ...]:
    """Return the mistakes of an operator: its own first, then those of requantizers inside it."""
    tables = (RUNTIMES, WEIGHTED, POOLS, ELEMENTWISE, ROWS, MOVEMENT)
    own = [mistake for table in tables for mistake in table.get(operator, ())]
    return (*own, *mistakes_inside(operator))
