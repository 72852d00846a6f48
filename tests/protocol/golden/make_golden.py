"""Golden files: one message of every type as its bytes, which every later release must read.

    python -m tests.protocol.golden.make_golden

writes the files of this release's version that are not there yet. It never overwrites one: bytes that have been sent
once stay readable. If the format must change, raise ``VERSION``; the old files stay, and so does their reader.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import constriction
import msgspec
import numpy as np

from assistlearn.protocol import encode, older
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits, pack_codes, pack_numbers
from assistlearn.protocol.levels import pack_levels
from assistlearn.protocol.older_arrays import ClassCodesOfVersion3, LevelsOfVersion3

HERE = Path(__file__).parent

NUMBERS = np.array([0.5, -1.25, 3.0, 1e-300, -0.0])
RIGHT = np.arange(37) % 3 > 0
RARELY_RIGHT = np.arange(1_000) % 97 == 0
LEVELS = np.array([-127, 0, 1, 64, 127], dtype=np.int8)
COARSE_LEVELS = np.array([-7, 0, 7], dtype=np.int8)
FINE_LEVELS = np.array([-32_767, 5, 32_767], dtype=np.int16)
FINEST_LEVELS = np.array([-(2**31) + 1, 5, 2**31 - 1], dtype=np.int32)
VECTORS = np.array([[7, -7, -7], [-7, 0, 7], [0, 0, 0]], dtype=np.int8)
FEW_LEVELS = (np.arange(500) % 3 - 1).astype(np.int8)
LABELS = np.arange(40) % 3
SURE = np.where(np.arange(120).reshape(40, 3) % 7 > 1, -3, 3 - np.arange(3)).astype(np.int8)

V6: dict[str, m.Message] = {
    "open": m.Open(run="r-1", initiator="clinic", purpose="früh erkennen", alignment="psi", overlap="abstain"),
    "recall": m.Recall(run="r-2", earlier="r-1", still=pack_bits(np.array([True, False, True])), turns=[1, 4]),
    "recalled": m.Recalled(run="r-2", turns=[1, 4], why="", table_changed=True),
    "take-again": m.TakeAgain(run="r-2", turn=2, round=1, since=0, news=[], earlier=4),
    "opened": m.Opened(run="r-1", agent="lab", n_rows=1_234),
    "align": m.Align(run="r-1", purpose="train", step=1, data=b"\x00\xffids"),
    "align-predict": m.Align(run="r-1", purpose="predict", step=2, data=b""),
    "aligned": m.Aligned(run="r-1", step=2, data=b"which"),
    "begin": m.Begin(
        run="r-1",
        method="ascii",
        n_samples=5,
        n_classes=3,
        labels=pack_codes(np.array([0, 2, 1, 1, 0]), 3),
        seed=7,
        turn_seeds=2**32 - 1,
        weights=None,
        holdout=None,
        reward="in-sample",
        cv=5,
        loss="logistic",
        shrinkage=0.5,
        models_per_turn=1,
        score_bits=0,
        first_round="in turn",
        epsilon=None,
    ),
    "begin-label-private": m.Begin(
        run="r-1",
        method="label-private",
        n_samples=5,
        n_classes=3,
        labels=pack_codes(np.array([0, 2, 1, 1, 0]), 3),
        seed=7,
        turn_seeds=2**32 - 1,
        weights=None,
        holdout=None,
        reward="out-of-fold",
        cv=3,
        loss="logistic",
        shrinkage=0.5,
        models_per_turn=1,
        score_bits=4,
        first_round="in turn",
        epsilon=1.5,
    ),
    "begin-soft": m.Begin(
        run="r-1",
        method="soft",
        n_samples=5,
        n_classes=300,
        labels=pack_codes(np.array([299, 1, 1]), 300),
        seed=2**31 - 1,
        turn_seeds=0,
        weights=pack_numbers(np.abs(NUMBERS[1:4])),
        holdout=pack_bits(np.array([True, False, False, False, True])),
        reward="auto",
        cv=4,
        loss="exponential",
        shrinkage=0.25,
        models_per_turn=20,
        score_bits=16,
        first_round="apart",
        epsilon=None,
    ),
    "begin-folds": m.Begin(
        run="r-1",
        method="soft",
        n_samples=5,
        n_classes=300,
        labels=pack_codes(np.array([299, 1, 1]), 300),
        seed=2**31 - 1,
        turn_seeds=0,
        weights=pack_numbers(np.abs(NUMBERS[1:4])),
        holdout=pack_bits(np.array([True, False, False, False, True])),
        reward="auto",
        cv=4,
        loss="exponential",
        shrinkage=0.25,
        models_per_turn=20,
        score_bits=16,
        first_round="apart",
        epsilon=None,
        folds=pack_codes(np.array([3, 0, 3]), 4),
    ),
    "ready": m.Ready(run="r-1", n_held=4),
    "take-turn": m.TakeTurn(
        run="r-1",
        turn=5,
        round=2,
        since=2,
        news=[
            m.News(2, 1, 0.75, None),
            m.News(3, 1, 1.5, pack_bits(RIGHT)),
            m.News(4, 2, 0.125, pack_bits(RARELY_RIGHT)),
        ],
    ),
    "take-turn-soft": m.TakeTurn(
        run="r-1", turn=3, round=1, since=0, news=[m.News(1, 1, 0.5, pack_levels(FEW_LEVELS, 8, 0.25))]
    ),
    "turn-taken": m.TurnTaken(
        run="r-1",
        turn=5,
        reward=pack_bits(RIGHT),
        model_weight=1.0986122886681098,
        mean_reward=2 / 3,
        perfect=False,
        holdout=pack_codes(np.array([0, 1, 3]), 4),
    ),
    "turn-taken-8-bits": m.TurnTaken(
        run="r-1", turn=5, reward=pack_levels(LEVELS, 8, 0.5), model_weight=-1.0, mean_reward=0.0, perfect=True
    ),
    "turn-taken-4-bits": m.TurnTaken(
        run="r-1", turn=5, reward=pack_levels(COARSE_LEVELS, 4, 0.5), model_weight=1.0, mean_reward=1.0, perfect=True
    ),
    "turn-taken-16-bits": m.TurnTaken(
        run="r-1", turn=5, reward=pack_levels(FINE_LEVELS, 16, 0.5), model_weight=1.0, mean_reward=1.0, perfect=False
    ),
    "turn-taken-32-bits": m.TurnTaken(
        run="r-1",
        turn=5,
        reward=pack_levels(FINEST_LEVELS, 32, 0.5),
        model_weight=1.0,
        mean_reward=1.0,
        perfect=False,
        holdout=pack_levels(FINEST_LEVELS, 32, 1.0),
    ),
    "turn-taken-vectors": m.TurnTaken(
        run="r-1",
        turn=5,
        reward=pack_levels(VECTORS, 4, 0.25),
        model_weight=0.5,
        mean_reward=0.75,
        perfect=False,
        holdout=pack_levels(VECTORS[:2], 4, 0.25),
    ),
    "turn-taken-coded": m.TurnTaken(
        run="r-1",
        turn=5,
        reward=pack_levels(SURE, 3, 0.75, LABELS),
        model_weight=0.5,
        mean_reward=0.75,
        perfect=False,
        holdout=pack_codes(LABELS, 4),
    ),
    "end": m.End(run="r-1", n_rounds=20),
    "ended": m.Ended(run="r-1", n_models=19),
    "predict": m.Predict(run="r-1", start=100_000, stop=123_456),
    "scores": m.Scores(
        run="r-1",
        known=pack_bits(np.array([True, False, True])),
        scores=pack_levels(FINE_LEVELS, 16, 0.5),
        total_weight=12.5,
    ),
    "forget": m.Forget(run="r-1"),
    "forgotten": m.Forgotten(run="r-1", n_models=19),
    "propose": m.Propose(
        run="r-1", initiator="clinic", purpose="früh erkennen", method="soft", n_samples=351, n_rounds=20
    ),
    "propose-withdrawn": m.Propose(
        run="r-2", initiator="clinic", purpose="", method="ascii", n_samples=0, n_rounds=1, withdrawn=True
    ),
    "consent": m.Consent(run="r-1", state="waiting", request="333806532b0f", since="2030-01-31T09:00:00.000+00:00"),
    "consent-rejected": m.Consent(
        run="r-1", state="rejected", request="333806532b0f", since="2030-01-31T09:00:00.000+00:00", text="nicht dafür"
    ),
    "problem": m.Problem(run="r-1", kind="behind", text="This agent knows the run up to turn 3, not 5.", known=3),
    "problem-sits-out": m.Problem(run="r-1", kind="sits-out", text="all weight lies on 2.0 of 300 people"),
    "problem-unreadable": m.Problem(run="", kind="version", text="Agent 'lab': ..."),
}
"""What the files of this version say."""


ALL_LABELS: dict[str, Any] = {
    "labels": pack_codes(np.array([0, 299, 1, 1, 0]), 300),
    "weights": pack_numbers(np.abs(NUMBERS)),
}
"""What helpers were told up to version 5 in place of labels and weights of the training samples alone."""


def begin_of_version_5(begin: m.Message, **all_samples: Any) -> older.BeginOfVersion5:
    """Return a task as it was told in version 5."""
    said = {field: said for field, said in msgspec.structs.asdict(begin).items() if field != "folds"}
    return older.BeginOfVersion5(**said | all_samples)


def begin_of_version_4(begin: m.Message) -> older.BeginOfVersion4:
    """Return a task as it was told in version 4."""
    return older.BeginOfVersion4(**{k: v for k, v in msgspec.structs.asdict(begin).items() if k != "epsilon"})


ASKED_SINCE_6 = (
    *("recall", "recalled", "take-again", "propose", "propose-withdrawn", "consent", "consent-rejected"),
    "begin-folds",
)
"""What no message of an earlier version says."""

V5: dict[str, m.Message] = {
    **{name: message for name, message in V6.items() if name not in ASKED_SINCE_6},
    "begin": begin_of_version_5(V6["begin"]),
    "begin-label-private": begin_of_version_5(V6["begin-label-private"]),
    "begin-soft": begin_of_version_5(V6["begin-soft"], **ALL_LABELS),
}
"""What the files of version 5 say."""


VOTES: dict[str, Any] = {
    "run": "r-1",
    "known": pack_bits(np.array([True, False, True])),
    "scores": pack_numbers(NUMBERS),
    "total_weight": 12.5,
}

V4: dict[str, m.Message] = {
    **{name: message for name, message in V5.items() if name != "begin-label-private"},
    **{name: begin_of_version_4(V5[name]) for name in ("begin", "begin-soft")},
    "scores": older.ScoresOfVersion4(**VOTES),
}
"""What the files of version 4 say."""


def codes_of_version_3(codes: list[int], n_classes: int) -> ClassCodesOfVersion3:
    """Return class codes as they were packed up to version 3."""
    return ClassCodesOfVersion3(len(codes), n_classes, np.array(codes, "u1" if n_classes <= 256 else "<u2").tobytes())


def levels_of_version_3(levels: np.ndarray, bits: int, scale: float) -> LevelsOfVersion3:
    """Return levels as they were packed up to version 3, with their counts where they are many."""
    if levels.size > 100:
        there, counts = np.unique(levels.astype(np.int32) + 128, return_counts=True)
        shares = np.zeros(256)
        shares[there] = counts / levels.size
        coder = constriction.stream.queue.RangeEncoder()
        coder.encode(levels.astype(np.int32) + 128, constriction.stream.model.Categorical(shares, perfect=False))
        table = bytes(there.tolist()) + counts.astype("<u4").tobytes()
        return LevelsOfVersion3(levels.size, bits, scale, "range", table, coder.get_compressed().tobytes())
    return LevelsOfVersion3(levels.size, bits, scale, "raw", b"", pack_levels(levels, bits, scale).data)


def taken_of_version_3(reward: Any, **said: Any) -> older.TurnTakenOfVersion3:
    """Return a turn that was taken up to version 3."""
    return older.TurnTakenOfVersion3(run="r-1", turn=5, reward=reward, **said)


NEWS_OF_VERSION_3 = [
    older.NewsOfVersion3(2, 1, 0.75, None),
    older.NewsOfVersion3(3, 1, 1.5, pack_bits(RIGHT)),
    older.NewsOfVersion3(4, 2, 0.125, pack_bits(RARELY_RIGHT)),
]
SOFT_NEWS_OF_VERSION_3 = [older.NewsOfVersion3(1, 1, 0.5, levels_of_version_3(FEW_LEVELS, 8, 0.25))]

HARD_TASK: dict[str, Any] = {
    "run": "r-1",
    "method": "ascii",
    "n_samples": 5,
    "n_classes": 3,
    "labels": codes_of_version_3([0, 2, 1, 1, 0], 3),
    "seed": 7,
    "weights": None,
    "holdout": None,
    "reward": "in-sample",
    "cv": 5,
    "loss": "logistic",
    "shrinkage": 0.5,
}
SOFT_TASK: dict[str, Any] = {
    "run": "r-1",
    "method": "soft",
    "n_samples": 5,
    "n_classes": 300,
    "labels": codes_of_version_3([0, 299, 1, 1, 0], 300),
    "seed": 2**31 - 1,
    "weights": pack_numbers(np.abs(NUMBERS)),
    "holdout": pack_bits(np.array([True, False, False, False, True])),
    "reward": "auto",
    "cv": 4,
    "loss": "exponential",
    "shrinkage": 0.25,
    "score_bits": 16,
}

V3: dict[str, m.Message] = {
    **{name: message for name, message in V4.items() if name != "turn-taken-coded"},
    "scores": older.ScoresOfVersion3(**VOTES),
    "begin": older.BeginOfVersion3(**HARD_TASK, turn_seeds=2**32 - 1, models_per_turn=1, score_bits=0),
    "begin-soft": older.BeginOfVersion3(**SOFT_TASK, turn_seeds=0, models_per_turn=20),
    "take-turn": older.TakeTurnOfVersion3(run="r-1", turn=5, round=2, since=2, news=NEWS_OF_VERSION_3),
    "take-turn-soft": older.TakeTurnOfVersion3(run="r-1", turn=3, round=1, since=0, news=SOFT_NEWS_OF_VERSION_3),
    "turn-taken": taken_of_version_3(
        pack_bits(RIGHT),
        model_weight=1.0986122886681098,
        mean_reward=2 / 3,
        perfect=False,
        holdout=codes_of_version_3([0, 1, 3], 4),
    ),
    "turn-taken-8-bits": taken_of_version_3(
        levels_of_version_3(LEVELS, 8, 0.5), model_weight=-1.0, mean_reward=0.0, perfect=True
    ),
    "turn-taken-4-bits": taken_of_version_3(
        levels_of_version_3(COARSE_LEVELS, 4, 0.5), model_weight=1.0, mean_reward=1.0, perfect=True
    ),
    "turn-taken-16-bits": taken_of_version_3(
        levels_of_version_3(FINE_LEVELS, 16, 0.5), model_weight=1.0, mean_reward=1.0, perfect=False
    ),
    "turn-taken-32-bits": taken_of_version_3(
        levels_of_version_3(FINEST_LEVELS, 32, 0.5),
        model_weight=1.0,
        mean_reward=1.0,
        perfect=False,
        holdout=levels_of_version_3(FINEST_LEVELS, 32, 1.0),
    ),
    "turn-taken-vectors": taken_of_version_3(
        levels_of_version_3(VECTORS, 4, 0.25),
        model_weight=0.5,
        mean_reward=0.75,
        perfect=False,
        holdout=levels_of_version_3(VECTORS[:2], 4, 0.25),
    ),
}
"""What the files of version 3 say."""

V2: dict[str, m.Message] = {
    **{name: message for name, message in V3.items() if name != "turn-taken-vectors"},
    "begin": older.BeginOfVersion2(**HARD_TASK, turn_seeds=2**32 - 1, score_bits=8),
    "begin-soft": older.BeginOfVersion2(**SOFT_TASK, turn_seeds=0),
}
"""What the files of version 2 say."""

V1: dict[str, m.Message] = {
    **{name: message for name, message in V2.items() if name != "problem-sits-out"},
    "begin": older.BeginOfVersion1(**HARD_TASK, score_bits=8),
    "begin-soft": older.BeginOfVersion1(**SOFT_TASK),
    "take-turn": older.TakeTurnOfVersion1(run="r-1", turn=5, round=2, seed=11, since=2, news=NEWS_OF_VERSION_3),
    "take-turn-soft": older.TakeTurnOfVersion1(
        run="r-1", turn=3, round=1, seed=11, since=0, news=SOFT_NEWS_OF_VERSION_3
    ),
    "take-turn-state": older.TakeTurnOfVersion1(
        run="r-1",
        turn=9,
        round=3,
        seed=12,
        since=0,
        news=[],
        state=older.Snapshot(9, 3, [pack_numbers(np.array([0.0, -np.inf, 1.5])), None]),
    ),
}
"""What the files of version 1 say."""


def main() -> None:
    """Write the files that are missing."""
    folder = HERE / f"v{m.VERSION}"
    folder.mkdir(exist_ok=True)
    written = []
    for name, message in V6.items():
        try:
            with (folder / f"{name}.msg").open("xb") as file:
                file.write(encode(message))
        except FileExistsError:
            continue
        written.append(name)
    print(f"{folder}: {len(written)} files written, {len(V6) - len(written)} were there and stay as they are.")  # noqa: T201


if __name__ == "__main__":
    main()
