"""A headless Chromium that opens pages: their elements, what they say on the console, pictures."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape
from itertools import product
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 120

_RESULT = "result-of-the-test"


@dataclass(frozen=True)
class Browser:
    """A program, and a folder for what it writes; each call starts it anew.

    ``width`` is that of the window in pixels; ``dark`` is what the reader prefers.
    """

    program: str
    folder: Path

    @classmethod
    def find(cls, folder: Path) -> "Browser | None":
        """Return the system's browser; None if there is none."""
        found = [path for name in PROGRAMS if (path := shutil.which(name))]
        return cls(found[0], folder) if found else None

    def dom(self, page: Path, *, width: int = 1280, dark: bool = False) -> str:
        """Return the page as the browser has understood it."""
        return self._open(page, width, dark, "--dump-dom").stdout

    def console(self, page: Path, *, width: int = 1280, dark: bool = False) -> list[str]:
        """Return what the page has left on the console: errors, and what was refused to load."""
        told = self._open(page, width, dark, "--dump-dom").stderr
        return re.findall(r"CONSOLE:\d+\] (.*)", told)

    def evaluate(
        self, page: Path, expression: str, *, width: int = 1280, dark: bool = False
    ) -> Any:
        """Return the value of an expression in JavaScript, as JSON brings it.

        It is computed when the page is there, in a frame of the width, in which the page may have
        scripts. A window itself has 500 pixels at least.
        """
        text = page.read_text("utf-8")
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        outer = page.with_name(f"{page.stem}-evaluated.html")
        outer.write_text(
            '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
            f'<iframe width="{width}" height="900" style="border: 0" srcdoc="{escape(text)}">'
            "</iframe><script>addEventListener('load', () => {"
            f"const value = frames[0].eval({json.dumps(expression)});"
            f"const made = document.createElement('pre'); made.id = '{_RESULT}';"
            "made.textContent = JSON.stringify(value); document.body.append(made) })</script>",
            "utf-8",
        )
        dom = self.dom(outer, width=width, dark=dark)
        outer.unlink()
        found = re.search(f'<pre id="{_RESULT}">(.*?)</pre>', dom, re.DOTALL)
        assert found, f"{expression}: no value"
        return json.loads(unescape(found[1]))

    def screenshot(
        self, page: Path, target: Path, *, width: int = 1280, dark: bool = False
    ) -> None:
        """Write a picture of the page's first 900 pixels, a ``.png``."""
        self._open(page, width, dark, f"--screenshot={target}")
        assert target.exists()

    def expect_sound(self, page: Path, folder: Path, widths: Sequence[int] = (400, 1600)) -> None:
        """Check that a page complains of nothing, fits windows of these widths, and is drawn.

        Light and dark; pictures go to the folder.
        """
        size = "[document.documentElement.clientWidth, document.documentElement.scrollWidth]"
        for width, dark in product(widths, (False, True)):
            assert self.console(page, width=width, dark=dark) == []
            assert self.evaluate(page, size, width=width, dark=dark) == [width, width]
            picture = folder / f"{width}-{dark}.png"
            self.screenshot(page, picture, width=width, dark=dark)
            assert picture.stat().st_size > 10_000

    def _open(
        self, page: Path, width: int, dark: bool, action: str
    ) -> subprocess.CompletedProcess[str]:
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--no-first-run",
            "--enable-logging=stderr",
            "--v=0",
            f"--user-data-dir={self.folder}",
            f"--window-size={width},900",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        ]
        return subprocess.run(
            [self.program, *options, action, page.resolve().as_uri()],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
