"""The live page in a real browser: what is seen, how soon, and that looking at it is left undisturbed."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from statistics import median
from time import monotonic

import pytest

from assistlearn.events import Asked, RoundFinished, SamplesSettled
from assistlearn.protocol import Ledger
from assistlearn.web.live import LiveAgent, LiveRun
from tests.web.serving import address, shown

SOON = 15_000.0
"""Milliseconds that a browser on a busy machine has, where the test is not about how soon."""


def text(page, words):
    return page.get_by_text(words).first


def see(page, words, milliseconds=SOON):
    text(page, words).wait_for(timeout=milliseconds)


class Line:
    """Forwards connections to a port of this machine, as long as it is whole."""

    def __init__(self, to: int) -> None:
        self._to = to
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._take_calls()

    def cut(self) -> None:
        """Break all connections, and take no more."""
        for each in [self._listening, *self._open]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open.clear()

    def mend(self) -> None:
        """Take connections again, at the same port."""
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self._take_calls()

    def _take_calls(self) -> None:
        threading.Thread(target=self._forward_all, args=(self._listening,), daemon=True).start()

    def _forward_all(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                ends = [listening.accept()[0], socket.create_connection(("127.0.0.1", self._to))]
                self._open += ends
                for one, other in (ends, ends[::-1]):
                    threading.Thread(target=_forward, args=(one, other), daemon=True).start()


def _forward(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while said := one.recv(65536):
            other.sendall(said)
    with suppress(OSError):
        other.shutdown(socket.SHUT_WR)


@pytest.fixture
def rounds(begun):
    """A run in which some rounds are over."""
    log = begun.log()
    log.append(SamplesSettled(70, 30))
    for number in range(1, 4):
        log.append(RoundFinished(number, 0.5 + number / 100))
    return begun


def test_a_fact_is_on_screen_within_a_second_of_its_event(rounds, opened):
    log = rounds.log()
    with shown(LiveRun(rounds.path)) as port:
        seen = opened(address(port))
        see(seen.page, "53.0 % of the hold-out samples")
        seconds = []
        for number in range(4, 9):
            begins = monotonic()
            log.append(RoundFinished(number, 0.6 + number / 100))
            see(seen.page, f"{60 + number}.0 % of the hold-out samples")
            seconds.append(monotonic() - begins)
        assert median(seconds) < 1.0  # every one, on a machine that does nothing else
        see(seen.page, "Round by round")  # the sections of the report come, too
        seen.page.locator("#rounds figure svg").wait_for(timeout=SOON)
    assert seen.complaints == []
    assert {request.startswith(address(port)) or request == "data:," for request in seen.requests} == {True}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_fit_for_all_and_for_a_telephone(rounds, opened, scheme):
    with shown(LiveRun(rounds.path)) as port:
        seen = opened(address(port), bypass_csp=True, color_scheme=scheme, viewport={"width": 375, "height": 800})
        see(seen.page, "Round by round")
        assert seen.findings() == []
        assert not seen.wider_than_the_screen
        ground = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")


def test_an_agent_s_page_is_fit_for_all_and_counts_the_seconds(lab, opened):
    ledger = Ledger(lab.parent / "lab-models" / "ledger.jsonl")
    with shown(LiveAgent(lab)) as port:
        seen = opened(address(port), bypass_csp=True, viewport={"width": 375, "height": 800})
        see(seen.page, "Waiting for the first request")
        ledger.record("received", "clinic", "heart", "take-turn", b"x" * 100)
        see(seen.page, "At work for clinic")
        seen.page.locator("time[data-since]", has_text="2 s").wait_for(timeout=SOON)
        assert seen.findings() == []
        assert not seen.wider_than_the_screen
        assert seen.complaints == []


def test_what_is_open_focused_and_scrolled_stays_so_when_a_section_is_replaced(rounds, opened):
    log = rounds.log()
    for number in range(4, 30):  # so many that the table is folded away
        log.append(RoundFinished(number, 0.7))
    with shown(LiveRun(rounds.path)) as port:
        page = opened(address(port), viewport={"width": 375, "height": 800}).page
        summary = page.locator("#rounds summary")
        summary.focus()
        page.keyboard.press("Enter")
        assert page.locator("#rounds details[open]").count() == 1
        page.locator("#rounds .wide").evaluate("box => { box.scrollLeft = 40 }")
        page.locator("#now summary").click()  # closed
        summary.focus()
        for number in range(30, 33):
            log.append(RoundFinished(number, 0.8))
            page.locator(f"#rounds tbody th:text-is('{number}')").wait_for(timeout=SOON)
            assert page.locator("#rounds details[open]").count() == 1
            assert page.locator("#now details[open]").count() == 0
            assert page.evaluate("document.activeElement.closest('section').id") == "rounds"
            assert page.locator("#rounds .wide").evaluate("box => box.scrollLeft") == 40


def test_text_that_is_selected_is_not_taken_away(rounds, opened):
    log = rounds.log()
    with shown(LiveRun(rounds.path)) as port:
        page = opened(address(port)).page
        see(page, "53.0 % of the hold-out samples")
        page.evaluate("getSelection().selectAllChildren(document.querySelector('#now table'))")
        log.append(RoundFinished(4, 0.99))
        see(page, "4 rounds and 0 turns are done")  # the line at the top goes on
        assert "53.0 % of the hold-out" in page.evaluate("getSelection().toString()")
        page.evaluate("getSelection().removeAllRanges()")
        see(page, "99.0 % of the hold-out samples")


def test_a_click_is_not_lost_when_news_comes_in_its_middle(rounds, opened):
    log = rounds.log()
    with shown(LiveRun(rounds.path)) as port:
        page = opened(address(port)).page
        see(page, "53.0 % of the hold-out samples")
        page.locator("#now summary").hover()
        page.mouse.down()
        log.append(RoundFinished(4, 0.99))
        see(page, "4 rounds and 0 turns are done")
        page.mouse.up()
        page.locator("#now details:not([open])").wait_for(state="attached", timeout=SOON)
        text(page, "99.0 %").wait_for(state="attached", timeout=SOON)


def test_a_reload_goes_on_where_it_was_and_shows_nothing_twice(rounds, opened):
    log = rounds.log()
    with shown(LiveRun(rounds.path)) as port:
        page = opened(address(port)).page
        for number in (4, 5, 6):
            page.reload()
            log.append(RoundFinished(number, 0.8))
            see(page, f"Round {number} is over")
        page.locator("#rounds tbody th:text-is('6')").wait_for(timeout=SOON)
        assert page.locator("#rounds tbody th").all_inner_texts() == ["1", "2", "3", "4", "5", "6"]
        assert page.locator("#page section").count() == page.locator("nav li").count()
        keys = page.locator("#page section").evaluate_all("all => all.map(each => each.id)")
        assert len(keys) == len({*keys})


def test_a_connection_that_is_lost_is_told_and_found_again(rounds, opened):
    log = rounds.log()
    with shown(LiveRun(rounds.path)) as port:
        line = Line(port)
        page = opened(address(line.port)).page
        see(page, "53.0 % of the hold-out samples")
        line.cut()
        see(page, "connection lost, trying again")
        log.append(RoundFinished(4, 0.97))
        line.mend()
        see(page, "97.0 % of the hold-out samples")
        assert page.locator("#live-state").text_content() == "stopped"
    see(page, "The command that showed this page has ended.")
    line.cut()


def test_what_others_say_is_text_and_never_markup(rounds, opened):
    hostile = "<img src=x onerror=document.title='taken'><b>lab</b>"
    rounds.log().append(Asked(hostile, "open", 10))
    with shown(LiveRun(rounds.path)) as port:
        seen = opened(address(port))
        see(seen.page, hostile)
        assert seen.page.locator("#now b, #now img").count() == 0
        assert seen.complaints == []
