"""The documentation's examples run, and its figures come from the code."""

import doctest
import os
import tomllib
from pathlib import Path

import pytest

import assistlearn
from tests.documentation import pages

ROOT = Path(__file__).parent.parent
PAGES = pages()
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_example_of_a_page_runs(page, monkeypatch):
    if ">>> from paper.datasets import" in page.read_text(encoding="utf-8"):
        data = Path(os.environ.get("ASSISTLEARN_DATA", ROOT.parent / "shared" / "data"))
        if not data.is_dir():
            pytest.skip(f"{page.name} shows real data, and {data} is not there; name its folder in ASSISTLEARN_DATA")
        monkeypatch.setenv("ASSISTLEARN_DATA", str(data))
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert failed == 0


def test_all_places_name_the_same_version():
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in pyproject["project"]["dynamic"]
    version = assistlearn.__version__
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
