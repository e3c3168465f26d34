"""What is missing, and how it is installed: extras of the package, and programs of the system.

Where a package that only some commands need is missing, the extra that brings it is named.

What an extra brings is said once, in ``pyproject.toml``; here it is read from the metadata of the
installed package. `plugins` are what packages add to Eightfold: commands, and suites of campaigns.
"""

import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, requires, version
from importlib.util import find_spec

from packaging.markers import Marker
from packaging.requirements import Requirement

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT

_EXTRA = re.compile(r'(?: and )?extra == "([\w-]+)"$')
"""The end of a marker's text: builds put the extra last, and `Marker` writes it in one form."""


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """Within it, or in a function that it decorates, a package that the extra brings is needed.

    Raises `InputError` if such a package is not installed. That any other module is missing is an
    error of ours and stays a `ModuleNotFoundError`.

    ``extra``: a name of ``project.optional-dependencies``; ``what``: what needs it, the first word
    of the message.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        found = _package_of(error.name or "", extra)
        if found is None:
            raise
        raise missing_package(what, found, extra) from None


def missing_package(what: str, package: str, extra: str) -> InputError:
    """Return the error that ``what`` needs a package of an extra, which is not installed."""
    where = packages_of(extra).get(package)
    only = f", where {where}" if where else ""
    return InputError(
        f"{what} needs {package}, which is not installed: pip install 'eightfold[{extra}]'{only}"
    )


def require_module(module: str) -> None:
    """Raise `ModuleNotFoundError` if there is no such module; it is not loaded.

    For what is used later, or in another process.
    """
    if find_spec(module) is None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of some packages by name; those that are not installed have none."""
    found = {}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _package_of(module: str, extra: str) -> str | None:
    """Return the package of an extra that a module comes with.

    That is the one of the same name, or of the name that the module's begins with (cocotb brings
    ``cocotb_tools``).
    """
    name = module.partition(".")[0].replace("_", "-").lower()
    packages = packages_of(extra)
    fitting = [package for package in packages if f"{name}-".startswith(f"{package.lower()}-")]
    return max(fitting, key=len, default=None)


def packages_of(extra: str) -> dict[str, Marker | None]:
    """Return the packages that an extra asks for, each with the systems that have it.

    The systems are a condition of Python's packaging, None if all have the package. What is always
    installed is of the extra "".
    """
    try:
        lines = requires("eightfold") or []
    except PackageNotFoundError:  # run from a folder of sources that was never installed
        return {}
    found = {}
    for requirement in map(Requirement, lines):
        where = str(requirement.marker or "")
        of = _EXTRA.search(where)
        if (of[1] if of else "") == extra:
            systems = _EXTRA.sub("", where)
            found[requirement.name] = Marker(systems) if systems else None
    return found


_ELSEWHERE = {
    "g++": ("a C++ compiler", "https://gcc.gnu.org", ""),
    "make": ("GNU Make", "https://www.gnu.org/software/make/", ""),
    "perl": ("Perl", "https://www.perl.org", "perl"),
    "iverilog": ("Icarus Verilog", "https://steveicarus.github.io/iverilog/", "icarus-verilog"),
    "ghdl": ("GHDL", "https://github.com/ghdl/ghdl", "ghdl"),
    "nvc": ("NVC", "https://www.nickg.me.uk/nvc/", "nvc"),
    "berkeley-abc": ("ABC as berkeley-abc", "https://github.com/berkeley-abc/abc", ""),
    "liblz4-dev": ("LZ4", "https://lz4.org", ""),
    "zlib1g-dev": ("zlib", "https://zlib.net", ""),
}
"""By their packages in Debian and Ubuntu: what they are, where they come from, and Homebrew's name
for them, empty where it has none or compilers do not find what it installs."""


def how_to_install(*packages: str) -> str:
    """Return the command that installs packages, or where they come from if it is not known here.

    ``packages``: their names in Debian and Ubuntu.
    """
    # Looked for where Debian has it: PATH may be what is wrong.
    if sys.platform == "linux" and shutil.which("apt-get", path=os.defpath):
        return f"apt-get install {' '.join(packages)}"
    known = [_ELSEWHERE[package] for package in packages]
    formulas = [formula for *_, formula in known]
    if sys.platform == "darwin" and all(formulas) and shutil.which("brew"):
        return f"brew install {' '.join(formulas)}"
    return f"install {', '.join(f'{name} from {site}' for name, site, _ in known)}"


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
