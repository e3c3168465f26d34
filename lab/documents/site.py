"""The documents as a web site with search: ``python -m lab.documents.site``, ``make docs``.

The documents are copied to ``build/site-source`` as they lie in the repository, with the files that
they link to, so that a link leads to the same place in the repository and on the site. MkDocs makes
``build/site`` of them, as ``mkdocs.yml`` says, and refuses links that lead nowhere.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import click

from eightfold.common.child import run_to_end
from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.common.program import one_line_errors

ROOT = IMPORT_ROOT
PAGES = ("*.md", "docs/**/*.md", "examples/**/*.md")
"""The documents, as patterns below the root."""

STYLE = Path("docs/site.css")

SETTINGS = "mkdocs.yml"
SOURCE, SITE = Path("build/site-source"), Path("build/site")
"""Where `SETTINGS` has MkDocs look for the documents, and put the site."""

_CODE = re.compile(r"^```.*?^```|\n\n(?: {4}[^\n]*\n)+|`[^`\n]+`", re.MULTILINE | re.DOTALL)
"""Fenced, indented and inline code, in which nothing is a link."""

_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(\s*<?([^()\s>]+)>?\s*\)")
_HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)


def pages(root: Path = ROOT) -> list[Path]:
    """Return the documents below ``root``."""
    return sorted({path for pattern in PAGES for path in root.glob(pattern)})


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the file and the anchor, which may be empty, of each link that stays within files."""
    for target in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        if not re.match(r"[a-z]+:", target):
            name, _, anchor = target.partition("#")
            yield ((page.parent / unquote(name)).resolve() if name else page), anchor


def anchors(page: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    titles = (re.sub(r"[^\w\- ]", "", title.lower()) for title in _HEADING.findall(text))
    return {title.replace(" ", "-") for title in titles}


def broken_links(page: Path) -> list[str]:
    """Return the links of a document to files or headings that are not there."""
    broken = []
    for file, anchor in links(page):
        missing = not file.is_file()
        if missing or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            broken.append(f"{page}: {file}{'#' if anchor else ''}{anchor}")
    return broken


def stage(root: Path, folder: Path) -> None:
    """Copy the documents below ``root``, and the files that they link to, into ``folder``."""
    shutil.rmtree(folder, ignore_errors=True)
    every = pages(root)
    linked = {file for page in every for file, _ in links(page) if file.is_relative_to(root)}
    for path in {*every, root / STYLE, *filter(Path.is_file, linked)}:
        target = folder / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def build(root: Path = ROOT) -> Path:
    """Write the site of the documents below ``root``, and return its folder."""
    if find_spec("mkdocs") is None or find_spec("material") is None:
        raise InputError(
            "the site needs MkDocs: run make docs, or .venv/bin/pip install -e '.[docs]'"
        )
    if broken := [link for page in pages(root) for link in broken_links(page)]:
        raise InputError(f"links that lead nowhere: {', '.join(broken)}")
    stage(root, root / SOURCE)
    # Not --quiet: MkDocs then drops the warnings that --strict counts.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean"]
    command += ["--config-file", str(root / SETTINGS)]
    silent = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # the theme's, at every start
    run = run_to_end(command, env=silent)
    if run.returncode:
        messages = [
            line for line in run.stderr.splitlines() if line.startswith(("WARNING", "ERROR"))
        ]
        raise InputError(f"{root / SETTINGS}: MkDocs refuses the site: {'; '.join(messages)}")
    return root / SITE


@click.command()
def site() -> None:
    """Build the documents' site."""
    click.echo(f"{build()}: serve it with python -m http.server -d {SITE}")


if __name__ == "__main__":
    one_line_errors(site)
