"""What every page has: escaped text, nothing from elsewhere, colours for light and dark."""

import builtins
import importlib
import re
from pathlib import Path
from typing import Any

import jinja2
import pytest

from eightfold.common.errors import InputError
from eightfold.run.report.page import SERIES, VARIABLES, State, Verdict, chart, machine, render
from tests.support.browser import Browser

NASTY = "<script>alert('&')</script>"


def page(title: str = "A page", state: State = "passed") -> str:
    """Return a page without content of its own."""
    return render(
        "base.html.j2",
        title=title,
        verdict=Verdict(state=state, sentence=f"{title} is fine."),
        facts=[("Machine", machine()), (title, title)],
    )


def bars(name: str = "bar") -> str:
    """Return a chart with two bars."""

    def draw(axes: Any) -> None:
        axes.barh([name, "other"], [3, 4], color=SERIES[0])
        axes.grid(axis="x")

    return chart(draw, width=400, height=100, label=f"cycles of {name}")


def test_a_page_says_verdict_and_facts() -> None:
    text = page(state="failed")
    assert "<title>A page</title>" in text
    assert '<p class="verdict failed"><strong>failed</strong> A page is fine.</p>' in text
    assert f"<dt>Machine</dt><dd>{machine()}</dd>" in text
    assert '<a href="#facts">' in text


def test_what_names_say_is_escaped() -> None:
    text = page(NASTY)
    assert "<script" not in text
    assert text.count("&lt;script&gt;") == 5


def test_nothing_is_loaded_from_elsewhere() -> None:
    text = page() + bars()
    assert not re.search(r"https?://|\bsrc=|@import|url\((?!#)", text)
    assert "default-src 'none'" in text


def test_a_fact_that_is_missing_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="'title' is undefined"):
        render("base.html.j2", verdict=Verdict(state="passed", sentence=""))


def test_every_variable_of_a_chart_is_one_of_the_page() -> None:
    style = page()
    for variable in VARIABLES.values():
        assert f"{variable}: #" in style, variable


def test_a_chart_takes_the_colours_and_the_font_of_its_page() -> None:
    svg = bars()
    assert "fill: var(--series-1)" in svg
    assert "fill: var(--muted)" in svg
    assert not re.search(r"#0[abc]000|font-family|\bid=\"(?![mp][0-9a-f])|xmlns|<style", svg)
    assert 'aria-label="cycles of bar"' in svg


def test_a_chart_is_the_same_each_time() -> None:
    assert bars() == bars()


def test_a_chart_shows_names_as_they_are() -> None:
    svg = bars("<b> $x$ 値")
    assert "&lt;b&gt; $x$ 値" in svg


@pytest.mark.parametrize(
    ("package", "make"), [("jinja2", page), ("matplotlib", bars)], ids=["jinja2", "matplotlib"]
)
def test_a_package_that_is_missing_is_named(
    package: str, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = builtins.__import__

    def refuse(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return load(name, *arguments, **options)

    importlib.import_module(package)
    monkeypatch.setattr(builtins, "__import__", refuse)
    monkeypatch.setattr(
        "eightfold.common.extras.requires",
        lambda name: ["jinja2<4,>=3.1; extra == 'report'", "matplotlib<4; extra == 'report'"],
    )
    line = f"needs {package}, which is not installed: pip install 'eightfold\\[report\\]'$"
    with pytest.raises(InputError, match=line):
        make()


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.usual(names=["dark"])
def test_the_browser_shows_light_and_dark(browser: Browser, tmp_path: Path, dark: bool) -> None:
    path = tmp_path / "page.html"
    path.write_text(page(NASTY))
    colour = "getComputedStyle(document.body).backgroundColor"
    expected = "rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)"
    assert browser.evaluate(path, colour, dark=dark) == expected
    assert browser.console(path, dark=dark) == []
    shot = tmp_path / "page.png"
    browser.screenshot(path, shot, width=400, dark=dark)
    assert shot.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.slow
def test_the_browser_refuses_what_is_from_elsewhere(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page().replace("<main>", '<main><img src="other.png"><script>x</script>'))
    refused = browser.console(path)
    assert len(refused) == 2
    assert all("Content Security Policy" in line for line in refused)
