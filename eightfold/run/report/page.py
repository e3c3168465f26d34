"""Static HTML pages: one file, nothing loaded from elsewhere, no script; needs jinja2.

A page is a template of ``templates/`` that extends ``base.html.j2``. The base takes

- ``title``: what the page is about;
- ``verdict``: a `Verdict`;
- ``facts``: pairs of a name and its value: versions, seed, machine;
- ``sections``: pairs of an ``id`` and a heading, the links at the top; may be empty.
"""

import os
import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from eightfold.common.extras import needs_extra, require_module

if TYPE_CHECKING:
    from jinja2 import Environment

State = Literal["passed", "failed", "incomplete", "open"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a page says first: one sentence, and the state that its colour shows.

    ``incomplete``: not all that was asked for was done, or nothing was compared. ``open``: nothing
    is wrong, which does not show that all is right.
    """

    state: State
    sentence: str
    word: str = ""
    """What the sentence begins with, if it is not the state."""


def machine() -> str:
    """Return what the page was made on, for its facts."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"


@needs_extra("report", "an HTML page")
def require_page() -> None:
    """Raise InputError if a package that pages need is not there; none is loaded."""
    require_module("jinja2")
    require_module("matplotlib")


@needs_extra("report", "an HTML page")
def render(template: str, **facts: Any) -> str:
    """Return a page.

    Raises `InputError` if jinja2 is not installed. Raises `jinja2.UndefinedError` if the template
    uses a fact that is not given.

    Parameters
    ----------
    template
        A file in ``templates/``.
    facts
        What it shows, by the names that it uses; text is escaped. SVG of
        `eightfold.run.report.charts` goes through the filter ``safe``.
    """
    return _environment().get_template(template).render(**facts)


def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("eightfold.run.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "percent": percent}
    return environment


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with commas between thousands; a dash for None."""
    return "–" if value is None else f"{value:,.{digits}f}"


def percent(value: float | None) -> str:
    """Return a share in percent; a dash for None."""
    return "–" if value is None else f"{value:.1%}"
