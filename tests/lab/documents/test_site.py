"""The documents' links lead somewhere, and MkDocs makes a site of them that stands alone."""

import json
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from lab.documents import site
from tests.support.checkout import tracked_files

needs_mkdocs = pytest.mark.skipif(
    find_spec("mkdocs") is None or find_spec("material") is None,
    reason="MkDocs and its theme are in the extra docs",
)


@pytest.mark.parametrize("page", site.pages(), ids=lambda page: str(page.relative_to(IMPORT_ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert site.broken_links(page) == []


def test_every_document_of_the_repository_is_a_page() -> None:
    pages = {str(page.relative_to(IMPORT_ROOT)) for page in site.pages()}
    assert set(tracked_files("*.md")) <= pages


def test_every_page_is_in_the_navigation() -> None:
    text = (IMPORT_ROOT / site.SETTINGS).read_text(encoding="utf-8")
    named = re.findall(r"[\w./-]+\.md$", text, re.MULTILINE)
    assert sorted(named) == sorted(str(page.relative_to(IMPORT_ROOT)) for page in site.pages())


def test_links_are_found_outside_of_code_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "other.md").write_text("# One `name`, two\n```\n# not a heading\n```\n")
    page.write_text(
        "[a](other.md#one-name-two) ![b\nc](missing.svg) `[c](code)` [w](https://web.example)\n"
        "[d](other.md#not-a-heading) [e](#nowhere)\n\n    x[i](1-f)\n\n```\n[f](fenced)\n```\n"
    )
    found = [link.rpartition("/")[2] for link in site.broken_links(page)]
    assert found == ["missing.svg", "other.md#not-a-heading", "page.md#nowhere"]


PLACES = "eightfold|golden|hw|sim|conformance|lab|tests|examples|docs|constraints"
PATH = re.compile(rf"`((?:{PLACES})/(?:[\w./*-]+\.(?:py|md|toml|v|npz|tflite)|(?:[\w-]+/)*))`")
"""A file or, with a slash at its end, a folder."""


@pytest.mark.parametrize("page", site.pages(), ids=lambda page: str(page.relative_to(IMPORT_ROOT)))
def test_files_and_folders_that_a_document_names_exist(page: Path) -> None:
    named = PATH.findall(page.read_text(encoding="utf-8"))
    assert [path for path in named if not list(IMPORT_ROOT.glob(path))] == []


def small_root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "source.py").write_text("x = 1\n")
    (root / "README.md").write_text("# Title\n[page](docs/page.md) [source](source.py)\n")
    (root / "docs" / "page.md").write_text("# Page\n[back](../README.md#title)\n")
    shutil.copyfile(IMPORT_ROOT / site.STYLE, root / site.STYLE)
    settings = (IMPORT_ROOT / site.SETTINGS).read_text(encoding="utf-8")
    head = settings.partition("\nnav:")[0]
    (root / site.SETTINGS).write_text(f"{head}\nnav: [README.md, docs/page.md]\n")
    return root


def test_pages_and_what_they_link_to_keep_their_places(tmp_path: Path) -> None:
    root = small_root(tmp_path)
    site.stage(root, tmp_path / "staged")
    staged = {
        str(path.relative_to(tmp_path / "staged")) for path in (tmp_path / "staged").rglob("*.*")
    }
    assert staged == {"README.md", "source.py", "docs/page.md", "docs/site.css"}


def test_the_missing_tool_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"needs MkDocs: run make docs"):
        site.build()


@needs_mkdocs
def test_the_site_loads_nothing_from_other_servers_and_can_be_searched(tmp_path: Path) -> None:
    root = small_root(tmp_path)
    built = site.build(root)
    for page in built.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="?https?:', text)
    index = json.loads((built / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert {entry["title"] for entry in index["docs"]} >= {"Title", "Page"}
    assert (built / "source.py").read_text() == "x = 1\n"


@needs_mkdocs
def test_links_that_lead_nowhere_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = small_root(tmp_path)
    (root / "docs" / "page.md").write_text("# Page\n[gone](gone.md)\n")
    with pytest.raises(InputError, match=r"lead nowhere: .*page\.md: .*gone\.md"):
        site.build(root)
    monkeypatch.setattr(site, "broken_links", lambda _: [])
    with pytest.raises(InputError, match=r"MkDocs refuses the site: .*gone\.md"):
        site.build(root)
