"""The page about the service: its examples run, and its tables are those of the code."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from assistlearn.web.predictor import MOST_WAITING
from assistlearn.web.service import ANSWERS, ServingLimits
from tests.cli.small_agents import NEW
from tests.web.served_run import TOKEN

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "how-to" / "serve.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def here(example: str, service, folder: Path) -> str:
    """An example for the service of this test: its address, token, model and people."""
    file = folder / "token"
    file.write_text(TOKEN)
    known = {"demo/run/serve.token": str(file), "127.0.0.1:8080": f"127.0.0.1:{service.port}"}
    known |= {"run-20261116-152236": service.model, "P39896": NEW[0], "P73424": NEW[1]}
    for old, new in known.items():
        example = example.replace(old, new)
    return example


@pytest.mark.parametrize("number", range(2))
def test_what_is_typed_gets_an_answer_like_that_of_the_page(service, tmp_path, number):
    typed = here(blocks("sh")[number], service, tmp_path)
    done = subprocess.run(["bash", "-c", typed], capture_output=True, check=True)
    said, shown = json.loads(done.stdout), json.loads(blocks("json")[0])
    assert said.keys() == shown.keys()
    assert said["predictions"][0].keys() == shown["predictions"][0].keys()
    assert [each["id"] for each in said["predictions"]] == NEW[: number + 1]
    assert said["unknown"] == ["nobody"][:number]


@pytest.mark.parametrize("number", range(2))
def test_the_programs_of_the_page_run(service, tmp_path, capsys, number):
    exec(compile(here(blocks("python")[number], service, tmp_path), "serving.md", "exec"), {})
    out = capsys.readouterr().out
    assert "clinic" in out
    assert "yes" in out or "no" in out


def test_every_route_is_on_the_page(service):
    for path in service.get("/openapi.json")[1]["paths"]:
        short = re.sub(r"/versions/\{version\}", "", path).replace("{model}", "RUN")
        assert short in PAGE or short.endswith("RUN/ready")


def test_every_status_is_on_the_page_and_the_limits_are_those_of_the_code():
    named = set(re.findall(r"^\| (\d{3}) \|", PAGE, flags=re.MULTILINE))
    assert named == set(ANSWERS)
    assert f"up to {ServingLimits().most_ids:,} ids" in PAGE
    assert f"more than {MOST_WAITING:,} requests wait" in PAGE
    assert ServingLimits().slowest == 10.0
    assert "within ten seconds" in PAGE
