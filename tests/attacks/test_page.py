"""The page that privacy officers read says what was tried."""

from tests.attacks.page import PAGE, attacks, written


def test_page_has_the_table_of_attacks():
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "write it anew: python -m tests.attacks.page"


def test_no_attack_is_told_twice():
    told = [(attack.by, attack.tries) for attack in attacks()]
    assert len(told) == len(set(told))
