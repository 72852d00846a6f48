"""The pictures of the pages on methods are those that their script draws."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from assistlearn.core import State

DOCS = Path(__file__).parents[1] / "docs"
TEXT = re.compile(r"<text.*?>(.*?)</text>")


@pytest.fixture(scope="module")
def drawing():
    spec = spec_from_file_location("draw_methods", DOCS / "draw_methods.py")
    module = sys.modules["draw_methods"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pictures_are_those_that_the_script_draws(drawing, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "OUT", tmp_path)
    drawing.main()
    for name in ("turn.svg", "choose_a_method.svg"):
        drawn, kept = ((folder / name).read_text(encoding="utf-8") for folder in (tmp_path, DOCS / "_static"))
        assert TEXT.findall(drawn) == TEXT.findall(kept)


def test_the_drawn_turn_has_the_weights_of_the_method(drawing):
    state, ignorance = State.start(8, 2, interchange=False), np.full(8, 1 / 8)
    for right in drawing.RIGHT.values():
        verdict = state.judge(right)
        ignorance, model_weight = drawing._after(ignorance, right)
        assert model_weight == pytest.approx(verdict.model_weight)
        state.apply(right, verdict.model_weight)
        assert ignorance == pytest.approx(state.ignorance())
