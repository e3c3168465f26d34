"""Every block of output in the documents is what its command prints."""

import re
import shutil
from pathlib import Path

import pytest

from lab.documents.blocks import PAGES, ROOT, Page, blocks, holds, pages, shortened

FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = re.compile(
    r"(\.venv/bin/|rtl-check/bin/)?(eightfold|make|python3?|pip|pytest|dask|git|iverilog|cc|verilator|sbatch)\b"
)
"""What the first line of a block of commands begins with."""

NO_OUTPUT = {
    "docs/architecture.md": " streamed, row by row",  # a drawing
    "docs/conformance.md": "Impact on ",  # of a unit that the reader does not have
    "docs/other-specs.md": ("x <= min(", "a = f32("),  # formulas
    "docs/testplan.md": ("eightfold.sim.benches.", "-----"),  # a bench of broken hardware
}
"""Beginnings of blocks that are neither commands nor output that a command prints anew."""


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def expect_what_is_printed(path: Path, folder: Path, *, slow: bool) -> None:
    """Run a page's commands; those of a page with a test of its own are left to that."""
    page = Page(path, folder)
    for block in page.blocks:
        if block.slow != slow and not block.source:
            continue
        printed = page.printed(block)
        if not holds(block.shown, printed):
            assert block.shown == printed, block.command


def chosen(*, slow: bool) -> list[Path]:
    """Return the pages that have such blocks; the tutorial is followed by a test of its own."""
    return [
        path
        for path in pages()
        if path.name != "check-your-rtl.md"
        and any(b.slow == slow and not b.source for b in blocks(text_of(path)))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", chosen(slow=False), ids=relative)
def test_a_page_shows_what_its_commands_print(path: Path, tmp_path: Path) -> None:
    if "iverilog" in text_of(path) and not shutil.which("iverilog"):
        pytest.skip("Icarus is not installed")
    expect_what_is_printed(path, tmp_path, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("path", chosen(slow=True), ids=relative)
@pytest.mark.usual(names=["vectors"])
def test_a_page_shows_what_its_slow_commands_print(path: Path, tmp_path: Path) -> None:
    expect_what_is_printed(path, tmp_path, slow=True)


@pytest.mark.parametrize(
    "path", [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))], ids=relative
)
def test_no_block_of_output_is_without_a_command(path: Path) -> None:
    text = text_of(path)
    named = {block.shown for block in blocks(text)}
    for language, shown in FENCE.findall(text):
        if language or shown in named or shown.startswith("$ "):
            continue
        if shown.startswith(NO_OUTPUT.get(relative(path), "\0")):
            continue
        assert PROGRAMS.match(shown), f"what prints this?\n{shown}"


TEXT = """
```python title="a.py"
print("a.tflite in 0.3 s\\nb\\nc")
```

<!-- output: python a.py -->
```
a.tflite in 12 s
...
```

```
$ echo one
one
$ false
```

<!-- quoted from other.md -->
```
$ echo two
two
...
```
"""


def test_blocks_are_found_with_their_commands() -> None:
    found = list(blocks(TEXT))
    assert [(b.command, b.slow, b.source) for b in found] == [
        ("python a.py", False, ""),
        ("echo one", True, ""),
        ("false", True, ""),
        ("echo two", True, "other.md"),
    ]
    for block in found:
        assert TEXT[block.start : block.end] == block.shown


def test_a_page_is_rewritten_where_it_is_stale(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(TEXT.replace("\nb\\n", "\nB\\n"), encoding="utf-8")
    (tmp_path / "other.md").write_text("```\n$ echo two\n2\n3\n4\n```\n", encoding="utf-8")
    page = Page(path, tmp_path)
    printed = [page.printed(block) for block in page.blocks]
    assert printed == ["a.tflite in 0.3 s\nb\nc\n", "one\n", "", "2\n3\n4\n"]
    wrong = [
        (block, shortened(now, block.shown))
        for block, now in zip(page.blocks, printed, strict=True)
        if not holds(block.shown, now)
    ]
    assert [block.command for block, _ in wrong] == ["echo two"]
    assert "```\n$ echo two\n2\n...\n```" in page.rewritten(wrong)
    assert page.rewritten([(page.blocks[1], "1\n"), *wrong]).count("\n1\n") == 1


@pytest.mark.parametrize(
    ("shown", "now"), [("...\nc\n", "...\nz\n"), ("a\n...\n", "x\n...\n"), ("a\n", "x\ny\nz\n")]
)
def test_as_many_lines_are_shown_as_before(shown: str, now: str) -> None:
    assert shortened("x\ny\nz\n", shown) == now


def test_a_wrong_block_does_not_hold() -> None:
    assert holds("2 of 3 in 0.5 s\n", "2 of 3 in 7 s\n")
    assert not holds("2 of 3 in 0.5 s\n", "1 of 3 in 0.5 s\n")
    assert not holds("a\n", "a\nb\n")
