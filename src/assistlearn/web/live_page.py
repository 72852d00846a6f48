"""The live page: the report's own page, with a line on how things stand, and a script that keeps it up to date."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from assistlearn import __version__
from assistlearn.pages.rendering import fragment, policy, style_sheet
from assistlearn.pages.section import Section
from assistlearn.web.page_state import PageState
from assistlearn.web.stream import told_standing
from assistlearn.web.watched import Draft

if TYPE_CHECKING:
    from jinja2 import Environment


def live_page(state: PageState) -> str:
    """Return the page with all sections of a state. Its script asks for later changes."""
    return (
        templates()
        .get_template("live.html")
        .render(
            **vars(state.frame),
            style=style_sheet(),
            policy=live_policy(),
            generator=f"assistlearn watch {__version__}",
            log=state.log,
            place=state.place,
            versions=state.versions,
            standing=told_standing(state.standing, datetime.now(UTC)),
            sections=(),
            drawn=[Markup(drawn.html) for drawn in state.sections.values()],  # noqa: S704 - made by templates
        )
    )


@cache
def live_policy() -> str:
    """Return the content security policy: as that of the report, and a script, a style and a stream of this server."""
    own = policy(style_sheet()).replace("style-src ", "style-src 'self' ")
    return f"{own}; script-src 'self'; connect-src 'self'"


def draft(key: str, template: str, **facts: Any) -> Draft:
    """Return a section that one of the templates here makes of some facts."""
    html = templates().get_template(template).render(**facts).strip()
    return Draft(key, html, lambda: html)


def draft_of(section: Section) -> Draft:
    """Return a section of the report. It is drawn again if its texts, its tables or the label of its picture change."""
    picture = section.picture
    content = section if picture is None else (replace(section, picture=None), picture.label)
    return Draft(section.key, content, lambda: fragment(section), is_costly=picture is not None)


@cache
def templates() -> Environment:
    """Return the templates, with those of the report. Values that are put into them are escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loader = ChoiceLoader([PackageLoader("assistlearn.web"), PackageLoader("assistlearn.pages")])
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
