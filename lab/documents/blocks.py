"""Blocks of output in the documents: what a command prints, by ``python -m
lab.documents.blocks``.

A block is one in three ways:

- The comment ``<!-- output: COMMAND -->`` in front of it has the command, of a shell, that prints
  it. ``slow output`` is the same of a command that takes more than a few seconds.
- Its first line begins with ``$ ``: a *session* of commands, each with what it prints.
- ``<!-- quoted from PAGE -->`` in front of it: a session that another page has as well.

Commands of a page run in one folder, in their order, with the files of the page: blocks whose
language is followed by ``title="NAME"``; the variable ``CHECKOUT`` is the project's folder. ``...``
stands for what is left out. Without ``--write`` the command lists blocks that are not what their
commands print; with it, it writes what they print, as many lines as before where ``...`` is the
first or the last one.
"""

import doctest
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from eightfold.common.child import run_to_end
from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT, write_file
from eightfold.common.program import one_line_errors

ROOT = IMPORT_ROOT
LEFT_OUT = "...\n"
PAGES = ("README.md", "docs/*.md", "examples/**/*.md")

FILE = re.compile(r'^```\w+ title="([\w./-]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(
    r"(?:^<!-- (?P<kind>output|slow output|quoted from):?\s(?P<command>.*?)\s-->\n)?"
    r"^```(?P<language>[^\n]*)\n(?P<shown>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
COMMAND = re.compile(r"^\$ (.*(?:\n> .*)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_SECONDS = re.compile(r"\b\d[\d.,]* ?(s|seconds|min|minutes)\b")


@dataclass(frozen=True)
class Block:
    """Characters ``start`` to ``end`` of a page, which show a command's output.

    ``source``: the page that this one quotes, if it does.
    """

    start: int
    end: int
    command: str
    shown: str
    slow: bool = False
    source: str = ""


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a page; those of a session apart, one for each command."""
    for match in _BLOCK.finditer(text):
        kind, shown, start = match["kind"], match["shown"], match.start("shown")
        if kind in ("output", "slow output"):
            yield Block(start, match.end("shown"), match["command"], shown, kind != "output")
            continue
        if match["language"]:
            continue
        for command in COMMAND.finditer(shown) if shown.startswith("$ ") else ():
            yield Block(
                start + command.start(2),
                start + command.end(2),
                command[1].replace("\n> ", "\n"),
                command[2],
                slow=True,
                source=match["command"] if kind else "",
            )


class Page:
    """A document of the checkout, and a folder in which its commands run."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder = path, folder
        self.text = path.read_text(encoding="utf-8")
        self.blocks = list(blocks(self.text))
        for name, content in FILE.findall(self.text):
            (folder / name).write_text(content, encoding="utf-8")

    def printed(self, block: Block) -> str:
        """Return what a block's command prints now, or what the page shows that it quotes."""
        if block.source:
            source = (self.path.parent / block.source).read_text(encoding="utf-8")
            return next(b.shown for b in blocks(source) if b.command == block.command)
        environment = os.environ | {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PYTHONPATH": str(ROOT),
            "CHECKOUT": str(ROOT),
            "COLUMNS": "100",
        }
        done = run_to_end(["sh", "-c", block.command], cwd=self.folder, env=environment)
        if done.returncode > 1:  # 1 is a verdict
            raise InputError(f"{self.path}: {block.command}: {done.stderr}")
        lines = done.stdout.replace(f"{ROOT}/", "").splitlines()
        return "".join(f"{line.rstrip()}\n" for line in lines)

    def rewritten(self, written: Sequence[tuple[Block, str]]) -> str:
        """Return the page's text with other contents of blocks."""
        text = self.text
        for block, content in reversed(written):
            text = text[: block.start] + content + text[block.end :]
        return text


def shortened(printed: str, shown: str) -> str:
    """Return as many lines as are shown now, of the beginning or the end of what was printed."""
    lines = printed.splitlines(keepends=True)
    count = shown.count("\n") - 1
    if shown.startswith(LEFT_OUT):
        return LEFT_OUT + "".join(lines[-count:])
    if shown.endswith(LEFT_OUT):
        return "".join(lines[:count]) + LEFT_OUT
    return printed


def holds(shown: str, printed: str) -> bool:
    """Return whether a block shows what was printed, but for times and lines that it leaves out."""
    shown, printed = (_SECONDS.sub(r"N \1", text) for text in (shown, printed))
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(shown, printed, flags)


def pages() -> list[Path]:
    """Return the documents that show output."""
    documents = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    return [path for path in documents if any(blocks(path.read_text(encoding="utf-8")))]


@click.command()
@click.argument("documents", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--write", is_flag=True, help="Write what the commands print.")
@click.option("--fast", is_flag=True, help="Leave out commands that take more than seconds.")
def main(documents: Sequence[Path], write: bool, fast: bool) -> None:
    """Compare the blocks of output in DOCUMENTS, without any in all, with what commands print."""
    stale = 0
    for path in documents or pages():
        with tempfile.TemporaryDirectory(prefix="eightfold-blocks-") as folder:
            page = Page(path.resolve(), Path(folder))
            wrong = []
            for block in page.blocks:
                if fast and block.slow and not block.source:
                    continue
                printed = page.printed(block)
                if not holds(block.shown, printed):
                    wrong.append((block, shortened(printed, block.shown)))
                    line = page.text.count("\n", 0, block.start) + 1
                    click.echo(f"{path}:{line}: {block.command}")
            if write and wrong:
                write_file(path, page.rewritten(wrong))
        stale += len(wrong)
    raise SystemExit(1 if stale and not write else 0)


if __name__ == "__main__":
    one_line_errors(main)
