"""Photograph the live page of a run for the documentation, in a real browser.

    python docs/draw_watch.py

trains the example of ``assistlearn init --example`` by the paper's method, watches it, and keeps the page as it stands
after some dozens of rounds, on a light screen and on a dark one, as ``docs/_static/watch.png``. It needs Playwright and
a Chromium, as the tests of pages do.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

OUT = Path(__file__).parent / "_static" / "watch.png"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")
SIZE = {"width": 760, "height": 1280}
PAPERS = "--method ascii --reward in-sample --models-per-turn 1 --combine sum --rounds 99 --patience 99 --holdout 0.4"


def started(stack: ExitStack, *arguments: str, cwd: str) -> subprocess.Popen[str]:
    """Start a command as a user would; it is ended with all others."""
    command = [sys.executable, "-m", "assistlearn", *arguments, "--json"]
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own words
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return process


def photograph(stack: ExitStack, folder: str) -> list[Path]:
    """Photograph the page of a run that goes on, on a light screen and on a dark one."""
    driver = stack.enter_context(sync_playwright())
    path = next(found for name in BROWSERS if (found := shutil.which(name)))
    browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
    watch = started(stack, "watch", "demo/run", "--no-open", cwd=folder)
    address: str = json.loads(watch.stdout.readline())["address"] if watch.stdout else ""
    pages: list[Any] = [
        browser.new_context(color_scheme=scheme, viewport=SIZE).new_page() for scheme in ("light", "dark")
    ]
    for page in pages:
        page.goto(address)
    agents = [f"demo/{agent}.toml" for agent in ("clinic", "lab", "scans")]
    started(stack, "simulate", *agents, "--run", "example", "--out", "demo/run", *PAPERS.split(), cwd=folder)
    pictures = []
    for number, page in enumerate(pages):
        page.get_by_text(re.compile(r"\b[3-9]\d rounds and")).first.wait_for(timeout=120_000)
        page.locator("#rounds figure svg").wait_for()
        pictures.append(Path(folder, f"{number}.png"))
        page.screenshot(path=pictures[-1])
    browser.close()
    return pictures


def main() -> None:
    """Make the picture."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        subprocess.run([sys.executable, "-m", "assistlearn", "init", "demo", "--example"], cwd=folder, check=True)
        light, dark = (Image.open(path).convert("RGB") for path in photograph(stack, folder))
        both = Image.new("RGB", (light.width + dark.width, light.height))
        both.paste(light, (0, 0))
        both.paste(dark, (light.width, 0))
        both.quantize(96).save(OUT, optimize=True)


if __name__ == "__main__":
    main()
