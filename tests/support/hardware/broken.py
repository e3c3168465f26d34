"""Components with a fault in their source, for benches that have to notice it.

Most faults are for `lab.mutants` to make; these are what none of its operators makes, and what
benches have to explain.
"""

import inspect
import sys
from typing import Any

from lab.formal.proof import Break


def broken(component: type, fault: Break) -> Any:
    """Return a component of the same name, from its module's source with the fault.

    Raises `InputError` if the source has not exactly one place for the fault.
    """
    module = sys.modules[component.__module__]
    names: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(fault.applied(inspect.getsource(module)), str(module.__file__), "exec"), names)
    return names[component.__name__]
