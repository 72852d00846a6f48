"""Pictures: one set of colours and curves for pages, displays and benchmarks, and each picture of a page as SVG."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from assistlearn.evaluation.calibration import Reliability
from assistlearn.evaluation.result import Confusion, SharedIn, ShareRow

if TYPE_CHECKING:
    from assistlearn.events import SamplesMatched, SamplesOpened
    from assistlearn.report.story import RoundRow, Spent

# -- colours


class Colour(str):
    """A colour on a light background, with its form for dark screens.

    Pictures are drawn in the light forms. On a dark screen a page's style sheet replaces these with the dark ones, so
    that a picture needs no style of its own.
    """

    dark: str

    def __new__(cls, light: str, dark: str) -> Self:
        made = super().__new__(cls, light)
        made.dark = dark
        return made


# The colours of Okabe and Ito (2008), which colour-blind readers can tell apart.
BLUE = Colour("#0072b2", "#63b3f2")
VERMILION = Colour("#d55e00", "#ff9d63")
GREEN = Colour("#009e73", "#43cfa2")
PURPLE = Colour("#cc79a7", "#d9a0e6")
ORANGE = Colour("#e69f00", "#e3bc47")
SKY = Colour("#56b4e9", "#9cbcea")
SLATE = Colour("#444444", "#c3c9d0")
BLACK = Colour("#000000", "#ffffff")
GREY = Colour("#767676", "#a9b3be")  # the lightest grey that is still legible as text on white

INK = Colour("#1d2733", "#e6e9ed")
FAINT = Colour("#56616d", "#a9b3be")
LINES = Colour("#d5dade", "#3a434d")
ASSISTED, ALONE = BLUE, VERMILION

IN_PICTURES = (INK, FAINT, LINES, BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, SLATE)


@dataclass(frozen=True)
class Stroke:
    """How a curve is drawn. Colour alone never distinguishes curves: each also has a dash or a marker of its own."""

    colour: str
    dash: str = "-"
    marker: str = ""
    width: float = 1.8


MODELS = {
    "assisted": Stroke(ASSISTED, "-", "o", 2.4),
    "single": Stroke(ALONE, "-.", "s"),
    "oracle": Stroke(BLACK, "--", "^"),
}
AGENTS = (  # nobody can tell more curves apart
    Stroke(GREEN, "-", "o", 1.6),
    Stroke(PURPLE, "-", "s", 1.6),
    Stroke(ORANGE, "-", "^", 1.6),
    Stroke(SKY, "-", "D", 1.6),
    Stroke(SLATE, "-", "v", 1.6),
)


def of_agent(place: int) -> Stroke:
    """Return how an agent is drawn, by its place. With more agents, strokes repeat."""
    return AGENTS[place % len(AGENTS)]


# -- what pages and displays draw alike, on axes

ERRORS = 2.0
"""How many standard errors an interval extends to each side."""

_STEPS = tuple(mantissa * 10**power for power in range(7) for mantissa in (1, 2, 5))


def by_round(axes: Any, last: int, name: str = "round", n_ticks: int = 8) -> None:
    last = max(last, 1)
    step = next(step for step in _STEPS if last <= n_ticks * step)
    more = max(0.03 * last, 0.03)
    axes.set(xlabel=name, xlim=(1 - more, last + more))
    axes.set_xticks([1, *range(max(step, 2), last + 1, step)])


def every(n_points: int) -> int:
    """Return the step between markers, so that long curves stay legible."""
    return max(1, n_points // 20)


def draw_weights(axes: Any, rounds: Sequence[int], weights: Mapping[str, ArrayLike]) -> None:
    for place, (name, values) in enumerate(weights.items()):
        stroke, drawn = of_agent(place), np.asarray(values, dtype=np.float64)
        # a round between two gaps has nothing but its marker
        step = 1 if np.isnan(drawn).any() else every(len(drawn))
        look: dict[str, Any] = {"color": stroke.colour, "ls": stroke.dash, "lw": stroke.width, "marker": stroke.marker}
        axes.plot(rounds, drawn, ms=5, markevery=step, label=name, **look)
    axes.set_ylabel("model weight")
    axes.set_ylim(bottom=0)


def draw_shares(axes: Any, names: Sequence[str], shares: Sequence[float], reach: Sequence[float], label: str) -> None:
    """Draw a row for each helper, the first at the top: its share, with an interval that reaches so far."""
    axes.axvline(0.0, color=GREY, lw=1.0, ls=":")
    look = {"color": BLUE, "ms": 7, "elinewidth": 1.8, "capsize": 3}
    axes.errorbar(shares, range(len(names)), xerr=reach, fmt="o", label=label, **look)
    name_rows(axes, names)


def draw_gain(axes: Any, path: ArrayLike, label: str, limits: str) -> None:
    """Draw a pilot's gain with its limits; ``path`` has rows of samples opened, gain, lower and upper limit."""
    n, gain, lower, upper = np.asarray(path, dtype=np.float64).reshape(-1, 4).T
    axes.fill_between(n, lower, upper, color=BLUE, alpha=0.15, lw=0, label=limits)
    for limit in (lower, upper):
        axes.plot(n, limit, color=BLUE, lw=0.9)
    axes.plot(n, gain, color=BLUE, marker="o", ms=4, lw=2.0, label=label)


def name_rows(axes: Any, names: Sequence[str], longest: int = 24) -> None:
    axes.set_yticks(range(len(names)), [short(name, longest) for name in names])
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")


def short(name: str, longest: int = 24) -> str:
    r"""Return a name that fits. A long one loses its middle, because names often differ only at the end.

    >>> short("$5 clinic"), short("the clinic of the north", 12)
    ('\\$5 clinic', 'the c… north')
    """
    shown = name if len(name) <= longest else f"{name[: longest // 2 - 1]}…{name[-(longest - longest // 2) :]}"
    return escaped(shown)


def escaped(text: str) -> str:
    """Return a text without anything that matplotlib would read as a formula."""
    return text.replace("$", r"\$")


# -- the pictures of a page

MARKERS_UP_TO = 60


def rounds(rows: tuple[RoundRow, ...], measure: str) -> str:
    """Draw metric, accuracy and loss, round by round; a dotted line marks the last round that counts."""
    curves = [("metric", measure, PURPLE)] if measure != "accuracy" else []
    curves += [("accuracy", "accuracy", ASSISTED), ("loss", "loss of the combination", GREEN)]
    there = [curve for curve in curves if any(getattr(row, curve[0]) is not None for row in rows)]
    n_columns, n_rows = min(len(there), 2), -(-len(there) // 2)
    kept = [row.round for row in rows if row.kept is not False]

    def draw(figure: Any) -> None:
        for place, (name, title, colour) in enumerate(there, start=1):
            axes = figure.add_subplot(n_rows, n_columns, place)
            points = [(row.round, value) for row in rows if (value := getattr(row, name)) is not None]
            dots = {"marker": "o", "markersize": 4.0 if len(points) <= 20 else 2.5}
            axes.plot(*zip(*points, strict=True), color=colour, **(dots if len(points) <= MARKERS_UP_TO else {}))
            if kept and len(kept) < len(rows):
                axes.axvline(max(kept), color=FAINT, linestyle=":", linewidth=1.0)
            axes.set(title=title)
            by_round(axes, rows[-1].round, n_ticks=8 // n_columns)
            _span(axes, [value for _, value in points], 1.003 if name == "accuracy" else None)
            if name == "accuracy":
                _percents(axes.yaxis)

    return svg("rounds", 2.3 * n_rows, draw)


def shares(rows: tuple[ShareRow, ...], of: SharedIn = "accuracy") -> str:
    def draw(figure: Any) -> None:
        axes = figure.subplots()
        reach = [ERRORS * row.error(of) for row in rows]
        draw_shares(axes, [row.helper for row in rows], [row.share(of) for row in rows], reach, "share")
        if of == "accuracy":
            axes.set_xlabel("accuracy that the result owes it, in percentage points")
            axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:+.3g}" if value else "0")
        else:
            axes.set_xlabel("by how much the result owes it a lower log loss")

    return svg("shares", 0.9 + 0.32 * len(rows), draw)


def weights(agents: Sequence[str], rows: Mapping[int, Sequence[float | None]], by: str = "round") -> str:
    names = [short(agent) for agent in agents]
    n_columns = max(1, min(len(names), 60 // (6 + max(map(len, names)))))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        table = np.array([[np.nan if each is None else each for each in row] for row in rows.values()])
        draw_weights(axes, list(rows), dict(zip(names, table.T, strict=True)))
        by_round(axes, max(rows), by)
        figure.legend(loc="outside upper center", ncols=n_columns)

    return svg("weights", 2.3 + 0.2 * -(-len(names) // n_columns), draw)


def reliability(assisted: tuple[Reliability, ...], alone: tuple[Reliability, ...]) -> str:
    least = min([0.5, *(min(each.said, each.right) for each in (*assisted, *alone))])

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.plot([least, 1.0], [least, 1.0], "--", color=FAINT, linewidth=0.9, label="as said")
        for rows, label, colour, marker in ((alone, "alone", ALONE, "s"), (assisted, "with help", ASSISTED, "o")):
            said = [each.said for each in rows]
            axes.plot(said, [each.right for each in rows], color=colour, marker=marker, label=label)
            low, high = ([each.interval[end] for each in rows] for end in (0, 1))
            axes.vlines(said, low, high, color=colour, linewidth=0.7)
        axes.set(xlabel="said to be right", ylabel="were right")
        _percents(axes.xaxis)
        _percents(axes.yaxis)
        figure.legend(loc="outside upper center", ncols=3)

    return svg("reliability", 3.0, draw)


def confusion(table: Confusion, classes: tuple[str, ...]) -> str:
    from matplotlib.patches import Rectangle

    size = len(classes)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, counts in enumerate(table.counts):
            whole = sum(counts) or 1.0
            for answer, count in enumerate(counts):
                if count:
                    corner, share = (answer - 0.5, place - 0.5), count / whole
                    axes.add_patch(Rectangle(corner, 1, 1, facecolor=ASSISTED, alpha=0.08 + 0.5 * share))
                    if size <= 8:
                        axes.text(answer, place, f"{share:.0%}", ha="center", va="center")
        axes.set(xlim=(-0.5, size - 0.5), xlabel="answered", ylabel="true class")
        axes.set_aspect("equal", anchor="W")
        names = [short(name, 12) for name in classes]
        axes.set_xticks(range(size), names, rotation=90 if size > 4 or max(map(len, names)) > 8 else 0)
        name_rows(axes, classes, 12)
        axes.grid(visible=False)

    return svg("confusion", min(1.4 + 0.42 * size, 4.4), draw)


def exchanged(helpers: tuple[str, ...], sent: tuple[int, ...], received: tuple[int, ...]) -> str:
    most = max((*sent, *received), default=0)
    unit, name = next(((size, name) for size, name in ((1e6, "MB"), (1e3, "kB")) if most >= 2 * size), (1.0, "bytes"))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        places = np.arange(len(helpers))
        axes.barh(places - 0.19, np.array(sent) / unit, 0.34, color=ALONE, label="to it")
        axes.barh(places + 0.19, np.array(received) / unit, 0.34, color=ASSISTED, label="from it")
        name_rows(axes, helpers)
        axes.set_xlabel(name)
        figure.legend(loc="outside upper center", ncols=2)

    return svg("exchanged", 1.1 + 0.42 * len(helpers), draw)


def matched(rows: Sequence[SamplesMatched]) -> str:
    def draw(figure: Any) -> None:
        axes, places = figure.subplots(), range(len(rows))
        axes.barh(places, [row.n_asked for row in rows], 0.5, color="none", edgecolor=FAINT, linewidth=0.9)
        axes.barh(places, [row.n_held for row in rows], 0.5, color=ASSISTED)
        name_rows(axes, [row.agent for row in rows])
        axes.set_xlabel("samples: held, of those asked for")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")

    return svg("matched", 0.85 + 0.32 * len(rows), draw)


def seconds(rows: Sequence[Spent], initiator: str) -> str:
    def draw(figure: Any) -> None:
        axes = figure.subplots()
        colours = [ALONE if agent == initiator else ASSISTED if agent else FAINT for _, agent, _, _ in rows]
        axes.barh(range(len(rows)), [taken for _, _, taken, _ in rows], 0.6, color=colours)
        name_rows(axes, [f"{what}: {agent}" if agent else what for what, agent, _, _ in rows], 44)
        axes.set_xlabel("seconds")

    return svg("seconds", 0.8 + 0.24 * len(rows), draw)


def opened(rows: Sequence[SamplesOpened]) -> str:
    def draw(figure: Any) -> None:
        axes = figure.subplots()
        draw_gain(axes, [(row.n_opened, row.gain, row.lower, row.upper) for row in rows], "gain so far", "limits")
        axes.axhline(0.0, color=FAINT, linewidth=0.9)
        axes.set(xlabel="samples opened", ylabel="loss lower by")
        figure.legend(loc="outside upper center", ncols=2)

    return svg("opened", 2.5, draw)


def _span(axes: Any, values: Sequence[float], most: float | None) -> None:
    """Make the y axis span at least 0.02, so that a tiny difference does not look large."""
    low, high = min(values), max(values)
    more = max(0.08 * (high - low), (0.02 - (high - low)) / 2)
    axes.set_ylim(low - more, high + more if most is None else min(high + more, most))


def _percents(axis: Any) -> None:
    axis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")


# -- SVG that is small, has no styles of its own, and keeps its texts as texts

WIDTH = 5.2
"""The width in inches: as wide as a table on a screen, but narrow enough to read the letters on a telephone."""

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_DROPPED = {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "font.size": 9.0,
    "font.family": "sans-serif",
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "grid.color": LINES,
    "grid.linewidth": 0.6,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
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
    """Return what ``draw`` has drawn on a matplotlib figure, ``height`` inches high, as SVG for a page.

    Its ids begin with ``key``, so that a page can have several pictures.
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
    return _inlined(content.getvalue().decode(), key)


def _inlined(document: str, key: str) -> str:
    """Return matplotlib's SVG as an element of a page: attributes in place of styles, short numbers, ids of its own.

    >>> drawn = '<svg xmlns="http://www.w3.org/2000/svg" width="3pt"><g id="a" style="fill: none"><text '
    >>> _inlined(drawn + 'style="font: 9px x">b</text></g></svg>', "k")
    '<svg><g fill="none"><text font-size="9px">b</text></g></svg>'
    """
    document = _NOT_IN_XML.sub(lambda found: ascii(found[0])[1:-1], document)  # a label may hold any character
    root = ElementTree.fromstring(document)  # noqa: S314 - our own drawing
    used = set(re.findall(r"(?:href=\"|url\()#([^\")]+)", document))
    _remove(root, lambda child: child.tag in _DROPPED)
    for element in root.iter():
        _plain(element, used, key)
    for element in root.findall(".//defs/path"):  # the element that uses a path says how it is filled
        for name in ("fill", "stroke"):
            element.attrib.pop(name, None)
    _remove(root, _is_nothing)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    return re.sub(r">\s+<", "><", ElementTree.tostring(root, encoding="unicode").strip())


def _remove(root: ElementTree.Element, drop: Callable[[ElementTree.Element], bool]) -> None:
    for parent in reversed(list(root.iter())):
        for child in [child for child in parent if drop(child)]:
            parent.remove(child)


def _is_nothing(element: ElementTree.Element) -> bool:
    """Whether an element shows nothing: the background of a figure or of axes, or an empty group."""
    if element.tag == "path" and not element.get("id"):
        return element.get("fill") == "none" and not element.get("stroke")
    return element.tag in ("g", "defs") and not len(element)


def _plain(element: ElementTree.Element, used: set[str], key: str) -> None:
    """Turn an element's styles into attributes. Put the picture's name before its id, or drop an id that is unused."""
    element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
    attributes = element.attrib
    for part in filter(str.strip, attributes.pop("style", "").split(";")):
        name, value = (text.strip() for text in part.split(":", 1))
        font = _FONT.match(value) if name == "font" else None
        if font is not None:
            attributes["font-size"] = font["size"]
            if font["weight"]:
                attributes["font-weight"] = font["weight"]
        elif name != "font" and name not in _LEFT_TO_THE_PAGE:
            attributes[name] = value
    if f"{{{_XLINK}}}href" in attributes:
        attributes["href"] = "#" + attributes.pop(f"{{{_XLINK}}}href")[1:]
    if attributes.get("id") not in used:
        attributes.pop("id", None)
    if attributes.get("transform", "").startswith("rotate(-0 "):
        del attributes["transform"]
    for name, value in attributes.items():
        found = _NUMBER.sub(lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), _own_id(name, value, key))
        attributes[name] = re.sub(r"\s*([A-Za-z])\s*", r"\1", found.strip()) if name == "d" else found


def _own_id(name: str, value: str, key: str) -> str:
    if name == "id":
        return f"{key}-{value}"
    return f"#{key}-{value[1:]}" if name == "href" else value.replace("url(#", f"url(#{key}-")
