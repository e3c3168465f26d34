"""Static HTML pages and charts in them: one file, nothing loaded from elsewhere, no script.

A page is a template of ``templates/`` that extends ``base.html.j2``. The base takes

- ``title``: what the page is about;
- ``verdict``: a `Verdict`;
- ``facts``: pairs of a name and its value: versions, seed, machine.

Links at the top lead to the sections that a template begins with the macro ``heading``, and to what
it has ``listed`` besides, by ``id`` and text.

A chart is SVG that stands inside a page. It is drawn with the colours that have a name here; in the
page they become the variables of ``base.html.j2``, so that one chart is right in light, in dark and
in print. Pages need jinja2, charts matplotlib.
"""

import os
import platform
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree

from eightfold.common.extras import needs_extra, require_module

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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

    ``template``: a file in ``templates/``; ``facts``: what it shows, by the names that it uses;
    text is escaped. SVG of `chart` goes through the filter ``safe``.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("eightfold.run.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "percent": percent}
    sections: list[tuple[str, str]] = []

    def listed(id: str, text: str) -> str:
        sections.append((id, text))
        return ""

    environment.globals["listed"] = listed
    return environment.get_template(template).render(**facts, sections=sections)


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with commas between thousands; a dash for None."""
    return "–" if value is None else f"{value:,.{digits}f}"


def percent(value: float | None) -> str:
    """Return a share in percent; a dash for None."""
    return "–" if value is None else f"{value:.1%}"


INK, MUTED, LINE, SURFACE = "#0a0001", "#0a0002", "#0a0003", "#0a0004"
"""The colours of texts, of what is beside them, of axes and grids, and of the paper."""

SERIES = ("#0b0001", "#0b0002", "#0b0003", "#0b0004", "#0b0005", "#0b0006")
"""The colours of what is compared: blue, orange, green, purple, pink, grey."""

PASSED, FAILED, INCOMPLETE = "#0c0001", "#0c0002", "#0c0003"
"""The colours of the states of `Verdict`."""

VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    LINE: "--line",
    SURFACE: "--surface",
    PASSED: "--passed",
    FAILED: "--failed",
    INCOMPLETE: "--incomplete",
    **{colour: f"--series-{number}" for number, colour in enumerate(SERIES, 1)},
}
"""The page's variable for each of these colours."""

# Typed loosely: matplotlib lists every key that it allows, where it is installed.
STYLE: Any = {
    "svg.hashsalt": "eightfold",  # the same names of elements each time
    "svg.fonttype": "none",
    "text.parse_math": False,  # a tensor's name may have a dollar
    "font.size": 12,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "axes.formatter.use_mathtext": False,
}

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"


@needs_extra("report", "a chart")
def chart(draw: "Callable[[Axes], object]", *, width: int, height: int, label: str) -> str:
    """Return an ``<svg>`` of one chart, the same bytes for the same figures.

    ``draw``: draws into the axes that it is given, with the colours of this module; ``width``,
    ``height``: in pixels of the page; a text has 12. ``label``: what the chart shows, for who
    cannot see it.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    text = StringIO()
    with rc_context(STYLE), warnings.catch_warnings():
        # The reader's fonts show the text; matplotlib's only measure it.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = Figure(figsize=(width / 72, height / 72), dpi=72, layout="constrained")
        draw(figure.add_subplot())
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return _inline(text.getvalue(), label)


def _inline(text: str, label: str) -> str:
    """Return the SVG of a file as an element of a page: nothing in it meets another chart's."""
    root = ElementTree.fromstring(text)
    used = set(re.findall(r"#([\w.-]+)", text))
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}metadata", f"{_SVG}style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        if _LINK in element.attrib:
            element.set("href", element.attrib.pop(_LINK))
        if "style" in element.attrib:
            element.set("style", _restyled(element.attrib["style"]))
    left, top, width, height = root.attrib["viewBox"].split()
    root.attrib = {
        "viewBox": f"{left} {top} {width} {height}",
        "width": width,
        "height": height,
        "role": "img",
        "aria-label": label,
        "stroke-linejoin": "round",
    }
    return re.sub(r">\s+<", "><", ElementTree.tostring(root, "unicode"))


def _restyled(style: str) -> str:
    """Return a style with the page's font and colours."""
    style = re.sub(r"font-family: [^;]*(; )?", "", style)
    for colour, variable in VARIABLES.items():
        style = style.replace(colour, f"var({variable})")
    return style
