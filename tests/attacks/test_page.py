"""The page that privacy officers read, and the table beside the attacks, say what was tried."""

import pytest

from tests.attacks.page import PAGE, README, attacks, counts, table, written


@pytest.mark.parametrize(("page", "made"), [(README, table), (PAGE, counts)], ids=["README", "page"])
def test_page_has_the_table_of_attacks(page, made):
    text = page.read_text(encoding="utf-8")
    assert text == written(text, made()), "write it anew: python -m tests.attacks.page"


def test_no_attack_is_told_twice():
    told = [(attack.by, attack.tries) for attack in attacks()]
    assert len(told) == len(set(told))
