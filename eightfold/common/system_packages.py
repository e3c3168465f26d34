"""Programs and libraries that no Python package brings, and how this system installs them."""

import os
import shutil
import sys

_ELSEWHERE = {
    "g++": ("a C++ compiler", "https://gcc.gnu.org", ""),
    "make": ("GNU Make", "https://www.gnu.org/software/make/", ""),
    "perl": ("Perl", "https://www.perl.org", "perl"),
    "iverilog": ("Icarus Verilog", "https://steveicarus.github.io/iverilog/", "icarus-verilog"),
    "berkeley-abc": ("ABC as berkeley-abc", "https://github.com/berkeley-abc/abc", ""),
    "liblz4-dev": ("LZ4", "https://lz4.org", ""),
    "zlib1g-dev": ("zlib", "https://zlib.net", ""),
}
"""By their packages in Debian and Ubuntu: what they are, where they come from, and Homebrew's name
for them, empty where it has none or compilers do not find what it installs."""


def how_to_install(*packages: str) -> str:
    """Return the command that installs packages, or where they come from if it is not known here.

    Parameters
    ----------
    packages
        Their names in Debian and Ubuntu.
    """
    # Looked for where Debian has it: PATH may be what is wrong.
    if sys.platform == "linux" and shutil.which("apt-get", path=os.defpath):
        return f"apt-get install {' '.join(packages)}"
    known = [_ELSEWHERE[package] for package in packages]
    formulas = [formula for *_, formula in known]
    if sys.platform == "darwin" and all(formulas) and shutil.which("brew"):
        return f"brew install {' '.join(formulas)}"
    return f"install {', '.join(f'{name} from {site}' for name, site, _ in known)}"
