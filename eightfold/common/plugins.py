"""What is added to Eightfold by entry points: commands, and suites of campaigns."""

import tomllib
from importlib.metadata import EntryPoint, entry_points

from eightfold.common.files import IMPORT_ROOT


def plugins(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by their names, in the order of these.

    Those of installed packages, and of a checkout what its ``pyproject.toml`` files declare: a
    package that was installed from it to be edited may have been installed before that.
    """
    found = {entry.name: entry for entry in entry_points(group=group)}
    if (IMPORT_ROOT / "Makefile").exists():  # beside installed packages there is none
        for path in (IMPORT_ROOT / "pyproject.toml", *IMPORT_ROOT.glob("*/pyproject.toml")):
            declared = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
            for name, value in declared.get("entry-points", {}).get(group, {}).items():
                found[name] = EntryPoint(name, value, group)
    return dict(sorted(found.items()))
