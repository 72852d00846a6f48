"""The page of a run: its frame, and its sections, each made of a view by a function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from assistlearn.evaluation.calibration import Reliability
from assistlearn.evaluation.metrics import Difference
from assistlearn.evaluation.result import Headline, SharedIn, ShareRow
from assistlearn.evaluation.words import (
    SHARES,
    TITLES,
    alone_in_words,
    answer_in_words,
    combination_in_words,
    compared_in_words,
    counted,
    duration,
    figure,
    gained,
    listed,
    measured,
    percent,
    points,
    shares_in_words,
    size,
    unchecked_in_words,
)
from assistlearn.methods.label_private import spent_in_words
from assistlearn.protocol.codec import ReleasedBits
from assistlearn.report import pictures as drawn
from assistlearn.report.page import Card, Frame, PageList, PagePicture, PageTable, Section, page
from assistlearn.report.story import IDLE, ONE_PROCESS, WORDS, RoundRow, Spent, Traffic, View

_STATES = {"going on": "training goes on", "stopped": "not finished", "finished": "finished"}


def run_page(view: View) -> str:
    return page(frame_of(view), sections_of(view))


def frame_of(view: View) -> Frame:
    subject = view.subject
    kind = "Pilot" if subject.is_pilot else "Run" if subject.run else "Agents in one process"
    named = f"{kind} {subject.run}" if subject.run else kind
    day = "" if view.began is None else f", {view.began:%Y-%m-%d}"
    return Frame(
        title=f"{subject.run or subject.initiator}: does help make it better?",
        kicker=f"{named}{day}: {_STATES[view.state]}",
        heading=question(view),
        intro=_intro(view),
        closing=(
            f"This page was made at {subject.initiator} by assistlearn. It holds names of agents and classes, settings "
            "and figures; no ids, no values and no names of columns of anybody. It needs nothing from outside and "
            "sends nothing.",
        ),
    )


def _intro(view: View) -> tuple[str, ...]:
    subject = view.subject
    knows = "knows" if len(subject.helpers) == 1 else "know"
    alone = " It has labels, and no columns of its own." if subject.label_only else ""
    who = "helper" if subject.label_only else "agent"
    what = (
        f"{subject.initiator} wants to predict a class.{alone} {listed(subject.helpers)} {knows} other things about "
        f"the same people or things, and helped without showing tables or models: in turns, each {who} fits a model to "
        "its own columns and says where the model is right. Samples that no model was trained on tell whether it was "
        "worth it."
    )
    if subject.reach != ONE_PROCESS:
        return (what,)
    return what, "Here all agents were in one process, as in a study: nothing was sent."


def without_class_names(view: View) -> View:
    classes = tuple(f"class {number}" for number in range(1, len(view.subject.classes) + 1))
    return replace(view, subject=replace(view.subject, classes=classes))


def sections_of(view: View) -> list[Section]:
    makers = (
        *(answer, pilot, rounds, helpers, weights, probabilities, classes),
        *(exchange, samples, seconds, leaving, settings),
    )
    return [section for make in makers if (section := make(view)) is not None]


def answer(view: View) -> Section:
    found = view.answer
    if found is None:
        return Section("answer", "The answer", (_without(view), *_doubts(view)))
    return Section(
        "answer",
        "The answer",
        (answer_in_words(found, view.subject.label_only), *_doubts(view)),
        cards=_cards(view, found),
        tables=(_metrics(view),),
    )


def question(view: View) -> str:
    helpers = listed(view.subject.helpers) or "nobody"
    return f"Does the help of {helpers} make the predictions of {view.subject.initiator} better?"


def _without(view: View) -> str:
    turns = counted(view.progress.turns, "turn")
    if view.state == "going on":
        return f"There is no answer yet: training goes on. Done so far: {turns}."
    if view.state == "stopped":
        return f"There is no answer: the run was stopped before it had a result, after {turns}. It can be resumed."
    last = next((row for row in reversed(view.rounds) if row.kept and row.accuracy is not None), None)
    if last is not None:
        own = view.subject.metric != "accuracy" and last.metric is not None
        what = (
            f"{TITLES[view.subject.metric]} is {figure(last.metric)}"
            if own
            else f"accuracy is {percent(last.accuracy)}"
        )
        return (
            f"With help the {what} on the hold-out samples. How good {view.subject.initiator} is alone was not "
            "measured in this run."
        )
    if len(view.subject.classes) == 1:
        return f"There is nothing to answer: {view.stop_reason}."
    return unchecked_in_words(view.subject.helpers)


def _doubts(view: View) -> tuple[str, ...]:
    doubts = []
    for helper in view.worse:
        done = (
            "Its votes were left out of the result."
            if helper in view.left_out
            else "Its votes count all the same, as the settings say."
        )
        doubts.append(f"{helper} makes the result worse on these samples, by more than chance explains. {done}")
    doubts += [
        f"The hold-out samples contradict what {name} said. So nothing that it said counts."
        for name in view.left_out
        if name not in view.worse
    ]
    doubts += [
        f"The run went on without {row.agent} from turn {row.left} on." for row in view.agents if row.left is not None
    ]
    return tuple(doubts)


def _cards(view: View, found: Headline) -> tuple[Card, ...]:
    if found.assisted is None:
        return ()
    by_labels = f", {alone_in_words(found.what)}" if view.subject.label_only else ""
    cards = [
        Card("alone", measured(found, found.alone), f"{found.what}{by_labels}", "alone"),
        Card("with help", measured(found, found.assisted), found.what, "assisted"),
    ]
    between = found.difference
    if between is not None:
        ends = f"{gained(found, between.low)} to {gained(found, between.high)}"
        note = f"points, {ends}" if found.what in SHARES else ends
        if not found.larger_is_better and not found.is_gain:
            note += "; lower is better"
        cards.append(Card("gain" if found.is_gain else "difference", gained(found, between.value), note))
    return tuple(cards)


def _metrics(view: View) -> PageTable:
    rows = tuple(
        (TITLES.get(each.name, each.name), figure(each.assisted), figure(each.alone), *_interval(each.difference))
        for each in view.metrics
    )
    columns = ("", "with help", "alone", "difference", "95 % interval")
    return PageTable(compared_in_words(view.subject.label_only), columns, rows)


def _interval(between: Difference | None) -> tuple[str, str]:
    return ("-", "-") if between is None else (f"{between.value:+.3f}", f"{between.low:+.3f} to {between.high:+.3f}")


def pilot(view: View) -> Section | None:
    if not view.opened and not view.gains:
        return None
    words = (
        "This was a pilot: it only asks whether help is worth it. It trained on a part of the samples and then opened "
        "others, a block at a time, until that was clear. The limits hold at all looks together. An answer comes when "
        "the opened samples look clear, which is partly chance. From the answer on the gain is told without this part.",
    )
    looks = PageTable(
        "The gain, look by look",
        ("samples opened", "loss lower by", "from", "to"),
        tuple(
            (f"{row.n_opened:,}", *(f"{each:+.4f}" for each in (row.gain, row.lower, row.upper))) for row in view.opened
        ),
    )
    helpers = PageTable(
        "Each helper alone with the initiator",
        ("helper", "worth it", "loss lower by", "from", "to", "confidence"),
        tuple(
            (
                row.helper,
                row.answer,
                *(f"{each:+.3f}" for each in (row.gain, row.lower, row.upper)),
                percent(row.holds_with),
            )
            for row in view.gains
        ),
        words=(1,),
    )
    picture = None
    if len(view.opened) > 1:
        last = view.opened[-1]
        label = (
            f"A curve of the gain against the samples opened. After {last.n_opened:,} samples the loss is lower by "
            f"{last.gain:.3f}, with limits from {last.lower:.3f} to {last.upper:.3f}."
        )
        picture = PagePicture(label, drawn.opened, (view.opened,))
    return Section("pilot", "The pilot", words, picture=picture, tables=(looks, helpers))


def rounds(view: View) -> Section | None:
    if not view.rounds:
        return None
    measure = TITLES.get(view.subject.metric, view.subject.metric)
    measured = any(row.accuracy is not None or row.loss is not None for row in view.rounds)
    picture = (
        PagePicture(_curves_in_words(view.rounds, measure), drawn.rounds, (view.rounds, measure)) if measured else None
    )
    words = [_rounds_in_words(view)]
    if view.combination is not None:
        became = combination_in_words(view.combination, view.subject.label_only)
        words.append(f"How the votes are combined in the end: {became}.")
    return Section("rounds", "Round by round", tuple(words), picture=picture, tables=(_rounds_table(view, measure),))


def _rounds_in_words(view: View) -> str:
    done = counted(view.progress.rounds, "round")
    if view.state != "finished":
        return f"Done so far: {done} of {view.progress.most_rounds} at the most. In a round every agent has one turn."
    why = f", because: {view.stop_reason}" if view.stop_reason else ""
    words = f"It stopped after {done}{why}."
    if any(row.kept is False for row in view.rounds):
        words += " The rounds after the best one, right of the dotted line, are no part of the result."
    if view.combination is not None and any(row.round == view.n_rounds for row in view.rounds):
        words += (
            f" The row of round {view.n_rounds} is the result itself, whose combination was learned at the end. After "
            "the other rounds no trees were tried."
        )
    return f"In a round every agent has one turn. {words}"


def _curves_in_words(rows: tuple[RoundRow, ...], measure: str) -> str:
    first, last = rows[0], rows[-1]
    words = f"Curves against the round, from {first.round} to {last.round}."
    if measure != "accuracy" and first.metric is not None and last.metric is not None:
        words += f" The {measure} on hold-out samples goes from {first.metric:.3f} to {last.metric:.3f}."
    if first.accuracy is not None and last.accuracy is not None:
        words += f" The accuracy on hold-out samples goes from {percent(first.accuracy)} to {percent(last.accuracy)}."
    if first.loss is not None and last.loss is not None:
        words += f" The loss of the combination goes from {first.loss:.3f} to {last.loss:.3f}."
    return words


def _rounds_table(view: View, measure: str) -> PageTable:
    own = view.subject.metric != "accuracy"
    spent = any(row.bits is not None for row in view.rounds)
    columns = [
        "round",
        *([f"{measure} on hold-out samples"] if own else []),
        "accuracy" if own else "accuracy on hold-out samples",
        "loss",
        "standard error",
        *(["bits per sample"] if spent else []),
        "in the result",
    ]
    rows = tuple(
        (
            str(row.round),
            *([figure(row.metric)] if own else []),
            percent(row.accuracy),
            figure(row.loss, 4),
            figure(row.error, 4),
            *([figure(row.bits, 1)] if spent else []),
            {None: "-", True: "yes", False: "no"}[row.kept],
        )
        for row in view.rounds
    )
    return PageTable("Accuracy and loss after each round", tuple(columns), rows)


def helpers(view: View) -> Section | None:
    if not view.shares:
        return None
    of = view.shared_in
    best = max(view.shares, key=lambda row: row.share(of))
    what = "how much more often it is right" if of == "accuracy" else "how much lower its log loss is"
    unit = "percentage points of accuracy" if of == "accuracy" else "of log loss"
    words = (
        f"The share of each helper in the result: {what}, averaged over all orders in which the helpers could have "
        "joined. The shares add up to the whole. A share whose interval contains zero may be chance.",
        *_other_metric(view),
        _without_help(view),
        f"The largest share is that of {best.helper}: {_signed(best.share(of), of)} {unit}.",
    )
    label = f"Shares of the result, {unit}: " + "; ".join(
        f"{row.helper} {_signed(row.share(of), of)}, give or take {_error(row, of)}" for row in view.shares
    )
    rows = tuple(_row(row, of) for row in (*view.shares, *([view.together] if view.together else [])))
    titles = ["accuracy (points)", "log loss lower by"]
    first, second = titles if of == "accuracy" else reversed(titles)
    lost = "points lost without it" if of == "accuracy" else "loss higher without it"
    columns = ("helper", first, "± 2 std. errors", second, "± 2 std. errors", lost)
    table = PageTable("The share of each helper", columns, rows)
    return Section(
        "helpers", "Who helped", words, picture=PagePicture(label, drawn.shares, (view.shares, of)), tables=(table,)
    )


def _without_help(view: View) -> str:
    if view.subject.label_only:
        return f"{view.subject.initiator} has no votes of its own: without help it answers the most frequent class."
    return shares_in_words(view.findings, view.subject.initiator)


def _other_metric(view: View) -> tuple[str, ...]:
    if view.subject.metric in ("accuracy", "log_loss"):
        return ()
    name = view.answer.what if view.answer is not None else view.subject.metric
    return (f"Shares are measured in accuracy and in log loss, not in {name}.",)


def _row(row: ShareRow, of: SharedIn) -> tuple[str, ...]:
    lost = row.lost_without if of == "accuracy" else row.loss_without
    other: SharedIn = "loss" if of == "accuracy" else "accuracy"
    cells = [each for what in (of, other) for each in (_signed(row.share(what), what), _error(row, what))]
    return row.helper, *cells, "-" if lost is None else _signed(lost, of)


def _signed(value: float, of: SharedIn) -> str:
    return points(value) if of == "accuracy" else f"{value:+.3f}"


def _error(row: ShareRow, of: SharedIn) -> str:
    error = drawn.ERRORS * row.error(of)
    return f"{100 * error:.1f}" if of == "accuracy" else f"{error:.3f}"


def weights(view: View) -> Section | None:
    if not view.weights:
        return None
    agents = view.subject.agents
    words = (
        "In its turn an agent fits a model to its own columns. The model weight says how much the model's votes count. "
        "An agent whose model is no better than chance sits the turn out. Models of rounds that do not count, and of "
        "agents that were left out, are no part of the result.",
    )
    summed = PageTable(
        "What each agent contributed",
        ("agent", "turns", "sat out", "models made", "models", "sum of weights", "best model in training"),
        tuple(
            (
                row.agent,
                *map(str, (row.turns, row.sat_out, row.made, row.models)),
                figure(row.weight),
                percent(row.best),
            )
            for row in view.agents
        ),
    )
    each = PageTable(
        "Model weights by round",
        ("round", *agents),
        tuple((str(row.round), *map(figure, row.weights)) for row in view.weights),
    )
    label = "Curves of the model weights against the round. " + " ".join(
        f"{row.agent}: {row.models} models, {row.weight:.2f} in all." for row in view.agents
    )
    picture = PagePicture(label, drawn.weights, (agents, view.weights))
    return Section("weights", "Model weights", words, picture=picture, tables=(summed, each))


def probabilities(view: View) -> Section | None:
    if view.calibration is None and not view.reliability:
        return None
    words = [f"The probabilities are {view.calibration}."] if view.calibration is not None else []
    if not view.reliability:
        return Section("probabilities", "How sure it is", tuple(words))
    words.insert(
        0,
        "Every prediction says how sure it is. Here hold-out samples are in groups of about equal sureness. In a group "
        "that is said to be right in 80 % of cases, 80 % should be right: the dashed line. Bars are 95 % intervals.",
    )
    label = "How often answers were right against how sure they were said to be, with help: " + "; ".join(
        f"said {percent(each.said)}, right {percent(each.right)}" for each in view.reliability
    )
    picture = PagePicture(label, drawn.reliability, (view.reliability, view.reliability_alone))
    tables = _groups("With help", view.reliability), _groups("Alone", view.reliability_alone)
    return Section("probabilities", "How sure it is", tuple(words), picture=picture, tables=tables)


def _groups(who: str, groups: tuple[Reliability, ...]) -> PageTable:
    columns = ("group", "samples", "said to be right", "were right", "95 % interval")
    rows = tuple(
        (
            str(number),
            f"{each.n_samples:,}",
            percent(each.said),
            percent(each.right),
            " to ".join(map(percent, each.interval)),
        )
        for number, each in enumerate(groups, start=1)
    )
    return PageTable(f"{who}: groups of answers, the surest last", columns, rows)


MOST_DRAWN, MOST_COUNTED = 30, 40
"""With more classes than these there is no picture, and no table of all pairs."""


def classes(view: View) -> Section | None:
    found = view.confusion
    if found is None:
        return None
    names = view.subject.classes
    rows = []
    for name, counts, with_help, alone in zip(names, found.counts, found.found, found.found_alone, strict=True):
        pairs = [f"{count:g}" for count in counts] if len(names) <= MOST_COUNTED else []
        rows.append((name, *pairs, percent(with_help), percent(alone)))
    answered = names if len(names) <= MOST_COUNTED else ()
    columns = ("true class", *(f"answered {name}" for name in answered), "found with help", "found alone")
    label = "Which class was predicted for which, as shares of the true class. Found: " + "; ".join(
        f"{name} {percent(share)}" for name, share in list(zip(names, found.found, strict=True))[:MOST_DRAWN]
    )
    picture = PagePicture(label, drawn.confusion, (found, names)) if len(names) <= MOST_DRAWN else None
    words = (
        "A row for each true class of the hold-out samples: how often each class was predicted, with help. The names "
        f"of the classes are those of {view.subject.initiator}.",
    )
    table = PageTable("Which class was predicted", columns, tuple(rows))
    return Section("classes", "Which classes are found", words, picture=picture, tables=(table,))


def exchange(view: View) -> Section | None:
    there = tuple(each for each in view.exchanges if each.rows)
    if not there:
        return None
    by_ledger = view.counted_by == "ledger"
    source = "the ledger of its initiator" if by_ledger else "its events, as the initiator's ledger is not at hand"
    words = (
        f"Every message of the run, counted by {source}. Helpers send each other nothing. Bits are per training sample "
        "and turn: what a helper is told of the others before its turn, and what it answers.",
    )
    names = tuple(each.helper for each in there)
    sent, received = (tuple(each.bytes(way) for each in there) for way in ("sent", "received"))
    label = "Bytes to and from each helper: " + "; ".join(
        f"{each.helper}: {size(each.bytes('sent'))} to it, {size(each.bytes('received'))} from it" for each in there
    )
    return Section(
        "exchange",
        "What was exchanged",
        words,
        picture=PagePicture(label, drawn.exchanged, (names, sent, received)),
        tables=(_in_training(view), _sums(there), _types(there)),
    )


def _in_training(view: View) -> PageTable:
    columns = ("with", "sent", "received", "bits per sample: answer", "news of a turn")
    rows = tuple(
        (row.helper, size(row.sent), size(row.received), figure(row.answer_bits, 2), figure(row.news_bits, 2))
        for row in view.trained_with
    )
    return PageTable("In training", columns, rows)


def _sums(there: tuple[Traffic, ...]) -> PageTable:
    columns = ("with", "to it", "messages", "from it", "messages", "turns", "bits to it", "bits from it")
    rows = tuple(
        (
            each.helper,
            size(each.bytes("sent")),
            f"{each.messages('sent'):,}",
            size(each.bytes("received")),
            f"{each.messages('received'):,}",
            f"{each.turns:,}" if each.turns else "-",
            figure(each.bits_sent, 2),
            figure(each.bits_received, 2),
        )
        for each in there
    )
    return PageTable("Everything so far: bytes and messages with each helper; bits per sample and turn", columns, rows)


def _types(there: tuple[Traffic, ...]) -> PageTable:
    counts: dict[tuple[str, str], list[int]] = {}
    for each in there:
        for row in each.rows:
            count = counts.setdefault((row.direction, row.type), [0, 0])
            count[0] += row.messages
            count[1] += row.bytes
    ways = {"sent": "to helpers", "received": "from helpers"}
    rows = tuple(
        (type_, ways[way], WORDS.get(type_, "a message of another release"), f"{messages:,}", size(n_bytes))
        for (way, type_), (messages, n_bytes) in sorted(counts.items(), key=lambda item: item[0][0] == "received")
    )
    return PageTable(
        "What each kind of message says", ("message", "way", "what it says", "messages", "bytes"), rows, words=(1, 2)
    )


def samples(view: View) -> Section | None:
    if not view.matched and view.n_training is None:
        return None
    words = [*view.goes_on]
    if view.n_training is not None:
        aside = f", {view.n_holdout:,} were held out" if view.n_holdout else ""
        words.append(f"{counted(view.n_training, 'sample')} were trained on{aside}.")
    if not view.matched:
        return Section("samples", "Samples", tuple(words))
    words.append(f"Each helper was asked which of the samples of {view.subject.initiator} it holds.")
    table = PageTable(
        "Samples that each helper holds",
        ("helper", "asked for", "held", "share"),
        tuple(
            (
                row.helper,
                f"{row.n_asked:,}",
                f"{row.n_held:,}",
                percent(row.n_held / row.n_asked if row.n_asked else None),
            )
            for row in view.matched
        ),
    )
    label = "Samples held of those asked for: " + "; ".join(
        f"{row.helper} {row.n_held:,} of {row.n_asked:,}" for row in view.matched
    )
    picture = PagePicture(label, drawn.matched, (view.matched,))
    return Section("samples", "Samples", tuple(words), picture=picture, tables=(table,))


MOST_BARS, LEAST_DRAWN = 16, 0.005
"""The most bars that are drawn, and the least share of the time that a bar must have. The table has all rows."""


def seconds(view: View) -> Section | None:
    if not view.seconds or view.began is None or view.last is None:
        return None
    whole, idle = (view.last - view.began).total_seconds(), sum(row.seconds for row in view.seconds if row.what == IDLE)
    words = [
        f"From {view.began:%Y-%m-%d %H:%M:%S} to {view.last:%Y-%m-%d %H:%M:%S}, UTC: {duration(whole)}. The time of a "
        "helper's turn holds its own work and the way of the messages."
    ]
    if idle >= LEAST_DRAWN * whole:
        words.append(f"For {duration(idle)} of that nobody worked on it, between commands.")
    longest = sorted(view.seconds, key=lambda row: row.seconds, reverse=True)[:MOST_BARS]
    least = LEAST_DRAWN * (whole - idle)
    drawn_rows = tuple(row for row in view.seconds if row in longest and row.what != IDLE and row.seconds >= least)
    label = "Seconds by what they went to: " + "; ".join(f"{_name(row)} {duration(row.seconds)}" for row in drawn_rows)
    table = PageTable(
        "Where the time went",
        ("what", "with or at", "times", "time"),
        tuple((row.what, row.agent or "-", f"{row.times:,}", duration(row.seconds)) for row in view.seconds),
        words=(1,),
    )
    picture = PagePicture(label, drawn.seconds, (drawn_rows, view.subject.initiator))
    return Section("time", "Where the time went", tuple(words), picture=picture, tables=(table,))


def _name(row: Spent) -> str:
    return f"{row.what} ({row.agent})" if row.agent else row.what


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
    if not any(each.rows for each in view.exchanges):
        return None
    helpers = view.subject.helpers
    lists = [PageList(f"{helper}, a helper", tuple(_of_helper(view, helper))) for helper in helpers]
    lists.insert(0, _of_initiator(view))
    words = (
        "Tables, names of columns, learners and models never left anybody. Helpers sent each other nothing. This is "
        "what did leave:",
    )
    return Section("leaving", "What left each organisation", words, lists=tuple(lists), tables=(_bits(view),))


def _of_initiator(view: View) -> PageList:
    helpers = listed(view.subject.helpers)
    items = [f"To {helpers}: its name, the name of the run and what the run is for."]
    asked = max((row.n_asked for row in view.matched), default=0)
    if asked:
        items.append(f"Ids of {counted(asked, 'sample')}, {_ids_sent(view)}.")
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
    released = (each for name in tellers for each in view.released.get(name, ()))
    return any(each.kind in ("rewards", "scores") for each in released)


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


def _of_helper(view: View, helper: str) -> Iterator[str]:
    rows = next((each.rows for each in view.exchanges if each.helper == helper), ())
    received = {row.type for row in rows if row.direction == "received"}
    if "opened" in received:
        yield "Its name and how many samples it has."
    for row in view.matched:
        if row.helper == helper:
            yield f"Which of {row.n_asked:,} samples it holds: {row.n_held:,} of them."
    for release in view.released.get(helper, ()):
        yield release_in_words(release)
    if "problem" in received:
        yield "Why it refused a request, in words that are no part of this page."


def release_in_words(release: ReleasedBits) -> str:
    times = "once" if release.times == 1 else f"{release.times:,} times"
    about = {"training": "training sample", "hold-out": "hold-out sample", "predicted": "sample asked for"}[
        release.about
    ]
    said, sent = _both(release)
    what = _KINDS.get(release.kind, release.kind)
    return f"For every {about} that it holds, {times}: {what}; {said} bits about a sample in all, {sent} on the wire."


def _bits(view: View) -> PageTable:
    rows = tuple(
        (agent, _KINDS.get(each.kind, each.kind), each.about, f"{each.times:,}", *_both(each))
        for agent, releases in view.released.items()
        for each in releases
    )
    columns = ("agent", "what", "about samples", "times", "bits", "bits as sent")
    return PageTable("What was said about one sample, in bits", columns, rows, words=(1, 2))


def _both(release: ReleasedBits) -> tuple[str, str]:
    return f"{release.said:,.1f}", f"{release.sent:,.1f}"


def _ids_sent(view: View) -> str:
    way = next((each.value for each in view.subject.settings if each.name == "alignment"), "")
    return _IDS.get(way, "hashed or encrypted")


def _sent(view: View, type_: str) -> bool:
    return any(row.type == type_ and row.direction == "sent" for each in view.exchanges for row in each.rows)


def settings(view: View) -> Section:
    subject = view.subject
    classes = "1 class" if len(subject.classes) == 1 else f"{len(subject.classes):,} classes"
    words = [f"{counted(len(subject.agents), 'agent')}, {classes}."]
    if view.troubles:
        met = counted(view.troubles, "trouble")
        words.append(f"{met} on the way, after which the run went on. The log of the run has the details.")
    rows = tuple((each.name, each.value, each.explanation) for each in subject.settings)
    chosen = PageTable("Settings", ("setting", "value", "what it does"), rows, words=(1, 2))
    made = PageTable("The result was made with", ("program", "version"), tuple(view.versions.items()), words=(1,))
    return Section("settings", "Settings and versions", tuple(words), tables=(chosen, made))
