"""JSON against the schema that declares its fields, from which the documents' tables are made."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict


def check_fields(values: object, schema: Any, name: str = "report") -> None:
    """Check that a value of JSON is what a schema says: its fields, in their order, their types."""
    if schema is Any:
        return
    if is_typeddict(schema) or is_dataclass(schema):
        assert isinstance(values, dict), name
        hints = get_type_hints(schema)
        assert list(values) == list(hints), name
        for field, hint in hints.items():
            check_fields(values[field], hint, f"{name}.{field}")
    elif isinstance(schema, UnionType):
        chosen = [kind for kind in get_args(schema) if (kind is NoneType) == (values is None)]
        assert chosen, name
        check_fields(values, chosen[0], name)
    elif get_origin(schema) is Literal:
        assert values in get_args(schema), name
    elif get_origin(schema) in (list, tuple):
        assert isinstance(values, list), name
        for number, value in enumerate(values):
            check_fields(value, get_args(schema)[0], f"{name}[{number}]")
    elif get_origin(schema) is dict:
        assert isinstance(values, Mapping), name
    elif schema is float:
        assert isinstance(values, int | float) and not isinstance(values, bool), name
    else:
        assert type(values) is schema, name
