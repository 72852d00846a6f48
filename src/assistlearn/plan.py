"""The plan of a run: every setting once, with its default, its explanation and its check."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from assistlearn.errors import SettingsError
from assistlearn.methods import method_class, method_named, names
from assistlearn.methods.orders import ORDERS, Greedy, Order, order_of, wrong_with

if TYPE_CHECKING:
    from assistlearn.methods.method import Method


# A setting. Command-line options, keys of task files and the documentation of parameters are made from these.


LARGEST_EPSILON = 20.0
"""The largest epsilon of randomised labels and answers. Beyond it the numbers of a computer no longer hold what is
stated: from 37 on nothing would be changed at all."""

Complaint: TypeAlias = str | None
"""What is wrong with a value, as words that follow its name, such as "must be ..."; None if nothing is wrong."""


@dataclass(frozen=True)
class Setting:
    """What is known about a setting. Its name, type and default are those of a dataclass's field.

    ``check`` returns what is wrong with a value, and ``check_of_runs`` what else is wrong in runs of separate agents.
    ``applies`` says whether the setting matters in a plan: in one process, a value that does not matter is not checked;
    in runs, every value is. ``goes_with_method`` is the value that the method advises where the default is None, in
    words. ``off`` is the word that switches the setting off in runs. ``more`` is for users of the estimator. Helpers
    are told what is ``told``, in the message that begins a run. ``table`` is a task file's, empty for its top;
    ``option`` and ``key`` are names on the command line and in a task file, where they differ from the field's.
    """

    explanation: str
    check: Callable[[Any], Complaint]
    applies: Callable[[Any], bool] = lambda plan: True
    check_of_runs: Callable[[Any], Complaint] | None = None
    choices: Callable[[], Sequence[str]] | None = None
    goes_with_method: str = ""
    default_of_runs: Any = None
    off: str = ""
    more: str = ""
    estimator: bool = True
    runs: bool = True
    told: bool = False
    panel: str = ""
    table: str = "training"
    option: str = ""
    key: str = ""
    metavar: str = "HOW"

    def in_runs(self, value: Any) -> Any:
        """Return the value of a setting in a run; None for zero, and for the word in ``off``, if there is one.

        >>> Setting("A share.", share_or_none, off="none").in_runs("none") is None
        True
        """
        word = value.lower() if isinstance(value, str) else value
        return None if self.off and word in (self.off, 0) else value

    def complaint_of_runs(self, value: Any) -> Complaint:
        if value is None and self.goes_with_method:
            return None
        complaint = self.check(value)
        if complaint is None and self.check_of_runs is not None:
            complaint = self.check_of_runs(value)
        return complaint


def setting(default: Any, explanation: str, check: Callable[[Any], Complaint], **more: Any) -> Any:
    return dataclasses.field(default=default, metadata={"setting": Setting(explanation, check, **more)})


def choice(default: Any, explanation: str, choices: Callable[[], Iterable[str]], **more: Any) -> Any:
    def listed() -> list[str]:
        return list(choices())

    return setting(default, explanation, one_of(listed), choices=listed, **more)


def settings_of(kind: type) -> dict[str, Setting]:
    found = {field.name: field.metadata.get("setting") for field in dataclasses.fields(kind)}
    return {name: known for name, known in found.items() if known is not None}


# -- checks


def one_of(choices: Callable[[], Sequence[Any]]) -> Callable[[Any], Complaint]:
    """Return a check that a value is one of these.

    >>> one_of(lambda: ["hash", "psi"])("name")
    "is not known. Choose one of ['hash', 'psi']."
    """

    def check(value: Any) -> Complaint:
        known = choices()
        right = (isinstance(value, str) and value in known) or _whole(value) in known
        return None if right else f"is not known. Choose one of {list(known)}."

    return check


def one_of_or_none(choices: Callable[[], Sequence[Any]]) -> Callable[[Any], Complaint]:
    """Return a check that a value is one of these, or None.

    >>> one_of_or_none(lambda: ["balanced"])("even")
    "is not known. Choose one of ['balanced'], or leave it out (None)."
    """
    listed = one_of(choices)

    def check(value: Any) -> Complaint:
        right = value is None or listed(value) is None
        return None if right else f"is not known. Choose one of {list(choices())}, or leave it out (None)."

    return check


def whole(least: int, what: str = "", most: float = math.inf) -> Callable[[Any], Complaint]:
    wanted = f"a whole number of {what}, at least {least}" if what else f"a whole number of at least {least}"
    limit = "" if most == math.inf else f" and at most {most:.0f}"

    def check(value: Any) -> Complaint:
        number = _whole(value)
        return None if number is not None and least <= number <= most else f"must be {wanted}{limit}."

    return check


def at_most(most: int) -> Callable[[Any], Complaint]:
    return lambda value: None if value <= most else f"must be at most {most}."


def share_or_none(value: Any) -> Complaint:
    right = value is None or (_is_number(value) and 0.0 < float(value) < 1.0)
    return None if right else "must be a share between 0 and 1, or None."


def positive_up_to_one(value: Any) -> Complaint:
    return None if _is_number(value) and 0.0 < float(value) <= 1.0 else "must be above 0 and at most 1."


def positive_up_to(most: float) -> Callable[[Any], Complaint]:
    """Return a check that a value is a number above zero, at most ``most`` or infinity.

    >>> positive_up_to(20.0)(37)
    'must be a number above 0 and at most 20, or infinity.'
    """

    def check(value: Any) -> Complaint:
        right = _is_number(value) and (0.0 < float(value) <= most or float(value) == math.inf)
        return None if right else f"must be a number above 0 and at most {most:g}, or infinity."

    return check


def words(value: Any) -> Complaint:
    return None if isinstance(value, str) else "must be a text."


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


# The plan. The estimator, the command line, run folders, messages and task files are made from it.


MAX_FOLDS = 100
"""How many folds another agent can be asked to fit in one turn."""

RewardKind = Literal["in-sample", "out-of-fold", "auto"]
Alignment = Literal["hash", "psi"]
Overlap = Literal["abstain", "intersection"]
WeakAgent = Literal["skip", "stop"]
WorseAgent = Literal["leave out", "keep"]
Metric = Literal["accuracy", "balanced_accuracy", "log_loss", "brier", "roc_auc", "average_precision"]
Calibrate = Literal["auto", "none"]
Absent = Literal["stop", "go on"]
Loss = Literal["logistic", "exponential"]
ScoreBits = Literal[0, 2, 3, 4, 8, 16, 32]
Combine = Literal["sum", "learned", "auto", "stack", "offset"]
FirstRound = Literal["in turn", "apart"]
ClassWeight = Literal["balanced"]

MAX_MODELS = 100
"""How many models another agent can be asked to boost by itself in one turn."""

ORDERS_WITHOUT_LABELS = ("chain", "random")
"""The orders that do not depend on what models are worth."""

RUN, SAMPLES, TRAINING, SOFT = "The run", "Samples", "Training", "The soft method"
LABEL_PRIVATE = "The label-private method"
"""The headings under which settings are shown."""


def _orders_of_runs() -> list[str]:
    """Return the orders that separate agents can follow: in the greedy one they would try models for each other."""
    return [name for name, order in ORDERS.items() if not isinstance(order, Greedy)]


_class_weight_of_runs = one_of_or_none(lambda: get_args(ClassWeight))


def _class_weight(value: Any) -> Complaint:
    """Check that a value says how classes are weighed; a dict is held to the classes when these are known."""
    return None if isinstance(value, Mapping) else _class_weight_of_runs(value)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How to train; checked when it is made.

    A setting that is None, and that the method has advice for, gets what the method advises. Advice that asks for
    samples which models have not seen is not taken where ``reward="in-sample"`` is given: such a plan adds votes up,
    of one model per turn.

    Examples
    --------
    >>> Plan(n_rounds=3).make_method()
    Soft(loss='logistic', shrinkage=0.5, score_bits=0)
    >>> [(plan.reward, plan.models_per_turn, plan.combine) for plan in (Plan(), Plan(method="ascii"))]
    [('auto', 20, 'auto'), ('in-sample', 1, 'sum')]
    """

    purpose: str = setting(
        "",
        "What the run is for, in a few words. Every helper is told.",
        words,
        estimator=False,
        panel=RUN,
        table="",
        metavar="WORDS",
    )
    absent: Absent = choice(
        "stop",
        "What to do when a helper cannot be reached during training. stop: the run stops and can be resumed "
        "later. go on: the run continues without this helper.",
        lambda: get_args(Absent),
        estimator=False,
        panel=RUN,
        table="",
    )
    alignment: Alignment = choice(
        "hash",
        "How agents find the people that they share. hash: keyed hashes of the ids; fast, for agents that "
        "trust each other with a shared secret. psi: private set intersection; slower, for agents that do "
        "not.",
        lambda: get_args(Alignment),
        estimator=False,
        panel=SAMPLES,
        table="",
        option="align",
        key="alignment",
    )
    overlap: Overlap = choice(
        "abstain",
        "Which of the initiator's samples to train on. abstain: all of them; a helper says nothing about a "
        "sample that it does not hold. intersection: only samples that every helper holds.",
        lambda: get_args(Overlap),
        estimator=False,
        panel=SAMPLES,
        table="",
    )
    missing_agent: Literal["use", "abstain"] = choice(
        "use",
        "What an agent does with a sample of which all its columns are missing. use: its learner gets the "
        "sample like any other. abstain: the agent says nothing about it, in training and in prediction.",
        lambda: ("use", "abstain"),
        more='With "abstain" its models are fitted and weighed on the samples that it holds.',
        runs=False,
        panel=SAMPLES,
    )
    holdout: float | None = setting(
        None,
        "The share of the samples that are not trained on, 0.2 for example. They measure the accuracy, and "
        "show when to stop.",
        share_or_none,
        more="This is the paper's second stopping rule: training stops when the ``metric`` on these samples has "
        "not improved for ``patience`` rounds, and the models after the best round are dropped.",
        default_of_runs=0.2,
        off="none",
        panel=SAMPLES,
        metavar="SHARE",
    )
    patience: int = setting(
        3,
        "With hold-out samples: stop after this many rounds without improvement.",
        whole(1),
        panel=SAMPLES,
        metavar="ROUNDS",
    )
    metric: Metric = choice(
        "accuracy",
        "With hold-out samples: the figure that must improve for training to go on. Choose "
        "balanced_accuracy or average_precision if one class is rare, log_loss or brier if you need good "
        "probabilities.",
        lambda: get_args(Metric),
        panel=SAMPLES,
        metavar="WHICH",
    )
    worse_agent: WorseAgent = choice(
        "leave out",
        "With hold-out samples: what to do with a helper that makes the result worse, by more than chance "
        "explains. leave out: its votes do not count. keep: they count. The helper is named in both cases.",
        lambda: get_args(WorseAgent),
        panel=SAMPLES,
    )
    class_weight: ClassWeight | Mapping[Any, float] | None = setting(
        None,
        "balanced: every class counts the same in training, however rare it is. Use it if a rare class matters to you.",
        _class_weight,
        check_of_runs=_class_weight_of_runs,
        choices=lambda: get_args(ClassWeight),
        more="A sample then begins with ``n / (K * n_k)`` times its weight: ``n_k`` of the ``n`` training "
        "samples are of its class, one of ``K``. If samples have weights, weights are summed instead of "
        "counted. A dict gives a factor for each class; classes that it does not name have 1.",
        panel=SAMPLES,
        metavar="HOW",
    )
    method: str = choice(
        "soft",
        "How the agents work together. soft: recommended. ascii: the paper's method. label-private: for "
        "labels that helpers must not see. simple: the paper's ASCII-Simple. ensemble: without exchange, to "
        "compare with. Settings that you leave out get the values that go with the method.",
        names,
        told=True,
        panel=TRAINING,
    )
    n_rounds: int = setting(
        20,
        "The largest number of rounds. In a round every agent has one turn.",
        whole(1),
        panel=TRAINING,
        option="rounds",
        metavar="NUMBER",
    )
    order: str | Order = setting(
        "chain",
        "Who takes the next turn. chain: the initiator, then the helpers as you list them. random: another "
        "random order in each round. strongest: first the agent whose last model had the largest weight.",
        wrong_with,
        check_of_runs=one_of(_orders_of_runs),
        choices=_orders_of_runs,
        more='"random" is the paper\'s ASCII-Random. "greedy" lets every agent try in each turn and keeps the '
        "model that lowers the loss most; with M agents this costs M times the fits and answers. You can "
        "also give a function: ``order(round, names, rng)`` returns the names.",
        panel=TRAINING,
    )
    weak_agent: WeakAgent = choice(
        "skip",
        "What to do when a model is no better than chance. skip: its agent sits this turn out. stop: the run ends.",
        lambda: get_args(WeakAgent),
        more='"stop" is the rule in the paper\'s text. With "skip" the run ends when no agent could add a model '
        "in a whole round.",
        panel=TRAINING,
    )
    reward: RewardKind = choice(
        None,
        "How an agent finds out where its model is right. auto: on its training samples, and on other "
        "samples as soon as the training samples say too little (recommended). in-sample: on its training "
        "samples; fast, for weak learners such as small trees. out-of-fold: always on samples that the "
        "model was not fitted to; slower, for learners that fit their training samples closely, such as "
        "deep trees and networks.",
        lambda: get_args(RewardKind),
        goes_with_method="auto with soft, else in-sample",
        more='"in-sample" is the paper\'s rule. "out-of-fold" costs ``cv`` more fits per turn. With "auto" each agent '
        "changes by itself: when its model is right on 95 % of the ignorance, or when a model fitted without one fold "
        "is hardly better than chance on that fold (one more fit per turn). A learned combination always uses "
        '"out-of-fold".',
        told=True,
        panel=TRAINING,
    )
    cv: int = setting(
        3,
        "The number of folds for out-of-fold rewards. More folds cost more time.",
        whole(2, "folds"),
        applies=lambda plan: plan.reward != "in-sample",
        check_of_runs=at_most(MAX_FOLDS),
        told=True,
        panel=TRAINING,
        metavar="NUMBER",
    )
    seed: int = setting(
        0,
        "The seed of all randomness. The same seed and the same tables give the same result.",
        whole(0, most=2**32 - 1),
        estimator=False,
        panel=TRAINING,
        metavar="NUMBER",
    )
    loss: Loss = choice(
        "logistic",
        "What training minimises. logistic: recommended; wrong labels do little harm. exponential: as in AdaBoost.",
        lambda: get_args(Loss),
        more="The logistic loss limits the ignorance of a sample, so that wrong labels do less harm.",
        told=True,
        panel=SOFT,
        metavar="WHICH",
    )
    shrinkage: float = setting(
        0.5,
        "The factor that every model weight is multiplied by. A smaller factor needs more rounds and is more robust.",
        positive_up_to_one,
        more="With ``models_per_turn`` above 1 it holds in the first round alone: in later ones agents correct what "
        "they have said, and that counts in full.",
        told=True,
        panel=SOFT,
        metavar="FACTOR",
    )
    models_per_turn: int = setting(
        None,
        "The largest number of models that an agent may fit in one turn. It keeps as many as help on "
        "samples that they have not seen. More models let small learners reach in one turn what else takes "
        "many.",
        whole(1, "models"),
        check_of_runs=at_most(MAX_MODELS),
        goes_with_method="20 with soft, else 1",
        more='It sends no more for it. With soft and ``reward="in-sample"`` it is 1, because no such samples exist.',
        told=True,
        panel=SOFT,
        metavar="NUMBER",
    )
    combine: Combine = choice(
        None,
        "How the initiator combines the votes. auto: it tries several ways on its own folds and takes the "
        "best; this may be its own model alone (recommended). sum: votes are added up, as in the paper. "
        "learned: a model of the votes, learned in private. stack: trees over the votes and the initiator's "
        "own columns. offset: trees that start from the weighted sum of the votes.",
        lambda: get_args(Combine),
        goes_with_method="auto with soft, else sum",
        more='All but "sum" need ``method="soft"`` or ``"label-private"``, and rewards of unseen samples: '
        '``reward="auto"`` then stands for "out-of-fold". With soft and ``reward="in-sample"`` it is "sum". '
        "Nothing is sent for a combination. Training stops at the first round that lowers the loss of the "
        "combination on unseen samples by less than 1 %; that round is not kept. From the third round on, it is broken "
        'off where half of the agents have brought less than half of that. With ``"label-private"`` '
        'the initiator always learns: "sum" stands for "auto", which takes "stack" for two classes and '
        '"offset" for more, or stays alone.',
        panel=SOFT,
    )
    calibrate: Calibrate | None = setting(
        "auto",
        "Whether to calibrate the probabilities. auto: yes, if there are samples that no model has seen. "
        "none: leave them as the method's formula gives them. The predicted class never changes.",
        lambda value: None if value is None else one_of(lambda: get_args(Calibrate))(value),
        choices=lambda: get_args(Calibrate),
        more='Such samples are the hold-out samples, if ``holdout`` is set; or, with ``method="soft"``, '
        '``combine="sum"`` and ``reward="out-of-fold"``, the training samples. A learned combination was '
        'fitted to such samples, and is left as it is. None is the same as "none".',
        panel=TRAINING,
    )
    score_bits: int = setting(
        0,
        "How many bits an agent uses for a score: 2, 3, 4, 8, 16 or 32. Fewer bits reveal less. 0 means 8 "
        "for two classes (one score per sample) and 4 for more classes (one score per class).",
        one_of(lambda: get_args(ScoreBits)),
        more='With ``method="label-private"`` 0 always means 4.',
        told=True,
        panel=SOFT,
        metavar="BITS",
    )
    epsilon: float = setting(
        1.0,
        "How much the labels that helpers see may reveal about the true ones. Smaller is more private and "
        "less accurate; above 3 a label is hardly protected. The odds of a label change by a factor of "
        "exp(epsilon) at most.",
        positive_up_to(LARGEST_EPSILON),
        applies=lambda plan: plan.make_method().keeps_labels,
        more="Labels are changed at random once; everything else that helpers learn follows from the changed "
        "labels. At most 20; ``inf``, for comparisons, changes none, and runs of separate agents refuse it.",
        told=True,
        panel=LABEL_PRIVATE,
        metavar="NUMBER",
    )

    def __post_init__(self) -> None:
        self._refuse([("method", SETTINGS["method"].check)])
        self._take_advice()
        self._refuse((name, known.check) for name, known in SETTINGS.items() if known.applies(self))
        if isinstance(order_of(self.order), Greedy) and not self.make_method().shares_state:
            raise SettingsError(
                f"order={self.order!r} compares the agents' models, but method={self.method!r} lets each boost alone."
            )

        if self.make_method().keeps_labels:
            self._check_secrecy()
        elif self.combine != "sum":
            self._check_combination()

    def _take_advice(self) -> None:
        papers = method_class("ascii").advised
        advised = papers if self.reward == "in-sample" else {**papers, **method_class(self.method).advised}
        for name in OF_METHOD:
            if getattr(self, name) is None:
                object.__setattr__(self, name, advised[name])

    def _check_secrecy(self) -> None:
        """Refuse what would let helpers see what the initiator's own model is worth, which follows from the labels."""
        if self.weak_agent == "stop":
            raise SettingsError(
                f'weak_agent="stop" would end the run where the initiator\'s own model is no better than chance, and '
                f'so tell helpers about the true labels. Use weak_agent="skip" with method={self.method!r}.'
            )
        if self.order not in ORDERS_WITHOUT_LABELS:
            raise SettingsError(
                f"order={self.order!r} may depend on what models are worth, and so tell helpers about the true labels. "
                f"Use one of {list(ORDERS_WITHOUT_LABELS)} with method={self.method!r}."
            )

    def _check_combination(self) -> None:
        if not self.make_method().wants_probabilities:
            raise SettingsError(
                f"combine={self.combine!r} needs what agents say about every class; with method={self.method!r} they "
                'say where they are right. Use method="soft", or combine="sum".'
            )
        if self.reward == "in-sample":
            raise SettingsError(
                f"combine={self.combine!r} must be learned from samples that the models were not fitted to, and "
                'reward="in-sample" gives none. Use reward="auto", or combine="sum".'
            )

    @property
    def honest_reward(self) -> RewardKind:
        """Which samples tell where a model is right; of a learned combination always those it was not fitted to."""
        return self.reward if self.combination == "sum" else "out-of-fold"

    @property
    def calibrates(self) -> bool:
        """Whether probabilities are calibrated, where there is something to do it by."""
        return self.calibrate == "auto" and self.combination == "sum"

    @property
    def combination(self) -> str:
        """What becomes of the votes; where helpers do not know the labels, the initiator always learns it.

        >>> Plan(method="label-private").combination, Plan().combination
        ('private', 'auto')
        """
        return "private" if self.combine in ("sum", "auto") and self.make_method().keeps_labels else self.combine

    @property
    def most_rounds(self) -> int:
        """How many rounds there can be: some methods have but one."""
        return min(self.n_rounds, self.make_method().most_rounds)

    def at_home(self) -> Plan:
        """Return the plan by which the initiator's own agent goes: what never leaves is fine, and of true labels."""
        if not self.make_method().keeps_labels:
            return self
        return replace(self, score_bits=max(get_args(ScoreBits)), epsilon=math.inf)

    def first_round(self, n_classes: int) -> FirstRound:
        """Return whether agents hear of each other in the first round.

        Where a combination of more than two classes is learned, they need not. What they say then is told to the
        initiator alone. The others hear of it before the second round, if there is one. With two classes there is
        little to save: an agent says one score per sample, and learns more under the ignorance of those before it.
        In the greedy order agents compete for every turn, so that they have to know what was said before.
        """
        shares = self.make_method().shares_state
        learned = self.combine != "sum" and n_classes > 2 and shares
        return "apart" if learned and not isinstance(order_of(self.order), Greedy) else "in turn"

    def make_method(self) -> Method:
        return method_named(self.method, vars(self))

    def told(self, n_classes: int = 2) -> dict[str, Any]:
        said = {name: getattr(self, name) for name in TOLD}
        said |= {"reward": self.honest_reward, "first_round": self.first_round(n_classes)}
        return said if self.make_method().keeps_labels else said | {"epsilon": None}

    def of_runs(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if SETTINGS[name].runs}

    def check_for_runs(self) -> None:
        """Raise for what is right in one process but cannot be asked of separate agents."""
        self._refuse((name, known.complaint_of_runs) for name, known in SETTINGS.items())

    def _refuse(self, checks: Iterable[tuple[str, Callable[[Any], Complaint]]]) -> None:
        """Raise for the first setting that is wrong; whether a later one applies is asked when its turn has come."""
        for name, check in checks:
            value = getattr(self, name)
            complaint = check(value)
            if complaint is not None:
                raise SettingsError(f"{name}={value!r} {complaint}")


SETTINGS = settings_of(Plan)

OF_METHOD = tuple(name for name, known in SETTINGS.items() if known.goes_with_method)

DEFAULTS_OF_RUNS = {
    name: known.default_of_runs for name, known in SETTINGS.items() if known.default_of_runs is not None
}
"""What a command or a task's file gives a plan that says nothing else, where that is not the plan's own default."""

TOLD = tuple(name for name, known in SETTINGS.items() if known.told)
