"""The live page as a whole, as it is first sent."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from assistlearn.web.feed import Snapshot
from assistlearn.web.stream import told_standing
from assistlearn.web.watched import Fragment

if TYPE_CHECKING:
    from jinja2 import Environment


def live_page(title: str, snapshot: Snapshot) -> str:
    """Return the page with everything that a snapshot has; its script goes on from there."""
    return (
        templates()
        .get_template("live.html")
        .render(
            title=title,
            log=snapshot.log,
            place=snapshot.place,
            versions={key: shown.fragment.version for key, shown in snapshot.sections.items()},
            standing=told_standing(snapshot.standing, datetime.now(UTC)),
            sections=[Markup(shown.fragment.html) for shown in snapshot.sections.values()],  # noqa: S704 - from templates
        )
    )


def fragment(key: str, template: str, **facts: Any) -> Fragment:
    """Return a section that one of the templates here makes of some facts."""
    return Fragment(key, templates().get_template(template).render(**facts).strip())


@cache
def templates() -> Environment:
    """Return the templates; what is put into them is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(loader=PackageLoader("assistlearn.web"), autoescape=True, undefined=StrictUndefined)
