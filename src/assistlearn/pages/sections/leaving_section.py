"""For a privacy officer: what left each organisation, in words."""

from __future__ import annotations

from collections.abc import Iterator

from assistlearn.evaluation.figures_in_words import counted, listed
from assistlearn.methods.label_private import spent_in_words
from assistlearn.pages.section import PageList, PageTable, Section
from assistlearn.pages.view import Released, View

_IDS = {
    "hash": "as hashes under a secret that all agents share",
    "psi": "encrypted, so that only common ones are found",
}
_KINDS = {
    "labels": "labels; as sent, with weights of samples and which samples are held out",
    "rewards": "whether its model was right",
    "scores": "how sure its model was",
    "hold-out answers": "its answers for hold-out samples, whose labels it was not told",
    "votes": "votes for prediction",
}


def leaving(view: View) -> Section | None:
    """Return the section; None before the first message."""
    if not any(each.rows for each in view.exchanges):
        return None
    lists = [_of_initiator(view), *(_of_helper(view, helper) for helper in view.subject.helpers)]
    words = (
        "Tables, names of columns, learners and models never left anybody. Helpers sent each other nothing. This is "
        "what did leave:",
    )
    return Section(
        "leaving",
        "What left each organisation",
        words,
        lists=tuple(each for each in lists if each.items),
        tables=_bits(view),
    )


def _of_initiator(view: View) -> PageList:
    helpers = listed(view.subject.helpers)
    items = [f"To {helpers}: its name, the name of the run and what the run is for."]
    asked = max((row.n_asked for row in view.matched), default=0)
    if asked:
        items.append(f"Ids of {counted(asked, 'sample')}, {_way(view)}.")
    if _sent(view, "begin"):
        items.append(_labels(view))
    if _tells_of_models(view):
        whose = "other helpers'" if view.subject.label_only else "its own and other helpers'"
        items.append(
            f"Where {whose} models were right, or how sure they were, sample by sample, with their weights; not whose "
            "they are."
        )
    if view.predicted:
        items.append(f"Which samples to vote on: {counted(view.predicted, 'sample')} in all predictions together.")
    return PageList(f"{view.subject.initiator}, the initiator", tuple(items))


def _tells_of_models(view: View) -> bool:
    """Whether the initiator tells helpers about models: its own, or those of other helpers where it has none."""
    own = view.subject.initiator
    tellers = view.subject.helpers if view.subject.label_only and view.subject.tells_of_others else (own,)
    said = (each for name in tellers for each in view.released.get(name, ()))
    return any(each.kind in ("rewards", "scores") for each in said)


def _labels(view: View) -> str:
    n = "" if view.n_training is None else f" of {counted(view.n_training, 'training sample')}"
    if view.labels_given is not None:
        given = view.labels_given
        return (
            f"Labels{n} that chance had changed, as numbers: epsilon {given.epsilon:g} in this run. "
            f"{spent_in_words(given.most_spent, given.n_true)} True labels and weights of samples stayed in this run."
        )
    return (
        f"The labels{n}, as numbers in a secret order, and weights of samples where there are any. Labels of hold-out "
        "samples stayed."
    )


def _of_helper(view: View, helper: str) -> PageList:
    return PageList(f"{helper}, a helper", tuple(_items_of_helper(view, helper)))


def _items_of_helper(view: View, helper: str) -> Iterator[str]:
    rows = next((each.rows for each in view.exchanges if each.helper == helper), ())
    said = {row.type for row in rows if row.direction == "received"}
    if "opened" in said:
        yield "Its name and how many samples it has."
    for row in view.matched:
        if row.helper == helper:
            yield f"Which of {row.n_asked:,} samples it holds: {row.n_held:,} of them."
    for release in view.released.get(helper, ()):
        yield release_in_words(release)
    if "problem" in said:
        yield "Why it refused a request, in words that are no part of this page."


def release_in_words(release: Released) -> str:
    """Return what was said about samples, in a sentence."""
    times = "once" if release.times == 1 else f"{release.times:,} times"
    about = {"training": "training sample", "hold-out": "hold-out sample", "predicted": "sample asked for"}[
        release.about
    ]
    said, sent = _both(release)
    what = _KINDS.get(release.kind, release.kind)
    return f"For every {about} that it holds, {times}: {what}; {said} bits about a sample in all, {sent} on the wire."


def _bits(view: View) -> tuple[PageTable, ...]:
    rows = tuple(
        (agent, _KINDS.get(each.kind, each.kind), each.about, f"{each.times:,}", *_both(each))
        for agent, releases in view.released.items()
        for each in releases
    )
    columns = ("agent", "what", "about samples", "times", "bits", "bits as sent")
    return (PageTable("What was said about one sample, in bits", columns, rows, words=(1, 2)),) if rows else ()


def _both(release: Released) -> tuple[str, str]:
    return f"{release.said:,.1f}", f"{release.sent:,.1f}"


def _way(view: View) -> str:
    way = next((each.value for each in view.subject.settings if each.name == "alignment"), "")
    return _IDS.get(way, "hashed or encrypted")


def _sent(view: View, type_: str) -> bool:
    return any(row.type == type_ and row.direction == "sent" for each in view.exchanges for row in each.rows)
