"""XGBoost is an extra: nothing needs it but the histogram trees, and they say how to get it."""

import subprocess
import sys

WITHOUT = "import sys; sys.modules['xgboost'] = None\n"


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_importing_assistlearn_does_not_import_xgboost():
    done = run("import sys, assistlearn, assistlearn.learners; sys.exit('xgboost' in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_without_xgboost_everything_else_works():
    code = (
        "import assistlearn\nfrom sklearn.datasets import load_iris\n"
        "assistlearn.AssistedClassifier().fit(*load_iris(return_X_y=True))\n"
    )
    done = run(WITHOUT + code)
    assert done.returncode == 0, done.stderr


def test_without_xgboost_a_histogram_tree_says_how_to_install_it():
    code = "from assistlearn.learners import HistTreeClassifier\nHistTreeClassifier().fit([[0.0], [1.0]], [0, 1])\n"
    done = run(WITHOUT + code)
    assert "MissingExtraError: Histogram trees need XGBoost: pip install 'xgboost" in done.stderr
