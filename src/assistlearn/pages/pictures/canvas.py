"""Draw a figure, and turn it into SVG that is small, has no styles of its own, and keeps its texts as texts."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from assistlearn.pages import colours

WIDTH = 5.2
"""The width in inches: as wide as a table on a screen, but narrow enough to read the letters on a telephone."""

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_DROPPED = {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "font.size": 9.0,
    "font.family": "sans-serif",
    "text.parse_math": False,
    "text.color": colours.INK.light,
    "axes.edgecolor": colours.FAINT.light,
    "axes.labelcolor": colours.INK.light,
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "grid.color": colours.LINES.light,
    "grid.linewidth": 0.6,
    "xtick.color": colours.FAINT.light,
    "ytick.color": colours.FAINT.light,
    "xtick.labelcolor": colours.INK.light,
    "ytick.labelcolor": colours.INK.light,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.0,
    "path.simplify_threshold": 0.2,
}
_LEFT_TO_THE_PAGE = {"font-family", "stroke-linejoin", "stroke-linecap", "stroke-miterlimit"}
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FONT = re.compile(r"(?:(?P<weight>bold|\d00)\s+)?(?P<size>[\d.]+px)")


def svg(key: str, height: float, draw: Callable[[Any], None]) -> str:
    """Return what ``draw`` has drawn on a figure, as SVG that can be put into a page.

    Parameters
    ----------
    key : str
        The name of the picture. Its ids begin with this name, so that a page can have several pictures.
    height : float
        The height in inches.
    draw : callable
        Draws on a matplotlib figure.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_SETTINGS | {"svg.hashsalt": key}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)  # the reader's machine has its own fonts
        figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="none")
        draw(figure)
        for axes in figure.axes:
            axes.set_facecolor("none")
        content = io.BytesIO()
        figure.savefig(content, format="svg", metadata={"Date": None}, transparent=True)
    return inlined(content.getvalue().decode(), key)


def inlined(document: str, key: str) -> str:
    """Return matplotlib's SVG as an element of a page: attributes in place of styles, short numbers, ids of its own.

    >>> drawn = '<svg xmlns="http://www.w3.org/2000/svg" width="3pt"><g id="a" style="fill: none"><text '
    >>> inlined(drawn + 'style="font: 9px x">b</text></g></svg>', "k")
    '<svg><g fill="none"><text font-size="9px">b</text></g></svg>'
    """
    document = _NOT_IN_XML.sub(lambda found: ascii(found[0])[1:-1], document)  # a label may hold any character
    root = ElementTree.fromstring(document)  # noqa: S314 - our own drawing
    used = set(re.findall(r"(?:href=\"|url\()#([^\")]+)", document))
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in _DROPPED]:
            parent.remove(child)
    for element in root.iter():
        _plain(element, used, key)
    for element in root.findall(".//defs/path"):  # the element that uses a path says how it is filled
        for name in ("fill", "stroke"):
            element.attrib.pop(name, None)
    for parent in reversed(list(root.iter())):
        for child in [child for child in parent if _is_nothing(child)]:
            parent.remove(child)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    return re.sub(r">\s+<", "><", ElementTree.tostring(root, encoding="unicode").strip())


def _plain(element: ElementTree.Element, used: set[str], key: str) -> None:
    """Turn an element's styles into attributes. Put the picture's name before its id, or drop an id that is unused."""
    element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
    attributes = element.attrib
    for name, value in _declarations(attributes.pop("style", "")):
        if name == "font":
            attributes |= _font(value)
        elif name not in _LEFT_TO_THE_PAGE:
            attributes[name] = value
    if f"{{{_XLINK}}}href" in attributes:
        attributes["href"] = "#" + attributes.pop(f"{{{_XLINK}}}href")[1:]
    if attributes.get("id") not in used:
        attributes.pop("id", None)
    if attributes.get("transform", "").startswith("rotate(-0 "):
        del attributes["transform"]
    for name, value in attributes.items():
        short = _NUMBER.sub(_rounded, _own_id(name, value, key))
        attributes[name] = re.sub(r"\s*([A-Za-z])\s*", r"\1", short.strip()) if name == "d" else short


def _own_id(name: str, value: str, key: str) -> str:
    if name == "id":
        return f"{key}-{value}"
    return f"#{key}-{value[1:]}" if name == "href" else value.replace("url(#", f"url(#{key}-")


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


def _is_nothing(element: ElementTree.Element) -> bool:
    """Whether an element shows nothing: the background of a figure or of axes, or an empty group."""
    if element.tag == "path" and not element.get("id"):
        return element.get("fill") == "none" and not element.get("stroke")
    return element.tag in ("g", "defs") and not len(element)


def _declarations(style: str) -> list[tuple[str, str]]:
    parts = (part.partition(":") for part in style.split(";") if part.strip())
    return [(name.strip(), value.strip()) for name, _, value in parts]


def _font(value: str) -> dict[str, str]:
    found = _FONT.match(value)
    if found is None:
        return {}
    weight = {"font-weight": found["weight"]} if found["weight"] else {}
    return {"font-size": found["size"]} | weight
