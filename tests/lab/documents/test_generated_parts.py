"""Documents hold what `make documents` generates."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from eightfold.common.markers import begin, end
from lab.documents import __main__ as documents
from lab.documents.part import table_part

QUICK = [name for name, part in documents.PARTS.items() if not part.slow]


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_the_document_holds_the_part(name: str) -> None:
    assert documents.stale(documents.PARTS[name]) is None, "run make documents"


def test_only_what_is_between_the_markers_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = replace(table_part("sizes", Path("sizes.md"), lambda: "new\n"), name="sizes")
    monkeypatch.setattr(documents, "PARTS", {"sizes": part})
    monkeypatch.setattr(documents, "IMPORT_ROOT", tmp_path)
    page = tmp_path / "sizes.md"
    page.write_text(f"before\n{begin('sizes')}\nold\n{end('sizes')}\nafter\n", encoding="utf-8")
    before = page.read_text(encoding="utf-8")
    checked = CliRunner().invoke(documents.main, ["--check"])
    assert (checked.exit_code, checked.output) == (1, "sizes.md: sizes\n")
    assert page.read_text(encoding="utf-8") == before
    assert CliRunner().invoke(documents.main).exit_code == 0
    expected = f"before\n{begin('sizes')}\nnew\n{end('sizes')}\nafter\n"
    assert page.read_text(encoding="utf-8") == expected
    assert CliRunner().invoke(documents.main, ["--check"]).exit_code == 0


def test_a_document_without_markers_is_refused() -> None:
    part = table_part("sizes", Path("docs/sizes.md"), lambda: "new\n")
    with pytest.raises(ValueError, match="sizes: begin"):
        part.rewrite("nothing here")
