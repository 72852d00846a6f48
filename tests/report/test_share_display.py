"""What SharesDisplay shows of who helped."""

from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib.figure import Figure

from assistlearn import SharesDisplay
from assistlearn.errors import SettingsError
from assistlearn.evaluation.shares import shares_of_sum


@pytest.fixture
def shares():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 80)
    truth = np.eye(2)[codes]
    scores = {name: rng.normal(size=(80, 2)) + gain * truth for name, gain in {"lab": 1.0, "$5 clinic": 0.2}.items()}
    return shares_of_sum(rng.normal(size=(80, 2)), scores, codes)


def test_marks_stand_at_the_shares_and_hollow_ones_at_what_is_lost_without(shares):
    display = SharesDisplay(shares=shares).plot(ax=Figure().subplots(1, 2))
    lab, clinic = shares.helpers
    for ax, fields in zip(
        display.axes_, (("loss", "loss_if_dropped"), ("accuracy", "accuracy_if_dropped")), strict=True
    ):
        filled, hollow = (line for line in ax.lines if line.get_marker() in ("o", "D"))
        for line, field in ((filled, fields[0]), (hollow, fields[1])):
            assert line.get_xdata().tolist() == [getattr(lab, field).value, getattr(clinic, field).value]
            assert list(line.get_ydata()) == [0, 1]
        assert hollow.get_markerfacecolor() == "white"


def test_the_first_helper_is_at_the_top_and_a_name_is_no_formula(shares):
    display = SharesDisplay(shares=shares).plot(ax=Figure().subplots(1, 2))
    low, high = display.axes_[0].get_ylim()
    assert low > high
    assert [label.get_text() for label in display.axes_[0].get_yticklabels()] == ["lab", r"\$5 clinic"]
    display.figure_.savefig(io.BytesIO())


def test_one_axes_is_divided_and_three_are_refused(shares):
    assert SharesDisplay(shares=shares).plot(ax=Figure().subplots()).axes_.shape == (2,)
    with pytest.raises(SettingsError, match="ax holds 3 axes, but there are 2 panels"):
        SharesDisplay(shares=shares).plot(ax=Figure().subplots(1, 3))
