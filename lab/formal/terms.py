"""z3 without its annotations, by which each operation may return any of two dozen types."""

from typing import Any

import z3 as _z3

z3: Any = _z3

Term = Any
"""A word or a condition of z3."""
