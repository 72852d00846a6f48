"""A real browser for tests: Debian's Chromium, driven by Playwright. Where there is none, such tests are skipped.

Whoever wants it imports the fixtures: ``from tests.browser import browser, opened  # noqa: F401``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for all tests of a module; each opens pages of its own.

    Not of a session: while it is open, Playwright has the event loop of this thread, and nobody else could run one.
    """
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"There is no browser: none of {', '.join(NAMES)} is installed.")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed.")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@dataclass
class Seen:
    """A page in the browser, and what it has asked for and complained about."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def findings(self) -> list[str]:
        """What axe-core finds that is serious or critical, in words."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        return [
            f"{each['id']}: {each['help']} ({each['nodes'][0]['html'][:200]})"
            for each in found
            if each["impact"] in ("serious", "critical")
        ]

    @property
    def wider_than_the_screen(self) -> bool:
        """Whether the page as a whole scrolls sideways."""
        wide: bool = self.page.evaluate("document.scrollingElement.scrollWidth > document.scrollingElement.clientWidth")
        return wide


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Seen]]:
    """Open an address in a context of its own, with Playwright's options of a context, such as ``color_scheme``.

    Requests and complaints are listened to from before the first byte. ``bypass_csp=True`` lets axe-core in.
    """
    contexts = []

    def open_(address: str, **options: Any) -> Seen:
        context = browser.new_context(**options)
        contexts.append(context)
        seen = Seen(context.new_page())
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.on("console", lambda said: seen.complaints.append(said.text) if said.type == "error" else None)
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.goto(address)
        return seen

    yield open_
    for context in contexts:
        context.close()
