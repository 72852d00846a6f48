"""Draw the thumbnails of the gallery of tutorials, from what the tutorials themselves show.

    python docs/draw_thumbnails.py                # all of them; a few minutes
    python docs/draw_thumbnails.py label-private  # one

runs a notebook of ``docs/tutorials`` and keeps its first picture; where a tutorial has none of its own, a part of a
photograph of ``docs/_static``, or a drawing. All go to ``docs/_static/thumbnails``.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from myst_nb.core.read import read_myst_markdown_notebook
from nbclient import NotebookClient
from PIL import Image

from assistlearn.display import palette

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


def drawing(draw: Callable[[Any], None]) -> Image.Image:
    """Return a drawing on axes from 0 to 16 and 0 to 10."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=200)
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, 16), ylim=(0, 10))
    ax.axis("off")
    draw(ax)
    kept = io.BytesIO()
    figure.savefig(kept, format="png")
    return Image.open(kept).convert("RGB")


def draw_network(ax: Any) -> None:
    """Draw three sites around a relay."""
    for place, name in (((2.6, 8.2), "clinic"), ((13.4, 8.2), "lab"), ((8, 1.6), "scans")):
        ax.annotate("", (8, 5.4), place, arrowprops={"arrowstyle": "-", "color": palette.GREY, "lw": 2.2})
        _box(ax, place, name, palette.BLUE)
    _box(ax, (8, 5.4), "relay", palette.GREY)


def draw_serving(ax: Any) -> None:
    """Draw a program that asks the service, which asks the agents."""
    line = {"arrowstyle": "-", "color": palette.GREY, "lw": 2.2}
    for height, name in ((8.2, "clinic"), (5.0, "lab"), (1.8, "scans")):
        ax.annotate("", (13.2, height), (7.9, 5.0), arrowprops=line)
        _box(ax, (13.2, height), name, palette.BLUE)
    ax.annotate("", (7.9, 5.0), (2.7, 5.0), arrowprops=line)
    _box(ax, (2.7, 5.0), "program", palette.GREY)
    _box(ax, (7.9, 5.0), "service", palette.VERMILION)
    ax.text(5.3, 6.5, "HTTP", ha="center", va="center", fontsize=10, color=palette.GREY)


def _box(ax: Any, place: tuple[float, float], name: str, colour: str) -> None:
    style = {"boxstyle": "round,pad=0.55", "fc": colour, "ec": "white", "lw": 3}
    ax.text(*place, name, ha="center", va="center", fontsize=13, color="white", fontweight="bold", bbox=style)


THUMBNAILS: dict[str, Callable[[], Image.Image]] = {
    "first-model": lambda: first_picture("first-model", (0.0, 0.33)),
    "would-their-data-help": lambda: first_picture("would-their-data-help"),
    "label-private": lambda: first_picture("label-private"),
    "own-learner": lambda: first_picture("own-learner"),
    "three-organisations": top_of_the_report,
    "network": lambda: drawing(draw_network),
    "serving": lambda: drawing(draw_serving),
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
