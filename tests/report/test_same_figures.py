"""Every view of a result shows the same figures: ``show``, the page, their JSON and a notebook; of all kinds of run."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.evaluation.words import TITLES
from assistlearn.initiator.folder import RunFolder
from assistlearn.report import pictures as drawn
from assistlearn.report.displays import view_of_estimator
from assistlearn.report.run import run_page
from tests.cli.program import assistlearn
from tests.initiator.parties import Parties
from tests.papers_settings import PAPERS

STUMP, DEEP, LINE = DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier(), LogisticRegression()
LEARNED = {"method": "soft", "reward": "auto", "combine": "auto", "models_per_turn": 3, "n_rounds": 2, "holdout": 0.3}


@dataclass(frozen=True)
class Kind:
    """A kind of run: its settings, its learners, the shares of its classes, and who holds which samples."""

    settings: dict[str, Any]
    learners: tuple[Any, Any, Any] = (STUMP, GaussianNB(), STUMP)
    cuts: tuple[float, ...] = (0.5,)
    held: float = 1.0


KINDS = {
    "learned": Kind(LEARNED),
    "learned, by ROC AUC, with a rare class": Kind(LEARNED | {"metric": "roc_auc"}, (LINE, LINE, STUMP), (0.9,)),
    "learned, of three classes, by log loss": Kind(LEARNED | {"metric": "log_loss"}, cuts=(0.3, 0.7)),
    "votes that are added up": Kind(LEARNED | {"combine": "sum"}),
    "the paper's, with rounds that do not count": Kind({"method": "ascii", "n_rounds": 8, "holdout": 0.3}),
    "a helper that is left out": Kind({"method": "ascii", "n_rounds": 2, "holdout": 0.4}, (LINE, DEEP, LINE)),
    "a harmful helper that stays": Kind(
        {"method": "ascii", "n_rounds": 2, "holdout": 0.4, "worse_agent": "keep", "metric": "brier"}, (LINE, DEEP, LINE)
    ),
    "every agent by itself": Kind({"method": "ensemble", "n_rounds": 2, "holdout": 0.3, "metric": "balanced_accuracy"}),
    "labels that stay": Kind({"method": "label-private", "reward": "auto", "combine": "auto", "holdout": 0.3}),
    "labels alone": Kind(LEARNED | {"metric": "average_precision"}, (None, GaussianNB(), STUMP)),
    "helpers that know only some": Kind({"n_rounds": 3, "holdout": 0.3, "overlap": "abstain"}, held=0.6),
    "nothing held out": Kind({"method": "ascii", "n_rounds": 2}),
    "nothing held out, learned": Kind(LEARNED | {"holdout": None}),
}
JUDGED = [name for name, kind in KINDS.items() if kind.settings.get("holdout")]


def data(kind: Kind) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(160, 6))
    signal = X[:, [0, 1, 4, 5]].sum(axis=1) + 0.7 * rng.normal(size=160)
    return X, np.searchsorted(np.quantile(signal, kind.cuts), signal)


def columns(kind: Kind) -> list[tuple[str, Any, list[int]]]:
    clinic, lab, scans = kind.learners
    return [("clinic", clinic, [] if clinic is None else [0, 1]), ("lab", lab, [2, 3]), ("scans", scans, [4, 5])]


@dataclass(frozen=True)
class Shown:
    """A finished run, and all its views."""

    folder: RunFolder
    show: str
    show_json: dict[str, Any]
    page: str
    page_json: dict[str, Any]

    @property
    def result(self) -> dict[str, Any]:
        result = self.folder.result()
        assert result is not None
        return result

    @property
    def evaluation(self) -> dict[str, Any]:
        found: dict[str, Any] = self.result["evaluation"]
        return found


@pytest.fixture(scope="module", autouse=True)
def undrawn() -> Iterator[None]:
    """Pages without their pictures, which take the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawn, "svg", lambda *drawing: "")
        yield


@pytest.fixture(scope="module")
def shown(tmp_path_factory) -> Callable[[str], Shown]:
    """Return all views of a kind of run; each is made once."""

    @cache
    def make(name: str) -> Shown:
        kind = KINDS[name]
        X, y = data(kind)
        home = tmp_path_factory.mktemp("kind")
        held = {"lab": np.random.default_rng(0).random(len(X)) < kind.held}
        led = Parties(home, columns(kind), X, y, kind.settings, held).leader()
        for _ in led.train():
            pass
        folder = led.folder
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", "400")
            said = assistlearn("show", folder.path).out
        made = assistlearn("report", folder.path, "--out", home / "page.html", "--json").json
        return Shown(
            folder, said, assistlearn("show", folder.path, "--json").json, (home / "page.html").read_text(), made
        )

    return make


def plain(words: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", words))).replace(" %", "%").strip()


def on_page(page: str, caption: str) -> list[list[str]]:
    """The rows of the first table of a page whose caption begins so, as a reader reads them."""
    for table in re.findall(r"(?s)<table.*?</table>", page):
        if plain((re.findall(r"(?s)<caption.*?</caption>", table) or [""])[0]).startswith(caption):
            rows = re.findall(r"(?s)<tr.*?</tr>", table.partition("</thead>")[2])
            return [[plain(cell) for cell in re.findall(r"(?s)<t[dh].*?</t[dh]>", row)] for row in rows]
    return []


def in_show(said: str, title: str) -> list[list[str]]:
    """The rows of a table of ``show``."""
    lines = iter(said.splitlines())
    next((line for line in lines if line.startswith(title)), None)
    rows = []
    for line in lines:
        if rows and line.startswith("└"):
            break
        if line.startswith("│"):
            rows.append([cell.strip() for cell in line.strip("│").split("│")])
    return rows


def number(text: str) -> float:
    return float(text.replace("%", "").replace(",", ""))


@pytest.mark.parametrize("name", KINDS)
def test_models_and_weights_are_those_of_the_result(shown, name):
    run = shown(name)
    out = (run.result.get("evaluation") or {}).get("left_out", [])
    taking = [agent for agent, learner, _ in columns(KINDS[name]) if learner is not None]
    expected = {}
    for agent in taking:
        own = [c for c in run.result["contributions"] if c["agent"] == agent and agent not in out]
        best = f"{100 * max(c['accuracy'] for c in own):.1f}%" if own else "-"
        expected[agent] = (str(len(own)), f"{sum(c['model_weight'] for c in own):.3f}", best)
    by_show = {row[0]: tuple(row[1:]) for row in in_show(run.show, "What each agent contributed")}
    by_page = {row[0]: tuple(row[-3:]) for row in on_page(run.page, "What each agent contributed")}
    assert by_show == expected
    assert {agent: row for agent, row in by_page.items() if agent in taking} == expected
    for number, row in run.page_json["weights"].items():
        for agent, weight in zip(columns(KINDS[name]), row, strict=True):
            made = [c for c in run.result["contributions"] if (c["agent"], c["round"]) == (agent[0], int(number))]
            assert not made or weight == pytest.approx(sum(c["model_weight"] for c in made))
    for rows in (run.show_json["agents"], run.page_json["agents"]):
        counted = {row["agent"]: (str(row["models"]), f"{row['weight']:.3f}") for row in rows if row["agent"] in taking}
        assert counted == {agent: row[:2] for agent, row in expected.items()}


@pytest.mark.parametrize("name", JUDGED)
def test_the_metric_that_was_chosen_leads_every_view_with_the_same_figures(shown, name):
    run = shown(name)
    metric = KINDS[name].settings.get("metric", "accuracy")
    found = {way: run.evaluation[way][metric] for way in ("assisted", "alone")}
    difference = run.evaluation["differences"][metric]
    lower_is_better = metric in ("log_loss", "brier")
    gain = {end: -value if lower_is_better else value for end, value in difference.items()}
    sure_gain, sure_loss = min(gain["low"], gain["high"]) > 0, max(gain["low"], gain["high"]) < 0
    verdict = "Help was worth it." if sure_gain else "Help made it worse." if sure_loss else "It is not certain whether"
    share = metric in ("accuracy", "balanced_accuracy")
    written = {way: f"{100 * value:.1f}%" if share else f"{value:.3f}" for way, value in found.items()}
    ends = [f"{100 * difference[end]:+.1f}" if share else f"{difference[end]:+.3f}" for end in ("value", "low", "high")]
    for answer in (run.show_json["answer"], run.page_json["answer"]):
        assert {way: answer[way] for way in found} == found
        assert answer["difference"] == difference
        assert answer["what"] in TITLES[metric].lower() or answer["what"] in ("ROC AUC", "Brier score")
    first = plain((re.findall(r'(?s)<section id="answer".*?</section>', run.page) or [""])[0])
    for said in (run.show, first):
        assert f"{written['assisted']} with help" in said
        assert verdict in said
        assert f"goes from {ends[1]} to {ends[2]}" in said
    assert f"difference {ends[0]}" in first  # the figure in large letters
    rows = in_show(run.show, "With help, and the initiator alone"), on_page(run.page, "With help, and the initiator")
    assert rows[0] == rows[1]
    assert [row[0] for row in rows[0]][: 1 + (metric != "accuracy")] == list(
        dict.fromkeys((TITLES[metric], TITLES["accuracy"]))
    )
    assert rows[0][0][1:3] == [f"{found['assisted']:.3f}", f"{found['alone']:.3f}"]


@pytest.mark.parametrize("name", KINDS)
def test_the_last_round_that_counts_has_the_figures_of_the_result(shown, name):
    run = shown(name)
    metric = KINDS[name].settings.get("metric", "accuracy")
    rows = on_page(run.page, "Accuracy and loss after each round")
    (last,) = [row for row in rows if row[0] == str(run.result["n_rounds"])]
    assert run.page_json["rounds"] == run.show_json["rounds"]
    facts = next(row for row in run.show_json["rounds"] if row["round"] == run.result["n_rounds"])
    assert facts["kept"] is True
    if name in JUDGED:
        accuracy, chosen = (run.evaluation["assisted"][each] for each in ("accuracy", metric))
        assert run.show_json["holdout_accuracy"][run.result["n_rounds"] - 1] == accuracy == facts["accuracy"]
        assert facts["metric"] == chosen
        assert f"{100 * accuracy:.1f}%" in last
    combination = run.result["combination"]
    if combination is not None:
        prices = in_show(run.show, "What each round gained on unseen samples")
        assert facts["loss"] == combination["loss"]
        assert f"Loss on unseen samples: {combination['loss']:.3f}." in run.show
        by_kind = ", ".join(f"{kind} {loss:.3f}" for kind, loss in combination["losses"].items())
        assert f"Chosen in three folds, by these losses: {by_kind}." in " ".join(run.show.split())
        price = next(row for row in prices if row[0] == str(run.result["n_rounds"]))
        assert price[1] == f"{combination['loss']:.4f}"
        assert [price[1], price[2], price[3]] == last[-4:-1]
        assert len(prices) == len(rows)


@pytest.mark.parametrize("name", JUDGED)
def test_shares_are_the_same_and_add_up_to_the_result(shown, name):
    run = shown(name)
    shares = run.evaluation["shares"]
    assert run.page_json["together"]["accuracy"] == shares["accuracy"]["value"]
    assert [row["helper"] for row in run.page_json["shares"]] == [row["helper"] for row in shares["helpers"]]
    own = run.show_json["accuracy_of_own_votes"]
    assert own == run.page_json["accuracy_of_own_votes"]
    assert own + shares["accuracy"]["value"] == pytest.approx(run.evaluation["assisted"]["accuracy"], abs=1e-12)
    leading = "accuracy" if KINDS[name].settings.get("metric", "accuracy").endswith("accuracy") else "loss"
    by_show = {row[0]: row[1:] for row in in_show(run.show, "Who helped")}
    by_page = {row[0]: row[1:] for row in on_page(run.page, "The share of each helper")}
    assert "together" not in by_show  # which reads as if it were the difference above
    for row in shares["helpers"]:
        said, on = by_show[row["helper"]], by_page[row["helper"]]
        assert number(said[0]) == pytest.approx(row[leading]["value"], abs=6e-4)
        factor = 100 if leading == "accuracy" else 1
        assert number(on[0]) == pytest.approx(factor * row[leading]["value"], abs=6e-2 if factor == 100 else 6e-4)
        assert number(said[1]) == pytest.approx(2 * row[leading]["error"], abs=6e-4)
        lost = row["accuracy_if_dropped" if leading == "accuracy" else "loss_if_dropped"]["value"]
        assert number(said[-1]) == pytest.approx(lost, abs=6e-4)
    if KINDS[name].learners[0] is not None:  # what is compared with what is said, so that the two sums can differ
        words = f"With its own votes only, the accuracy is {100 * own:.1f}%"
        assert words in plain(run.show)
        assert words in plain(run.page)


@pytest.mark.parametrize("name", KINDS)
def test_bytes_and_classes_are_the_same(shown, name):
    run = shown(name)
    sent = in_show(run.show, "What was exchanged in training")
    assert sent == on_page(run.page, "In training")
    assert {row[0] for row in sent} == {"lab", "scans"}
    for row, facts in zip(sent, run.page_json["trained_with"], strict=True):
        counts = run.result["traffic"][row[0]]
        assert (facts["sent"], facts["received"]) == tuple(sum(counts[way].values()) for way in ("sent", "received"))
    if name in JUDGED:
        counted = [row[1 : 1 + len(KINDS[name].cuts) + 1] for row in in_show(run.show, "Which class was predicted")]
        assert [list(map(float, row)) for row in counted] == run.evaluation["confusion"]
        assert run.page_json["confusion"]["counts"] == run.evaluation["confusion"]


FITTED = (  # a share or a figure that leads, a lower one that is better, a helper without votes, no votes alone
    *("learned", "learned, of three classes, by log loss", "a helper that is left out"),
    *("every agent by itself", "labels alone"),
)


@pytest.mark.parametrize("name", FITTED)
def test_a_notebook_and_the_page_of_an_estimator_say_what_its_report_says(name, tmp_path):
    kind = KINDS[name]
    X, y = data(kind)
    agents = columns(kind)
    X = X if kind.learners[0] is not None else X[:, 2:]
    agents = agents if kind.learners[0] is not None else [(n, e, [c - 2 for c in places]) for n, e, places in agents]
    clf = AssistedClassifier(agents, **(PAPERS | {"n_rounds": 5, "random_state": 7} | kind.settings)).fit(X, y)
    view, report, metric = view_of_estimator(clf), clf.report_, kind.settings.get("metric", "accuracy")
    facts = json.loads(json.dumps(view.to_dict()))
    assert (facts["answer"]["assisted"], facts["answer"]["alone"]) == (report.assisted[metric], report.alone[metric])
    for row in facts["agents"]:
        own = [made for made in clf.contributions_ if made.agent == row["agent"]]
        assert row["models"] == len(own)
        assert row["weight"] == pytest.approx(sum(made.model_weight for made in own))
    rounds = facts["rounds"]
    assert [row["accuracy"] for row in rounds[: clf.n_rounds_ - 1]] == clf.holdout_scores_[: clf.n_rounds_ - 1]
    assert view.reliability == report.reliability
    assert (view.n_rounds, view.n_training, view.n_holdout) == (clf.n_rounds_, 160 - report.n_samples, report.n_samples)
    assert sum(each.n_samples for each in view.reliability) == report.n_samples
    last = rounds[clf.n_rounds_ - 1]
    assert (last["accuracy"], last["metric"]) == (report.assisted["accuracy"], report.assisted[metric])
    block = clf._repr_html_()
    block = plain(block[: block.index("<style")])
    page = plain(run_page(view))
    share, between = metric.endswith("accuracy"), report.differences[metric]
    ends = [f"{100 * end:+.1f}" if share else f"{end:+.3f}" for end in (between.value, between.low, between.high)]
    for way in (report.alone, report.assisted):
        assert (f"{100 * way[metric]:.1f}%" if share else f"{way[metric]:.3f}") in block
        assert f"{100 * way['accuracy']:.1f}%" in block
    assert f"{ends[0]}{' points' if share else ''} ({ends[1]} to {ends[2]})" in block
    answer = block[: block.index(f"from {ends[1]} to {ends[2]}")]
    assert answer in page  # word by word
    assert set(report.left_out) <= {row["agent"] for row in facts["agents"]}


def test_the_kinds_are_what_they_are_called(shown):
    unkept = shown("the paper's, with rounds that do not count").show_json["rounds"]
    assert [row for row in unkept if row["kept"] is False]
    assert shown("a helper that is left out").evaluation["left_out"] == ["lab"]
    assert shown("a harmful helper that stays").evaluation["worse"] == ["lab"]
    rare = shown("learned, by ROC AUC, with a rare class").evaluation
    assert rare["alone"]["accuracy"] > 0.85
