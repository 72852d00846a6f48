"""Small files that are large when they are read: refused before that, with one error."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skops.io import dumps

from assistlearn.agent_files import load_description
from assistlearn.agent_files.named_learner import make_learner
from assistlearn.errors import DescriptionError, LearnerError, UntrustedFileError
from assistlearn.learners.models_on_disk import loads_trusted
from tests.agent_files.conftest import write_agent
from tests.attacks.attack import attack

__all__ = ["write_agent"]

TOML = {
    "deep table": "[" + ".".join("a" * 5_000) + "]",
    "deep dotted key": ".".join("a" * 5_000) + " = 1",
    "deep list": "a = " + "[" * 5_000 + "]" * 5_000,
    "deep inline table": "a = " + "{a = " * 5_000 + "1" + "}" * 5_000,
    "long number": "a = " + "9" * 5_000,
    "large file": "# " + "x" * 1_100_000,
    "list over many lines": "a = [\n" + "[1],\n" * 60_000 + "]",
}


@attack(
    "local process",
    "writes a TOML file with 5,000 tables in each other, a number of 5,000 digits, or a megabyte of anything",
    "refused in one line: the size, the depth and the digits are limited",
)
@pytest.mark.parametrize("kind", TOML)
def test_a_toml_file_is_bounded(write_agent, kind):
    with pytest.raises(DescriptionError, match=r"lab\.toml"):
        load_description(write_agent("id,x\n", TOML[kind] + "\n"))


@attack(
    "local process",
    "puts a model of a megabyte in place of another that unpacks to gigabytes",
    "refused: what a ZIP file unpacks to is looked at before it is read",
)
@pytest.mark.parametrize("name", ["schema.json", "1.npy"])
def test_a_packed_model_is_not_unpacked(name):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file, file.open(name, "w") as large:
        for _ in range(120):
            large.write(bytes(1_000_000))
    with pytest.raises(UntrustedFileError, match=r"model has .* bytes and unpacks to 120,000,000"):
        loads_trusted(packed.getvalue(), "model")


@attack(
    "local process",
    "gives a learner a folder as its memory, in an agent's file or in a stored model, and puts a pickle there",
    "refused in both: such a folder is never read",
)
def test_no_learner_has_a_memory(write_agent, tmp_path):
    (tmp_path / "own_memory.py").write_text(
        "from sklearn.pipeline import make_pipeline\nfrom sklearn.linear_model import LogisticRegression\n"
        "def made():\n    return make_pipeline(LogisticRegression(), memory='cache')\n"
    )
    with pytest.raises(LearnerError, match="memory = 'cache': it would keep"):
        make_learner(load_description(write_agent("id,x\n", learner='"own_memory:made"')))
    model = make_pipeline(StandardScaler(), LogisticRegression(), memory=str(tmp_path))
    with pytest.raises(UntrustedFileError, match="Pipeline has a memory"):
        loads_trusted(dumps(model.set_params(memory=str(tmp_path))), "model")
    assert loads_trusted(dumps(model.set_params(memory=None)), "model").memory is None


def test_an_array_that_claims_to_be_huge_is_refused_without_its_memory():
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(dumps(np.zeros(10)))) as old, zipfile.ZipFile(packed, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"(10,), }" + b" " * 13, b"(10000000000000,), }" + b" "))
    with pytest.raises(UntrustedFileError, match="cannot be read as a model"):
        loads_trusted(packed.getvalue(), "model")
