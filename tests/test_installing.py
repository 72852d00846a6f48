"""No page and no error names a command that cannot work: the package itself is on no index."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from assistlearn.extras import install_line, of_package
from tests.documentation import DOCS, pages

ROOT = DOCS.parent
FROM_AN_INDEX = re.compile(r"(?:pip|uv|conda|pipx)\s(?:[\w-]+\s)*['\"]?assistlearn(?:\[[\w,{}]*\])?['\"]?(?![\w.-])")
AFTER_PUBLICATION = ROOT / "RELEASING.md"  # what is typed once the index has the package
TEXTS = [*pages(), *DOCS.rglob("examples/*.md"), *ROOT.glob("*.md"), *(ROOT / "src").rglob("*.py")]
EXTRAS = sorted(name for name in of_package() if name)


@pytest.mark.parametrize("line", ["pip install assistlearn", "pip install 'assistlearn[psi,web]'"])
def test_an_installation_from_an_index_is_found(line):
    assert FROM_AN_INDEX.search(f"You need `{line}`.")
    assert not FROM_AN_INDEX.search(line.replace("assistlearn", "."))


def test_no_page_and_no_message_installs_the_package_from_an_index():
    found = {
        str(file.relative_to(ROOT)): said.group()
        for file in {*TEXTS} - {AFTER_PUBLICATION}
        for said in FROM_AN_INDEX.finditer(file.read_text(encoding="utf-8"))
    }
    assert found == {}


@pytest.mark.parametrize("extra", [each for each in EXTRAS if each not in ("all", "dev")])
def test_the_line_for_an_extra_names_every_package_that_pip_would_install_for_it(extra):
    wanted = [line for line in metadata.requires("assistlearn") if f"extra == '{extra}'" in line.replace('"', "'")]
    assert wanted
    for line in wanted:
        assert line.partition(";")[0].strip().replace(" ", "") in install_line(extra)


def test_every_extra_that_a_page_or_a_message_names_exists():
    named = {
        (str(file.relative_to(ROOT)), extra)
        for file in TEXTS
        for said in re.finditer(r"'\.\[([\w,]+)\]'|install_line\('([\w]+)'\)", file.read_text(encoding="utf-8"))
        for extra in (said[1] or said[2]).split(",")
    }
    assert len(named) > 10
    assert {extra for _, extra in named} <= {*EXTRAS}, named


def test_without_metadata_the_line_says_in_which_folder_it_works():
    code = (
        "from importlib import metadata\n"
        "def unknown(name): raise metadata.PackageNotFoundError(name)\n"
        "metadata.requires = unknown\n"
        "from assistlearn.extras import install_line; print(install_line('web'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.home())
    assert done.stdout == "pip install '.[web]', in the folder of the source\n"
