"""Golden files: one message of every type as its bytes, so that bytes do not change unless the version does.

    python -m tests.protocol.golden.make_golden

writes the files of the present version that are not there yet. It never overwrites one. If the format must change,
raise ``VERSION``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from assistlearn.protocol import encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits, pack_codes, pack_levels, pack_numbers

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

SAID: dict[str, m.Message] = {
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


def main() -> None:
    """Write the files that are missing."""
    folder = HERE / f"v{m.VERSION}"
    folder.mkdir(exist_ok=True)
    written = []
    for name, message in SAID.items():
        try:
            with (folder / f"{name}.msg").open("xb") as file:
                file.write(encode(message))
        except FileExistsError:
            continue
        written.append(name)
    print(f"{folder}: {len(written)} files written, {len(SAID) - len(written)} were there and stay as they are.")  # noqa: T201


if __name__ == "__main__":
    main()
