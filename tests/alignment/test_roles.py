"""Laws that hold whichever way two agents find their shared samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistlearn.alignment import (
    HashHelper,
    HashInitiator,
    Ids,
    Minimum,
    PsiHelper,
    PsiInitiator,
    roles,
    samples_of_run,
)
from assistlearn.errors import AlignmentError, OverlapError, SettingsError
from tests.alignment.agents import ANY_OVERLAP, SECRET, by_hash, by_psi, rows_in_clear, two_tables

ways = pytest.mark.parametrize("way", [by_hash, by_psi])
OURS = list(range(100, 140))
THEIRS = list(range(90, 130))[::-1]


@ways
@given(tables=two_tables(), data=st.data())
@settings(max_examples=40)
def test_a_helper_ends_with_its_rows_of_any_choice_of_samples_in_the_initiators_order(way, tables, data):
    ours, theirs = tables
    kept = data.draw(st.none() | st.lists(st.booleans(), min_size=len(ours), max_size=len(ours)))
    initiator, helper = way(ours, theirs)
    expected = rows_in_clear(ours, theirs)
    np.testing.assert_array_equal(initiator.finish(helper.answer(initiator.start())), expected >= 0)
    initiator.confirm(helper.agree(initiator.settle(None if kept is None else np.array(kept))))
    np.testing.assert_array_equal(helper.rows, expected if kept is None else expected[np.array(kept)])


@ways
def test_an_intersection_of_three_agents_is_what_all_of_them_hold(way):
    tables = {"lab": list(range(0, 60)), "shop": list(range(30, 90))[::-1]}
    ours = list(range(20, 70, 2))
    pairs = {name: way(ours, theirs) for name, theirs in tables.items()}
    held = {name: a.finish(b.answer(a.start())) for name, (a, b) in pairs.items()}
    samples = samples_of_run(held, "intersection", Minimum(samples=10))
    assert np.array(ours)[samples].tolist() == list(range(30, 60, 2))
    for name, (initiator, helper) in pairs.items():
        initiator.confirm(helper.agree(initiator.settle(samples)))
        assert [tables[name][row] for row in helper.rows] == list(range(30, 60, 2))


@ways
def test_messages_may_be_given_twice(way):
    initiator, helper = way(OURS, THEIRS)
    request = initiator.start()
    answer = helper.answer(request)
    assert helper.answer(request) == answer
    held = initiator.finish(answer)
    np.testing.assert_array_equal(initiator.finish(answer), held)
    order = initiator.settle(held)
    reply = helper.agree(order)
    rows = helper.rows
    assert helper.agree(order) == reply
    np.testing.assert_array_equal(helper.rows, rows)
    initiator.confirm(reply)
    initiator.confirm(reply)


@ways
def test_an_alignment_can_be_started_again(way):
    initiator, helper = way(OURS, THEIRS)
    first = initiator.start()
    initiator.finish(helper.answer(first))
    second = initiator.start()
    assert second != first
    initiator.finish(helper.answer(second))
    initiator.confirm(helper.agree(initiator.settle()))
    np.testing.assert_array_equal(helper.rows, rows_in_clear(OURS, THEIRS))


@ways
def test_a_message_of_another_alignment_is_refused_and_changes_nothing(way):
    initiator, helper = way(OURS, THEIRS)
    stranger, another = way(OURS, THEIRS)
    answer = helper.answer(initiator.start())
    with pytest.raises(AlignmentError, match="belongs to another alignment"):
        initiator.finish(another.answer(stranger.start()))
    initiator.finish(answer)
    stranger.finish(another.answer(stranger.start()))
    with pytest.raises(AlignmentError, match="belongs to another alignment"):
        helper.agree(stranger.settle())
    reply = helper.agree(initiator.settle())
    with pytest.raises(AlignmentError, match="belongs to another alignment"):
        initiator.confirm(another.agree(stranger.settle()))
    initiator.confirm(reply)


@ways
def test_a_step_out_of_turn_says_so(way):
    initiator, helper = way(OURS, THEIRS)
    with pytest.raises(AlignmentError, match="'lab' has not started"):
        initiator.finish(b"")
    with pytest.raises(AlignmentError, match="'lab' has no answer yet"):
        initiator.settle()
    with pytest.raises(AlignmentError, match="'lab' has no order yet"):
        initiator.confirm(b"")
    with pytest.raises(AlignmentError, match="no alignment is under way"):
        helper.agree(b"")
    with pytest.raises(AlignmentError, match="not settled yet"):
        _ = helper.rows


@ways
@pytest.mark.parametrize("n_shared", [0, 1, 19])
def test_a_tiny_overlap_stops_the_initiator_before_the_helper_learns_the_order(way, n_shared):
    theirs = OURS[:n_shared] + list(range(10_000, 10_050))
    initiator, helper = way(OURS, theirs, minimum=Minimum(samples=20))
    answer = helper.answer(initiator.start())
    with pytest.raises(OverlapError, match=rf"'lab' holds {n_shared} of the initiator's 40 samples .* 20 are needed"):
        initiator.finish(answer)
    with pytest.raises(AlignmentError, match="has no answer yet"):
        initiator.settle()


@ways
def test_a_helper_refuses_a_run_that_has_too_few_of_its_samples(way):
    initiator, _ = way(OURS, THEIRS)
    _, helper = way(OURS, THEIRS, minimum=Minimum(samples=31))
    initiator.finish(helper.answer(initiator.start()))
    with pytest.raises(OverlapError, match="holds 30 of the initiator's 40 samples"):
        helper.agree(initiator.settle())


@ways
def test_an_order_under_another_digest_is_refused(way):
    """The order of one choice of samples with the digest of another, as if the two meant different samples."""
    initiator, helper = way(OURS, THEIRS)
    held = initiator.finish(helper.answer(initiator.start()))
    fewer = held.copy()
    fewer[np.flatnonzero(held)[0]] = False
    right = roles.decode(initiator.settle(held), roles.SampleOrder, 10_000)
    other = roles.decode(initiator.settle(fewer), roles.SampleOrder, 10_000)
    with pytest.raises(AlignmentError, match="the initiator means other samples"):
        helper.agree(roles.encode(roles.SampleOrder(right.token, right.key, right.digest, other.samples)))


@ways
def test_a_helper_that_does_not_confirm_is_named(way):
    initiator, helper = way(OURS, THEIRS)
    initiator.finish(helper.answer(initiator.start()))
    first = helper.agree(initiator.settle())
    initiator.settle()
    with pytest.raises(AlignmentError, match="'lab' did not confirm"):
        initiator.confirm(first)
    token = roles.decode(first, roles.Confirmation, 1000).token
    with pytest.raises(AlignmentError, match="'lab' did not confirm"):
        initiator.confirm(roles.encode(roles.Confirmation(token, b"")))


@ways
@pytest.mark.parametrize("samples", [np.ones(3, dtype=bool), np.arange(len(OURS)), np.ones((len(OURS), 1), dtype=bool)])
def test_samples_must_be_one_truth_value_for_each_id(way, samples):
    initiator, helper = way(OURS, THEIRS)
    initiator.finish(helper.answer(initiator.start()))
    with pytest.raises(SettingsError, match="samples must be 40 truth values"):
        initiator.settle(samples)


@ways
def test_a_request_with_more_ids_than_allowed_is_refused(way):
    theirs = Ids(THEIRS)
    helper = HashHelper(theirs, SECRET, ANY_OVERLAP, 39) if way is by_hash else PsiHelper(theirs, ANY_OVERLAP, 39)
    many, _ = way(list(range(100)), THEIRS)
    with pytest.raises(AlignmentError, match=r"bytes came in|are accepted"):
        helper.answer(many.start())
    few, _ = way(list(range(39)), THEIRS)
    helper.answer(few.start())


def test_an_initiator_refuses_more_points_than_allowed():
    initiator = PsiInitiator(Ids(OURS), "lab", ANY_OVERLAP, max_ids=10)
    helper = PsiHelper(Ids(THEIRS), ANY_OVERLAP)
    with pytest.raises(AlignmentError, match=r"bytes came in|are accepted"):
        initiator.finish(helper.answer(initiator.start()))


def test_different_secrets_are_noticed_before_any_digest_is_compared():
    initiator = HashInitiator(Ids(OURS), SECRET, "lab")
    helper = HashHelper(Ids(OURS), SECRET + b"\n")
    with pytest.raises(AlignmentError, match=r"another shared secret.*line end"):
        helper.answer(initiator.start())


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        (b"", "has 0 bytes; it needs at least 16"),
        (b"fifteen bytes..", "has 15 bytes; it needs at least 16"),
        ("a text of more than sixteen letters", "must be bytes, not str"),
    ],
)
@pytest.mark.parametrize("agent", [HashInitiator, HashHelper])
def test_a_secret_that_cannot_be_is_refused_when_the_agent_is_made(agent, secret, said):
    with pytest.raises(SettingsError, match=said):
        agent(Ids(OURS), secret)


@pytest.mark.parametrize("max_ids", [0, -1])
def test_max_ids_is_positive(max_ids):
    with pytest.raises(SettingsError, match="max_ids"):
        PsiHelper(Ids(OURS), max_ids=max_ids)
