"""Components that declare each of their ports once."""

from collections.abc import Mapping
from typing import get_type_hints

from amaranth.lib import wiring
from amaranth.lib.wiring import Member


class Component(wiring.Component):  # noqa: TID251 - the others use this one
    '''A component whose class says of each port its type, its direction and shape, and what for.

    ::

        class Counter(Component):
            step: Annotated[Signal, In(1)]
            """Counts in this cycle."""

            count: Annotated[Signal, lambda self: Out(self.bits)]
            """Steps so far, modulo 2^bits."""

            def __init__(self, bits: int) -> None:
                self.bits = bits
                super().__init__()

    The type is what the attribute is, for type checkers; the member is what Amaranth makes it
    from. Where it depends on parameters, a function of the component returns it, which is called
    by this class's ``__init__``: what it needs is set before that. Ports have the order in which
    they are declared, those of base classes first.

    Parameters
    ----------
    members
        Ports whose names are computed, such as the signals of a bus; they come first.
    '''

    def __init__(self, members: Mapping[str, Member] | None = None) -> None:
        ports = dict(members or {})
        for name, hint in get_type_hints(type(self), include_extras=True).items():
            for member in getattr(hint, "__metadata__", ()):
                ports[name] = member if isinstance(member, Member) else member(self)
        super().__init__(ports)
