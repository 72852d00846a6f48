"""The pictures of a page, drawn once each, as SVG that is small and keeps its colours apart."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree

from assistlearn.evaluation.calibration import Reliability
from assistlearn.evaluation.result import Confusion, SharedIn, ShareRow
from assistlearn.report.view import Matched, OpenedSoFar, RoundRow, Spent, WeightsOfRound

# The colours of pages. Each has a light form, for light screens and paper, and a dark form, for dark screens.
#
# Pictures are drawn in the light forms. On a dark screen the style sheet replaces these colours in a picture with the
# dark forms, so that a picture needs no style of its own.


class Colour(NamedTuple):
    """One colour, for a light background and for a dark one."""

    light: str
    dark: str


INK = Colour("#1d2733", "#e6e9ed")
FAINT = Colour("#56616d", "#a9b3be")
LINES = Colour("#d5dade", "#3a434d")
GROUND = Colour("#fffffe", "#14191f")
ASSISTED = Colour("#0b66a8", "#63b3f2")
ALONE = Colour("#b8480a", "#ff9d63")
AGENTS = (
    ALONE,
    Colour("#08775a", "#43cfa2"),
    Colour("#8c4799", "#d9a0e6"),
    Colour("#856300", "#e3bc47"),
    Colour("#3f5f8a", "#9cbcea"),
    Colour("#7a4a3a", "#dba995"),
)
"""The initiator's colour, which also means "alone", then the helpers' colours. With more agents these repeat."""

IN_PICTURES = (INK, FAINT, LINES, GROUND, ASSISTED, *AGENTS)


def of_agent(place: int) -> Colour:
    """Return the colour of an agent by its place. The place of the initiator is 0.

    >>> of_agent(1) == of_agent(6)
    True
    """
    return AGENTS[place] if place < len(AGENTS) else AGENTS[1 + (place - 1) % (len(AGENTS) - 1)]


# Draw a figure, and turn it into SVG that is small, has no styles of its own, and keeps its texts as texts.


WIDTH = 5.2
"""The width in inches: as wide as a table on a screen, but narrow enough to read the letters on a telephone."""

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_DROPPED = {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "font.size": 9.0,
    "font.family": "sans-serif",
    "text.parse_math": False,
    "text.color": INK.light,
    "axes.edgecolor": FAINT.light,
    "axes.labelcolor": INK.light,
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "grid.color": LINES.light,
    "grid.linewidth": 0.6,
    "xtick.color": FAINT.light,
    "ytick.color": FAINT.light,
    "xtick.labelcolor": INK.light,
    "ytick.labelcolor": INK.light,
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


# Label the axes of pictures with names, rounds and shares, and choose which range they show.


def columns(points: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    """Return the numbers and the values of points."""
    return [number for number, _ in points], [value for _, value in points]


def dot(points: Sequence[object]) -> float:
    """Return the size of a dot, which is smaller where there are many."""
    return 4.0 if len(points) <= 20 else 2.5


def byte_unit(most: float) -> tuple[float, str]:
    """Return the unit in which this number of bytes is shown, and its name."""
    return next(((size, name) for size, name in ((1e6, "MB"), (1e3, "kB")) if most >= 2 * size), (1.0, "bytes"))


def short(name: str, longest: int = 18) -> str:
    """Return a name that fits. A long one loses its middle, because names often differ only at the end."""
    return name if len(name) <= longest else f"{name[: longest // 2 - 1]}…{name[-(longest - longest // 2) :]}"


def name_rows(axes: Any, names: Sequence[str], longest: int = 18) -> None:
    """Name the rows of a picture from top to bottom."""
    axes.set_yticks(range(len(names)), [short(name, longest) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def by_round(axes: Any, rounds: Sequence[int], name: str = "round", n_ticks: int = 6) -> None:
    """Make the x axis count rounds in whole numbers, also where there is only one."""
    from matplotlib.ticker import MaxNLocator

    first, last = min(rounds), max(rounds)
    more = max(0.04 * (last - first), 0.2)
    axes.set(xlabel=name, xlim=(first - more, last + more))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=n_ticks, min_n_ticks=1))


def span(axes: Any, values: Sequence[float], most: float | None) -> None:
    """Make the y axis span at least 0.02, so that a tiny difference does not look large."""
    low, high = min(values), max(values)
    more = max(0.08 * (high - low), (0.02 - (high - low)) / 2)
    axes.set_ylim(low - more, high + more if most is None else min(high + more, most))


def percents(axis: Any) -> None:
    """Make an axis show shares as percentages."""
    axis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")


def signed_points(axis: Any) -> None:
    """Make an axis show differences of shares in percentage points."""
    axis.set_major_formatter(lambda value, _: f"{100 * value:+.3g}" if value else "0")


# The pictures of a page.


MARKERS = ("s", "o", "^", "D", "v", "P")
DASHES = ("-", "--", "-.", ":")
MOST_DOTS = 60
"""Curves with more points have no markers."""

ERRORS = 2.0
"""How many standard errors an interval extends to each side."""


def rounds(rows: tuple[RoundRow, ...], measure: str) -> str:
    """Draw metric, accuracy and loss, round by round; a dotted line marks the last round that counts."""
    curves = [("metric", measure, AGENTS[2])] if measure != "accuracy" else []
    curves.append(("accuracy", "accuracy", ASSISTED))
    curves.append(("loss", "loss of the combination", AGENTS[1]))
    there = [curve for curve in curves if any(_of(row, curve[0]) is not None for row in rows)]

    n_columns = min(len(there), 2)
    n_rows = -(-len(there) // 2)
    kept = [row.round for row in rows if row.kept is not False]

    def draw(figure: Any) -> None:
        for place, (name, title, colour) in enumerate(there, start=1):
            axes = figure.add_subplot(n_rows, n_columns, place)
            points = [(row.round, value) for row in rows if (value := _of(row, name)) is not None]
            dots = {"marker": "o", "markersize": dot(points)} if len(points) <= MOST_DOTS else {}
            axes.plot(*columns(points), color=colour.light, **dots)
            if kept and len(kept) < len(rows):
                axes.axvline(max(kept), color=FAINT.light, linestyle=":", linewidth=1.0)
            axes.set(title=title)
            by_round(axes, [row.round for row in rows], n_ticks=4 if n_columns > 1 else 6)
            span(axes, [value for _, value in points], 1.003 if name == "accuracy" else None)
            if name == "accuracy":
                percents(axes.yaxis)

    return svg("rounds", 2.3 * n_rows, draw)


def shares(rows: tuple[ShareRow, ...], of: SharedIn = "accuracy") -> str:
    """Draw each helper's share of the gain in accuracy, or in log loss, with its interval."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, row in enumerate(rows):
            colour = of_agent(place + 1).light
            reach = ERRORS * row.error(of)
            axes.errorbar(row.share(of), place, xerr=reach, color=colour, marker="o", capsize=3, markersize=6)
        axes.axvline(0.0, color=FAINT.light, linewidth=0.9)
        name_rows(axes, [row.helper for row in rows])
        if of == "accuracy":
            axes.set_xlabel("accuracy that the result owes it, in percentage points")
            signed_points(axes.xaxis)
        else:
            axes.set_xlabel("by how much the result owes it a lower log loss")

    return svg("shares", 0.9 + 0.32 * len(rows), draw)


def weights(agents: tuple[str, ...], rows: tuple[WeightsOfRound, ...], by: str = "round") -> str:
    """Draw the model weight of each agent, round by round, or turn by turn."""
    n_columns = max(1, min(len(agents), 60 // (6 + max(len(short(agent)) for agent in agents))))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, agent in enumerate(agents):
            points = [(row.round, weight) for row in rows if (weight := row.weights[place]) is not None]
            look = {"color": of_agent(place).light, "linewidth": 1.0, "label": short(agent)}
            if len(points) > MOST_DOTS:
                look |= {"linestyle": DASHES[place % len(DASHES)]}
            else:
                look |= {"marker": MARKERS[place % len(MARKERS)], "markersize": dot(points)}
            axes.plot(*columns(points), **look)
        axes.set(ylabel="model weight", ylim=(0.0, None))
        by_round(axes, [row.round for row in rows], by)
        figure.legend(loc="outside upper center", ncols=n_columns)

    return svg("weights", 2.3 + 0.2 * -(-len(agents) // n_columns), draw)


def reliability(assisted: tuple[Reliability, ...], alone: tuple[Reliability, ...]) -> str:
    """Draw how often answers were right against how sure they were said to be, with intervals."""
    least = min([0.5, *(min(each.said, each.right) for each in (*assisted, *alone))])

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.plot([least, 1.0], [least, 1.0], "--", color=FAINT.light, linewidth=0.9, label="as said")
        groups = (alone, "alone", ALONE, "s"), (assisted, "with help", ASSISTED, "o")
        for rows, label, colour, marker in groups:
            said, right = [each.said for each in rows], [each.right for each in rows]
            axes.plot(said, right, color=colour.light, marker=marker, label=label)
            low, high = ([each.interval[end] for each in rows] for end in (0, 1))
            axes.vlines(said, low, high, color=colour.light, linewidth=0.7)
        axes.set(xlabel="said to be right", ylabel="were right")
        percents(axes.xaxis)
        percents(axes.yaxis)
        figure.legend(loc="outside upper center", ncols=3)

    return svg("reliability", 3.0, draw)


def confusion(table: Confusion, classes: tuple[str, ...]) -> str:
    """Draw which class was answered for which, as shares of the true class."""
    from matplotlib.patches import Rectangle

    size = len(classes)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, counts in enumerate(table.counts):
            whole = sum(counts) or 1.0
            for answer, count in enumerate(counts):
                if count:
                    corner, share = (answer - 0.5, place - 0.5), count / whole
                    axes.add_patch(Rectangle(corner, 1, 1, facecolor=ASSISTED.light, alpha=0.08 + 0.5 * share))
                    if size <= 8:
                        axes.text(answer, place, f"{share:.0%}", ha="center", va="center")
        axes.set(xlim=(-0.5, size - 0.5), xlabel="answered", ylabel="true class")
        axes.grid(visible=False)
        axes.set_aspect("equal", anchor="W")
        names = [short(name, 12) for name in classes]
        axes.set_xticks(range(size), names, rotation=90 if size > 4 or max(map(len, names)) > 8 else 0)
        name_rows(axes, classes, 12)

    return svg("confusion", min(1.4 + 0.42 * size, 4.4), draw)


def exchanged(helpers: tuple[str, ...], sent: tuple[int, ...], received: tuple[int, ...]) -> str:
    """Draw the bytes to and from each helper."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        unit, name = byte_unit(max((*sent, *received), default=0))
        for place, (to, back) in enumerate(zip(sent, received, strict=True)):
            first = place == 0
            axes.barh(place - 0.19, to / unit, 0.34, color=ALONE.light, label="to it" if first else None)
            axes.barh(place + 0.19, back / unit, 0.34, color=ASSISTED.light, label="from it" if first else None)
        name_rows(axes, helpers)
        axes.set_xlabel(name)
        figure.legend(loc="outside upper center", ncols=2)

    return svg("exchanged", 1.1 + 0.42 * len(helpers), draw)


def matched(rows: tuple[Matched, ...]) -> str:
    """Draw how many of the samples asked for each helper holds."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, row in enumerate(rows):
            axes.barh(place, row.n_asked, 0.5, color="none", edgecolor=FAINT.light, linewidth=0.9)
            axes.barh(place, row.n_held, 0.5, color=of_agent(place + 1).light)
        name_rows(axes, [row.helper for row in rows])
        axes.set_xlabel("samples: held, of those asked for")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")

    return svg("matched", 0.85 + 0.32 * len(rows), draw)


def seconds(rows: tuple[Spent, ...], initiator: str) -> str:
    """Draw where the seconds went."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for place, row in enumerate(rows):
            colour = ALONE if row.agent == initiator else FAINT if not row.agent else ASSISTED
            axes.barh(place, row.seconds, 0.6, color=colour.light)
        name_rows(axes, [f"{row.what}: {row.agent}" if row.agent else row.what for row in rows], 44)
        axes.set_xlabel("seconds")

    return svg("seconds", 0.8 + 0.24 * len(rows), draw)


def opened(rows: tuple[OpenedSoFar, ...]) -> str:
    """Draw the gain of a pilot after each block of samples, with its limits."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        numbers, colour = [row.n_opened for row in rows], ASSISTED.light
        lower, upper = [row.lower for row in rows], [row.upper for row in rows]
        axes.fill_between(numbers, lower, upper, color=colour, alpha=0.2, linewidth=0, label="limits")
        axes.plot(numbers, [row.gain for row in rows], color=colour, label="gain so far")
        axes.axhline(0.0, color=FAINT.light, linewidth=0.9)
        axes.set(xlabel="samples opened", ylabel="loss lower by")
        figure.legend(loc="outside upper center", ncols=2)

    return svg("opened", 2.5, draw)


def _of(row: RoundRow, name: str) -> float | None:
    value: float | None = getattr(row, name)
    return value
