"""A headless Chromium that opens pages: their elements, what they say on the console, pictures."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
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

        It runs at the end of a copy of the page that allows scripts, beside the page.
        """
        script = (
            "<script>addEventListener('load', () => { const made = document.createElement('pre');"
            f"made.id = '{_RESULT}'; made.textContent = JSON.stringify({expression});"
            "document.body.append(made) })</script>"
        )
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
        copy = page.with_name(f"{page.stem}-evaluated.html")
        copy.write_text(text + script)
        dom = self.dom(copy, width=width, dark=dark)
        copy.unlink()
        found = re.search(f'<pre id="{_RESULT}">(.*?)</pre>', dom, re.DOTALL)
        assert found, f"{expression}: no value"
        return json.loads(unescape(found[1]))

    def screenshot(
        self, page: Path, target: Path, *, width: int = 1280, height: int = 900, dark: bool = False
    ) -> None:
        """Write a picture of the page's first ``height`` pixels, a ``.png``."""
        self._open(page, width, dark, f"--screenshot={target}", height=height)
        assert target.exists()

    def _open(
        self, page: Path, width: int, dark: bool, action: str, height: int = 900
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
            f"--window-size={width},{height}",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        ]
        return subprocess.run(
            [self.program, *options, action, page.resolve().as_uri()],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
