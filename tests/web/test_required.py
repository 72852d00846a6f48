from importlib import util

import pytest

from assistlearn.errors import MissingExtraError
from assistlearn.web import require_web


def test_what_is_not_installed_is_named_with_its_install_line(monkeypatch):
    found = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "uvicorn" else found(name))
    with pytest.raises(MissingExtraError, match=r"watch needs uvicorn, .* pip install .*'starlette"):
        require_web("assistlearn watch")
    monkeypatch.undo()
    require_web("assistlearn watch")
