"""From the name of a learner to the learner, and the error for each name that is none."""

from __future__ import annotations

import sys

import pytest
from sklearn.linear_model import LogisticRegression

from assistlearn.agent.file import _LOADED, load_description, make_learner
from assistlearn.errors import DescriptionError, LearnerError
from assistlearn.learners import BestOf


@pytest.fixture(autouse=True)
def _forget_own_modules():
    before = dict(sys.modules)
    yield
    for name in set(sys.modules) - set(before):
        if name in _LOADED:
            del sys.modules[name], _LOADED[name]


def make(write_agent, learner: str, more: str = ""):
    return make_learner(load_description(write_agent(None, more, learner=learner)))


def test_a_class_is_called_with_its_parameters(write_agent):
    learner = make(
        write_agent, '{ kind = "sklearn.neural_network.MLPClassifier", parameters = {hidden_layer_sizes = [8, 8]} }'
    )
    assert learner.get_params()["hidden_layer_sizes"] == [8, 8]


@pytest.mark.parametrize(
    "first", ['"sklearn.tree.DecisionTreeClassifier"', '{ kind = "sklearn.tree.DecisionTreeClassifier" }']
)
def test_of_several_learners_the_best_is_taken(write_agent, first):
    second = '{ kind = "sklearn.linear_model.LogisticRegression", parameters = { C = 0.5 } }'
    learner = make(write_agent, f"[{first}, {second}]")
    assert isinstance(learner, BestOf)
    assert [type(each).__name__ for each in learner.estimators] == ["DecisionTreeClassifier", "LogisticRegression"]
    assert learner.estimators[1].C == 0.5


def test_a_list_of_one_learner_is_that_learner_and_an_empty_one_is_refused(write_agent):
    assert isinstance(make(write_agent, '["sklearn.linear_model.LogisticRegression"]'), LogisticRegression)
    with pytest.raises(DescriptionError, match="learner"):
        make(write_agent, "[]")


def test_a_function_beside_the_agents_file_is_called_with_its_parameters(write_agent, tmp_path):
    (tmp_path / "own_models.py").write_text(
        "from sklearn.linear_model import LogisticRegression\n\n\ndef strict(c):\n    return LogisticRegression(C=c)\n"
    )
    learner = make(write_agent, '{ kind = "own_models:strict", parameters = { c = 0.5 } }')
    assert isinstance(learner, LogisticRegression)
    assert learner.C == 0.5


def test_classifiers_of_others_need_not_be_like_scikit_learns(write_agent, tmp_path):
    (tmp_path / "own_class.py").write_text(
        "from sklearn.base import BaseEstimator, ClassifierMixin\n\n\n"
        "class Own(ClassifierMixin, BaseEstimator):\n"
        "    def __init__(self, a=1):\n        self.a = a\n"
    )
    assert make(write_agent, '{ kind = "own_class.Own", parameters = { a = 2 } }').a == 2
    assert make(write_agent, '{ kind = "xgboost.XGBClassifier", parameters = { max_depth = 2 } }').max_depth == 2


def test_a_module_beside_the_agents_file_does_not_shadow_an_installed_one(write_agent, tmp_path):
    (tmp_path / "sklearn.py").write_text("raise RuntimeError('imported')")
    (tmp_path / "colorsys.py").write_text("raise RuntimeError('imported')")
    assert make(write_agent, '"sklearn.naive_bayes.GaussianNB"')
    with pytest.raises(LearnerError, match="which is no classifier"):
        make(write_agent, '{ kind = "colorsys:rgb_to_hsv", parameters = { r = 1, g = 1, b = 1 } }')


def test_two_agents_files_of_the_same_module_name_are_not_mixed_up(write_agent, tmp_path):
    (tmp_path / "twins.py").write_text("from sklearn.naive_bayes import GaussianNB as make\n")
    make(write_agent, '"twins:make"')
    other = tmp_path / "other"
    other.mkdir()
    (other / "twins.py").write_text("from sklearn.linear_model import LogisticRegression as make\n")
    (other / "lab.toml").write_text((tmp_path / "lab.toml").read_text())
    with pytest.raises(LearnerError, match="another file of that name is loaded already"):
        make_learner(load_description(other / "lab.toml"))


BAD = {
    "no module": ('"DecisionTreeClassifier"', "does not say where it is"),
    "an unknown module": ('"sklearn.treee.DecisionTreeClassifier"', "there is no module 'sklearn.treee'"),
    "an unknown package": ('"nowhere_at_all:make"', "put nowhere_at_all.py beside the agent's file"),
    "an unknown class": (
        '"sklearn.tree.DecisionTreeClasifier"',
        "module 'sklearn.tree' has no 'DecisionTreeClasifier'. Did you mean 'DecisionTreeClassifier'?",
    ),
    "a regressor": ('"sklearn.tree.DecisionTreeRegressor"', "which is a regressor"),
    "a transformer": ('"sklearn.preprocessing.StandardScaler"', "which is no classifier"),
    "a function as a class": ('"sklearn.pipeline.make_pipeline"', 'write "sklearn.pipeline:make_pipeline"'),
    "a constant": ('"sklearn:__version__"', "cannot be called"),
    "an unknown parameter": (
        '{ kind = "sklearn.tree.DecisionTreeClassifier", parameters = { max_dept = 3 } }',
        "has no parameter 'max_dept'. Did you mean 'max_depth'?",
    ),
    "a parameter of the wrong type": (
        '{ kind = "sklearn.tree.DecisionTreeClassifier", parameters = { max_depth = "three" } }',
        "The 'max_depth' parameter of DecisionTreeClassifier must be an int",
    ),
    "a missing parameter": (
        '"sklearn.multiclass.OneVsRestClassifier"',
        "refuses its parameters {}: TypeError",
    ),
}


@pytest.mark.parametrize(("learner", "said"), BAD.values(), ids=BAD.keys())
def test_a_bad_learner_is_refused_with_its_line(write_agent, learner, said):
    with pytest.raises(LearnerError) as caught:
        make(write_agent, learner)
    assert "lab.toml, line 4: " in str(caught.value)
    assert said in str(caught.value)


def test_the_line_of_a_bad_parameter_is_its_own(write_agent):
    more = '[learner]\nkind = "sklearn.tree.DecisionTreeClassifier"\n[learner.parameters]\n\nmax_depth = -1\n'
    with pytest.raises(LearnerError, match=r"lab\.toml, line 8: .*'max_depth' parameter"):
        make_learner(load_description(write_agent(None, more, learner=None)))


def test_a_function_that_returns_a_class_is_told_so(write_agent, tmp_path):
    (tmp_path / "gives_a_class.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\n\n\ndef make():\n    return GaussianNB\n"
    )
    with pytest.raises(LearnerError, match="which is a class and not an instance"):
        make(write_agent, '"gives_a_class:make"')


def test_a_module_that_fails_on_import_is_told_so(write_agent, tmp_path):
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    with pytest.raises(LearnerError, match="importing 'broken_module' failed with ZeroDivisionError"):
        make(write_agent, '"broken_module:make"')
    assert "broken_module" not in sys.modules
