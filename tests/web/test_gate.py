import socket
from importlib import util

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from assistlearn.errors import MissingExtraError, SettingsError
from assistlearn.web import require_web
from assistlearn.web.server import HEADERS, Gate, Policy, listening, port_of
from tests.web.serving import asked, served

TOKEN = "GYI4SBsuhBREGot8t2wdO6vaBJi_6gw8"  # the same in every process, as it is part of the names of tests


async def _path(request):
    return PlainTextResponse("seen " + request.url.path)


@pytest.fixture(scope="module")
def port():
    app = Starlette(routes=[Route("/{path:path}", _path)])
    with served(Gate(app, Policy(TOKEN, in_path=True, headers=HEADERS))) as port:
        yield port


def test_behind_the_token_the_path_goes_on_without_it(port):
    assert asked(port, f"/{TOKEN}/")[::2] == (200, "seen /")
    assert asked(port, f"/{TOKEN}/events")[::2] == (200, "seen /events")


@pytest.mark.parametrize(
    "path", ["/", "/events", f"/{TOKEN[:-1]}/", f"/x{TOKEN}/", f"/?token={TOKEN}", "/%C3%A9/", "//"]
)
def test_without_the_token_nothing_is_shown(port, path):
    status, _, text = asked(port, path)
    assert status == 403
    assert "seen" not in text


def test_an_address_without_its_last_slash_is_put_right(port):
    status, headers, _ = asked(port, f"/{TOKEN}")
    assert (status, headers["location"]) == (308, f"/{TOKEN}/")


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "127.0.0.2", ""]
)
def test_a_foreign_host_is_refused_even_with_the_token(port, host):
    status, _, text = asked(port, f"/{TOKEN}/", Host=host)
    assert status in {400, 421}  # without any Host, the server itself says 400
    assert "seen" not in text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:8080"])
def test_loopback_is_known_by_all_its_names_at_any_port(port, host):
    assert asked(port, f"/{TOKEN}/", Host=host)[0] == 200


@pytest.mark.parametrize("path", [f"/{TOKEN}/", "/"])
def test_every_answer_has_the_headers(port, path):
    _, headers, _ = asked(port, path)
    assert HEADERS.items() <= headers.items()
    assert "server" not in headers


def test_only_loopback_is_listened_to(port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as caller:
        assert caller.connect_ex(("127.0.0.2", port)) != 0


def test_a_port_that_is_taken_is_named():
    with listening() as taken:
        taken.listen()
        with pytest.raises(SettingsError, match=f"Cannot listen at port {port_of(taken)} of 127.0.0.1"):
            listening(port_of(taken))


def test_what_is_not_installed_is_named_with_its_install_line(monkeypatch):
    found = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "uvicorn" else found(name))
    with pytest.raises(MissingExtraError, match=r"watch needs uvicorn, .* pip install .*'starlette"):
        require_web("assistlearn watch")
    monkeypatch.undo()
    require_web("assistlearn watch")
