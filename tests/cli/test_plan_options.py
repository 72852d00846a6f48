"""The plan that the options of a command make."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from assistlearn.cli.train import takes_plan
from assistlearn.plan import Plan


def made(*options: str) -> Plan:
    """Return the plan that a command with these options is handed."""
    plans: list[Plan] = []

    def command(plan: Plan) -> None:
        plans.append(plan)

    app = typer.Typer()
    app.command()(takes_plan(command))
    result = CliRunner().invoke(app, list(options), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    [plan] = plans
    return plan


def test_without_options_it_is_the_recommended_plan_with_a_fifth_held_out():
    assert made() == Plan(method="soft", reward="auto", combine="auto", models_per_turn=20, holdout=0.2)


def test_one_word_makes_it_the_papers():
    papers = Plan(method="ascii", reward="in-sample", combine="sum", models_per_turn=1, n_rounds=20, holdout=0.2)
    assert made("--method", "ascii") == papers


@pytest.mark.parametrize(("said", "meant"), [("none", None), ("0", None), ("0.0", None), ("0.3", 0.3)])
def test_a_share_is_held_out_or_nothing(said, meant):
    assert made("--holdout", said).holdout == meant


def test_an_option_takes_precedence_over_what_goes_with_the_method():
    assert made("--models-per-turn", "3", "--reward", "out-of-fold") == Plan(
        models_per_turn=3, reward="out-of-fold", combine="auto", holdout=0.2
    )
