"""Photograph a report page for the documentation, in a real browser.

    python docs/draw_report.py

trains the example of ``assistlearn init --example``, writes its page, and keeps the top of it on a light screen, and
who helped on a dark one, as ``docs/_static/report.png``. It needs Playwright and a Chromium, as the tests of pages do.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

OUT = Path(__file__).parent / "_static" / "report.png"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")
SIZE = {"width": 820, "height": 1240}


def assistlearn(*arguments: str, cwd: str) -> None:
    """Run a command as a user would."""
    command = [sys.executable, "-m", "assistlearn", *arguments]
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own words


def photograph(page: Path, folder: Path) -> list[Path]:
    """Photograph the top of a page on a light screen, and who helped on a dark one."""
    browser_path = next(found for name in BROWSERS if (found := shutil.which(name)))
    pictures = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            shown = browser.new_context(color_scheme=scheme, viewport=SIZE).new_page()
            shown.goto(page.as_uri() + ("" if scheme == "light" else "#helpers"))
            pictures.append(folder / f"{scheme}.png")
            shown.screenshot(path=pictures[-1])
        browser.close()
    return pictures


def main() -> None:
    """Make the picture."""
    with tempfile.TemporaryDirectory() as name:
        assistlearn("init", "demo", "--example", cwd=name)
        agents = [f"demo/{agent}.toml" for agent in ("clinic", "lab", "scans")]
        assistlearn("simulate", *agents, "--run", "example", "--out", "demo/run", "--holdout", "0.4", cwd=name)
        assistlearn("report", "demo/run", "--out", "page.html", cwd=name)
        light, dark = (Image.open(path).convert("RGB") for path in photograph(Path(name, "page.html"), Path(name)))
    both = Image.new("RGB", (light.width + dark.width, light.height))
    both.paste(light, (0, 0))
    both.paste(dark, (light.width, 0))
    both.quantize(128, method=Image.Quantize.MAXCOVERAGE).save(OUT, optimize=True)


if __name__ == "__main__":
    main()
