"""Try an installed assistlearn: ``python smoke.py [EXTRA ...]``, in an environment that holds nothing else.

It imports the package from where it is installed and trains a first model. Without extras it then runs the commands of
the README; with extras, what each of them is for. It ends with exit code 1 at the first thing that does not work.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.request
from importlib.metadata import version
from pathlib import Path


def main(extras: list[str]) -> int:
    """Try the core, or the extras; say what was tried."""
    for trial in (first_model, *([EXTRAS[extra] for extra in extras] or [commands])):
        trial()
        sys.stdout.write(f"ok: {trial.__name__}\n")
    return 0


def first_model() -> None:
    """Train, keep and load a model of two agents."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.tree import DecisionTreeClassifier

    import assistlearn

    assert "site-packages" in str(assistlearn.__file__), f"not the installed package: {assistlearn.__file__}"
    assert assistlearn.__version__ == version("assistlearn")
    X, y = load_breast_cancer(return_X_y=True)
    agents = [
        ("clinic", DecisionTreeClassifier(max_depth=3), range(3)),
        ("lab", DecisionTreeClassifier(), range(3, 30)),
    ]
    clf = assistlearn.AssistedClassifier(agents, random_state=0).fit(X[::2], y[::2])
    assert clf.score(X[1::2], y[1::2]) > 0.85
    with tempfile.TemporaryDirectory() as folder:
        assistlearn.save(clf, Path(folder, "model"))
        again = assistlearn.load(Path(folder, "model"))
    assert (again.predict(X) == clf.predict(X)).all()


def commands() -> None:
    """Go from nothing to predictions, as the README does."""
    assert run("--version").strip() == f"assistlearn {version('assistlearn')}"
    with tempfile.TemporaryDirectory() as folder:
        demo = Path(folder, "demo")
        run("init", str(demo), "--example")
        agents = sorted(str(file) for file in demo.glob("*.toml"))
        assert len(agents) == 3
        run("check", *agents)
        run("simulate", *agents, "--out", str(demo / "run"))
        run("show", str(demo / "run"))
        run("predict", str(demo / "run"), "--ids", str(demo / "new-patients.csv"), "--out", str(demo / "answer.csv"))
        run("report", str(demo / "run"))
        assert len((demo / "answer.csv").read_text(encoding="utf-8").splitlines()) > 1
    run("doctor", "--json")


def privacy() -> None:
    """Compose randomised answers."""
    from assistlearn.agent.limits import epsilon_at_delta

    spent = epsilon_at_delta({1.0: 10})
    assert spent is not None
    assert 0 < spent <= 10


def psi() -> None:
    """Match samples by private set intersection, in the processes of two agents."""
    with tempfile.TemporaryDirectory() as folder:
        demo = Path(folder, "demo")
        run("init", str(demo), "--example")
        agents = [str(demo / name) for name in ("clinic.toml", "lab.toml")]
        run("simulate", *agents, "--out", str(demo / "run"), "--align", "psi")


def xgboost() -> None:
    """Fit histogram trees."""
    import numpy as np

    from assistlearn.learners import HistTreeClassifier

    X = np.random.default_rng(0).normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)
    assert HistTreeClassifier(max_depth=2).fit(X, y).score(X, y) > 0.9


def duckdb() -> None:
    """Read a table that is the answer of a query."""
    check_table('query = "SELECT range AS id, range % 3 AS age FROM range(40)"')


def postgres() -> None:
    """Load the driver; no server is here, which is said in words."""
    out = check_table('database = "postgresql://127.0.0.1:1/none"\nlocal_server = true\nquery = "SELECT 1"', code=None)
    assert "the connection is refused" in out, out


def s3() -> None:
    """Make a client of an object store; nothing is asked for."""
    import boto3
    import obstore.store

    assert obstore.store.S3Store("bucket", region="eu-west-1", skip_signature=True)
    assert boto3.__version__


def flare() -> None:
    """Found a network, which makes its certificates; its sites are started elsewhere (``make unit``)."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "network.toml").write_text(NETWORK, encoding="utf-8")
        run("network", "create", str(Path(folder) / "network.toml"), "--out", str(Path(folder) / "kits"))
        assert any((Path(folder) / "kits").rglob("*.crt"))


def web() -> None:
    """Serve predictions on loopback, and ask for one."""
    with tempfile.TemporaryDirectory() as folder:
        demo = Path(folder, "demo")
        run("init", str(demo), "--example")
        run("simulate", *sorted(map(str, demo.glob("*.toml"))), "--out", str(demo / "run"), "--rounds", "1")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = [program(), "serve", str(demo / "run"), "--port", str(port), "--no-token"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as serving:
            try:
                answer = ask(f"http://127.0.0.1:{port}/v2/health/live", serving)
            finally:
                serving.terminate()
        assert answer is not None


def ask(url: str, serving: subprocess.Popen[bytes]) -> bytes:
    """Return what a server answers, once it does."""
    for _ in range(240):
        assert serving.poll() is None, f"the server ended with {serving.returncode}"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return bytes(answer.read())
        except OSError:
            time.sleep(0.5)
    raise TimeoutError(url)


def torch() -> None:
    """Let a network be an agent's learner."""
    import numpy as np
    from skorch import NeuralNetClassifier
    from torch import nn

    from assistlearn import AssistedClassifier

    X = np.random.default_rng(0).normal(size=(120, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 2] > 0).astype(np.int64)
    net = NeuralNetClassifier(
        nn.Sequential(nn.Linear(2, 2)), criterion=nn.CrossEntropyLoss, lr=0.5, max_epochs=30, verbose=0
    )
    clf = AssistedClassifier([("a", net, [0, 1]), ("b", net, [2, 3])], random_state=0, n_rounds=1)
    assert clf.fit(X, y).score(X, y) > 0.8


def everything() -> None:
    """Try what the extra ``all`` holds."""
    for trial in (privacy, psi, xgboost, duckdb, postgres, s3, flare, web):
        trial()


EXTRAS = {
    "privacy": privacy,
    "psi": psi,
    "xgboost": xgboost,
    "duckdb": duckdb,
    "postgres": postgres,
    "s3": s3,
    "flare": flare,
    "web": web,
    "torch": torch,
    "all": everything,
}

NETWORK = """
name = "credit"
relay = "relay.example.org"
organisations = ["bank", "shop"]
initiator = "bank"
"""


def program() -> str:
    """Return where the program is installed."""
    found = shutil.which("assistlearn", path=sysconfig.get_path("scripts"))
    assert found is not None, "the program is not installed"
    return found


def run(*arguments: str, code: int | None = 0) -> str:
    """Run the installed program and return all that it says."""
    done = subprocess.run([program(), *arguments], capture_output=True, text=True, timeout=300, check=False)
    said = done.stdout + done.stderr
    assert code is None or done.returncode == code, f"{arguments} ended with {done.returncode}: {said}"
    return done.stdout if code == 0 else said


def check_table(lines: str, code: int | None = 0) -> str:
    """Check an agent's file whose table these lines name."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "lab.toml")
        learner = 'learner = "sklearn.tree.DecisionTreeClassifier"'
        file.write_text(f'name = "lab"\nid = "id"\n{learner}\n{lines}\n', encoding="utf-8")
        return run("check", str(file), code=code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
