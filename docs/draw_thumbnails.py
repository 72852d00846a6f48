"""Draw the thumbnails of the gallery of tutorials, from what the tutorials themselves show.

    python docs/draw_thumbnails.py                # all of them; a few minutes
    python docs/draw_thumbnails.py label-private  # one

runs a notebook of ``docs/tutorials`` and keeps its first picture; where a tutorial has none of its own, a part of a
photograph of ``docs/_static``. All go to ``docs/_static/thumbnails``.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from myst_nb.core.read import read_myst_markdown_notebook
from nbclient import NotebookClient
from PIL import Image

HERE = Path(__file__).parent
OUT = HERE / "_static" / "thumbnails"
SIZE = (480, 300)
COLOURS = 128
MARGIN = 10


def first_picture(tutorial: str, part: tuple[float, float] = (0.0, 1.0)) -> Image.Image:
    """Run a tutorial, and return a part of its first picture, from left to right."""
    notebook = read_myst_markdown_notebook((HERE / "tutorials" / f"{tutorial}.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
    shown = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    png = next(data["image/png"] for data in shown if "image/png" in data)
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    left, right = part
    return picture.crop((int(left * picture.width), 0, int(right * picture.width), picture.height))


def top_of_the_report() -> Image.Image:
    """Return the top of the report page on a light screen, which is the left half of the photograph."""
    picture = Image.open(HERE / "_static" / "report.png").convert("RGB")
    width = picture.width // 2
    return picture.crop((0, 0, width, width * SIZE[1] // SIZE[0]))


THUMBNAILS: dict[str, Callable[[], Image.Image]] = {
    "first-model": lambda: first_picture("first-model", (0.0, 0.33)),
    "would-their-data-help": lambda: first_picture("would-their-data-help"),
    "label-private": lambda: first_picture("label-private"),
    "three-organisations": top_of_the_report,
}
"""For each tutorial, what its thumbnail is made of."""


def keep(name: str, picture: Image.Image) -> None:
    """Fit a picture into the size of a thumbnail, on white, and write it with few colours."""
    most = (SIZE[0] - 2 * MARGIN, SIZE[1] - 2 * MARGIN)
    scale = min(most[0] / picture.width, most[1] / picture.height)
    small = picture.resize((round(picture.width * scale), round(picture.height * scale)), Image.Resampling.LANCZOS)
    card = Image.new("RGB", SIZE, "white")
    card.paste(small, ((SIZE[0] - small.width) // 2, (SIZE[1] - small.height) // 2))
    card.quantize(COLOURS).save(OUT / f"{name}.png", optimize=True)


def main() -> None:
    """Draw those that are named, or all."""
    OUT.mkdir(exist_ok=True)
    for name in sys.argv[1:] or THUMBNAILS:
        keep(name, THUMBNAILS[name]())


if __name__ == "__main__":
    main()
