"""The page on measured privacy is that of the benchmark's results, which have every control."""

from pathlib import Path

import numpy as np

from bench.privacy.measure import NOTHING, WRONG_PEOPLE, fitted
from bench.privacy.report import PAGE, page
from bench.privacy.results import Results
from bench.privacy.tables import TABLES, breast, digits
from bench.privacy.ways import WAYS
from bench.provenance import without_provenance

ROOT = Path(__file__).parents[2]
FOUND = Results(ROOT / "bench" / "privacy" / "results.csv")


def test_the_page_in_the_documentation_is_that_of_the_results():
    text = (ROOT / "docs" / "evidence" / PAGE).read_text(encoding="utf-8")
    assert without_provenance(text) == without_provenance(page(FOUND, "*Results"))


def test_the_documented_results_have_every_table_way_and_control():
    assert FOUND.tables == list(TABLES)
    assert FOUND.ways == list(WAYS)
    for table in FOUND.tables:
        assert FOUND.controls(table) == [NOTHING, WRONG_PEOPLE]
        nothing, wrong = (FOUND.columns_together(table, way, 20) for way in (NOTHING, WRONG_PEOPLE))
        gaps = [wrong[seed] - nothing[seed] for seed in nothing]
        assert abs(np.mean(gaps)) < 0.03  # what is about other people says nothing


def test_what_is_overheard_is_what_the_helper_has_told():
    cut = digits(0)
    model = fitted(cut, "label-private, epsilon 1", 0)
    [told] = model.told_
    assert told.said.shape == (len(cut.train), 10)
    np.testing.assert_allclose(told.said.sum(axis=1), 0.0, atol=1e-9)  # votes of score vectors
    assert 0.0 < told.bits <= 4 * 10
    hard = fitted(breast(0), "ascii", 0)
    assert set(np.unique(hard.told_[0].said)) == {-1.0, 1.0}
    assert len(hard.told_) == sum(c.agent == "helper" for c in hard.contributions_)
