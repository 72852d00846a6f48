"""Messages of every type, and the arrays in them, for property-based tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import (
    Bits,
    ClassCodes,
    Levels,
    Numbers,
    pack_bits,
    pack_codes,
    pack_levels,
    pack_numbers,
)

SCORE_BITS = (2, 3, 4, 8, 16, 32)
LEVEL_TYPES = {2: np.int8, 3: np.int8, 4: np.int8, 8: np.int8, 16: np.int16, 32: np.int32}

words = st.text(max_size=20)
counts = st.integers(-(2**63), 2**64 - 1)
sizes = st.integers(-3, 2**20)
numbers = st.floats(allow_nan=False)
blobs = st.binary(max_size=40)


@st.composite
def booleans(draw: st.DrawFn, max_size: int = 3_000) -> np.ndarray:
    """Booleans of any length and any share of ones, so that both codings occur."""
    n = draw(st.integers(0, max_size))
    share = draw(st.sampled_from([0.0, 0.001, 0.03, 0.2, 0.5, 0.9, 0.999, 1.0]))
    return np.random.default_rng(draw(st.integers(0, 2**32))).random(n) < share


@st.composite
def level_arrays(draw: st.DrawFn, bits: int, max_size: int = 2_000) -> np.ndarray:
    """Levels of any length, from all the same to all different."""
    n = draw(st.integers(0, max_size))
    top = 2 ** (bits - 1) - 1
    spread = draw(st.sampled_from([0.0, 1e-9, 0.01, 0.1, 1.0]))
    values = np.random.default_rng(draw(st.integers(0, 2**32))).normal(draw(st.integers(-top, top)), spread * top, n)
    return np.clip(np.rint(values), -top, top).astype(LEVEL_TYPES[bits])


codings = st.sampled_from(["raw", "range"])
packed_bits = booleans(100).map(pack_bits) | st.builds(Bits, n=sizes, ones=counts, coding=codings, data=blobs)
packed_codes = npst.arrays(np.int64, st.integers(0, 20), elements=st.integers(0, 8)).map(
    lambda codes: pack_codes(codes, 9)
) | st.builds(ClassCodes, n=sizes, n_classes=counts, coded=st.booleans(), data=blobs)
packed_numbers = npst.arrays(np.float64, st.integers(0, 20)).map(pack_numbers) | st.builds(Numbers, n=sizes, data=blobs)
packed_levels = level_arrays(8, 100).map(lambda levels: pack_levels(levels, 8, 0.25)) | st.builds(
    Levels, n=sizes, bits=counts, scale=numbers, coded=st.booleans(), data=blobs
)
rewards = packed_bits | packed_levels
news = st.builds(m.News, turn=counts, round=counts, model_weight=numbers, reward=st.none() | rewards)

MESSAGES: dict[type[m.Message], st.SearchStrategy[m.Message]] = {
    m.Open: st.builds(
        m.Open,
        run=words,
        initiator=words,
        purpose=words,
        alignment=st.sampled_from(["hash", "psi"]),
        overlap=st.sampled_from(["abstain", "intersection"]),
    ),
    m.Opened: st.builds(m.Opened, run=words, agent=words, n_rows=counts),
    m.Propose: st.builds(
        m.Propose,
        run=words,
        initiator=words,
        purpose=words,
        method=words,
        n_samples=counts,
        n_rounds=counts,
        withdrawn=st.booleans(),
    ),
    m.Consent: st.builds(
        m.Consent,
        run=words,
        state=st.sampled_from(["allowed", "waiting", "rejected", "expired", "withdrawn"]),
        request=words,
        since=words,
        text=words,
    ),
    m.Align: st.builds(
        m.Align,
        run=words,
        purpose=st.sampled_from(["train", "predict"]),
        step=st.sampled_from([1, 2]),
        data=blobs,
    ),
    m.Aligned: st.builds(m.Aligned, run=words, step=counts, data=blobs),
    m.Begin: st.builds(
        m.Begin,
        run=words,
        method=st.sampled_from(["ascii", "simple", "ensemble", "soft"]),
        n_samples=counts,
        n_classes=counts,
        labels=packed_codes,
        seed=counts,
        turn_seeds=counts,
        weights=st.none() | packed_numbers,
        holdout=st.none() | packed_bits,
        reward=st.sampled_from(["in-sample", "out-of-fold", "auto"]),
        cv=counts,
        loss=st.sampled_from(["logistic", "exponential"]),
        shrinkage=numbers,
        models_per_turn=counts,
        score_bits=st.sampled_from(SCORE_BITS),
        first_round=st.sampled_from(["in turn", "apart"]),
        epsilon=st.none() | st.floats(0.01, 10.0),
        folds=st.none() | packed_codes,
    ),
    m.Ready: st.builds(m.Ready, run=words, n_held=counts),
    m.TakeTurn: st.builds(
        m.TakeTurn,
        run=words,
        turn=counts,
        round=counts,
        since=counts,
        news=st.lists(news, max_size=3),
    ),
    m.TakeAgain: st.builds(
        m.TakeAgain,
        run=words,
        turn=counts,
        round=counts,
        since=counts,
        news=st.lists(news, max_size=3),
        earlier=counts,
    ),
    m.Recall: st.builds(m.Recall, run=words, earlier=words, still=packed_bits, turns=st.lists(counts, max_size=3)),
    m.Recalled: st.builds(
        m.Recalled, run=words, turns=st.lists(counts, max_size=3), why=words, table_changed=st.booleans()
    ),
    m.TurnTaken: st.builds(
        m.TurnTaken,
        run=words,
        turn=counts,
        reward=rewards,
        model_weight=numbers,
        mean_reward=numbers,
        perfect=st.booleans(),
        holdout=st.none() | packed_codes | packed_levels,
    ),
    m.End: st.builds(m.End, run=words, n_rounds=counts),
    m.Ended: st.builds(m.Ended, run=words, n_models=counts),
    m.Predict: st.builds(m.Predict, run=words, start=counts, stop=counts),
    m.Scores: st.builds(m.Scores, run=words, known=packed_bits, scores=packed_levels, total_weight=numbers),
    m.Forget: st.builds(m.Forget, run=words),
    m.Forgotten: st.builds(m.Forgotten, run=words, n_models=counts),
    m.Problem: st.builds(
        m.Problem,
        run=words,
        kind=st.sampled_from(
            ["malformed", "version", "refused", "sits-out", "unknown-run", "out-of-order", "behind", "data", "failed"]
        ),
        text=words,
        known=counts,
    ),
}
any_message = st.one_of(*MESSAGES.values())
