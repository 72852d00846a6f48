"""The page of a run: its frame, and its sections. A function makes each of a view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from assistlearn.evaluation import words as w
from assistlearn.evaluation.calibration import Reliability
from assistlearn.evaluation.metrics import Difference
from assistlearn.evaluation.result import Headline, SharedIn, ShareRow
from assistlearn.methods.label_private import spent_in_words
from assistlearn.plan import SETTINGS
from assistlearn.protocol.codec import ReleasedBits
from assistlearn.report import pictures as drawn
from assistlearn.report.page import Card, Frame, PageList, PagePicture, PageTable, Section, page
from assistlearn.report.story import IDLE, ONE_PROCESS, WORDS, RoundRow, Traffic, View

_STATES = {"going on": "training goes on", "stopped": "not finished", "finished": "finished"}


def run_page(view: View) -> str:
    return page(frame_of(view), sections_of(view))


def frame_of(view: View) -> Frame:
    subject = view.subject
    kind = "Pilot" if subject.is_pilot else "Run" if subject.run else "Agents in one process"
    named = f"{kind} {subject.run}" if subject.run else kind
    day = "" if view.began is None else f", {view.began:%Y-%m-%d}"
    helpers = w.listed(subject.helpers) or "nobody"
    return Frame(
        title=f"{subject.run or subject.initiator}: does help make it better?",
        kicker=f"{named}{day}: {_STATES[view.state]}",
        heading=f"Does the help of {helpers} make the predictions of {subject.initiator} better?",
        intro=tuple(_intro(view)),
        closing=(
            f"This page was made at {subject.initiator} by assistlearn. It holds names of agents and classes, settings "
            "and figures; no ids, no values and no names of columns of anybody. It needs nothing from outside and "
            "sends nothing.",
        ),
    )


def _intro(view: View) -> Iterator[str]:
    subject = view.subject
    knows = "knows" if len(subject.helpers) == 1 else "know"
    alone = " It has labels, and no columns of its own." if subject.label_only else ""
    who = "helper" if subject.label_only else "agent"
    yield (
        f"{subject.initiator} wants to predict a class.{alone} {w.listed(subject.helpers)} {knows} other things about "
        f"the same people or things, and helped without showing tables or models: in turns, each {who} fits a model to "
        "its own columns and says where the model is right. Samples that no model was trained on tell whether it was "
        "worth it."
    )
    if subject.reach == ONE_PROCESS:
        yield "Here all agents were in one process, as in a study: nothing was sent."


def without_class_names(view: View) -> View:
    classes = tuple(f"class {number}" for number in range(1, len(view.subject.classes) + 1))
    return replace(view, subject=replace(view.subject, classes=classes))


def sections_of(view: View) -> list[Section]:
    makers = (
        *(answer, pilot, rounds, helpers, weights, probabilities, classes),
        *(exchange, samples, seconds, leaving, settings),
    )
    return [section for make in makers if (section := make(view)) is not None]


# -- the answer


def answer(view: View) -> Section:
    found, label_only = view.answer, view.subject.label_only
    if found is None:
        return Section("answer", "The answer", (_no_answer(view), *_doubts(view)))
    rows = tuple(
        (w.TITLES.get(each.name, each.name), w.figure(each.assisted), w.figure(each.alone), *_interval(each.difference))
        for each in view.metrics
    )
    columns = ("", "with help", "alone", "difference", "95 % interval")
    return Section(
        "answer",
        "The answer",
        (w.answer_in_words(found, label_only), *_doubts(view)),
        cards=_cards(found, label_only),
        tables=(PageTable(w.compared_in_words(label_only), columns, rows),),
    )


def _no_answer(view: View) -> str:
    turns = w.counted(view.turns, "turn")
    if view.state == "going on":
        return f"There is no answer yet: training goes on. Done so far: {turns}."
    if view.state == "stopped":
        return f"There is no answer: the run was stopped before it had a result, after {turns}. It can be resumed."
    last = next((row for row in reversed(view.rounds) if row.kept and row.accuracy is not None), None)
    if last is not None:
        metric = view.subject.metric if last.metric is not None else "accuracy"
        reached = w.percent(last.accuracy) if metric == "accuracy" else w.figure(last.metric)
        return (
            f"With help the {w.TITLES[metric]} is {reached} on the hold-out samples. How good {view.subject.initiator} "
            "is alone was not measured in this run."
        )
    if len(view.subject.classes) == 1:
        return f"There is nothing to answer: {view.stop_reason}."
    return w.unchecked_in_words(view.subject.helpers)


def _doubts(view: View) -> Iterator[str]:
    for helper in view.worse:
        done = (
            "Its votes were left out of the result."
            if helper in view.left_out
            else "Its votes count all the same, as the settings say."
        )
        yield f"{helper} makes the result worse on these samples, by more than chance explains. {done}"
    for name in view.left_out:
        if name not in view.worse:
            yield f"The hold-out samples contradict what {name} said. So nothing that it said counts."
    for row in view.agents:
        if row.left is not None:
            yield f"The run went on without {row.agent} from turn {row.left} on."


def _cards(found: Headline, label_only: bool) -> tuple[Card, ...]:
    if found.assisted is None:
        return ()
    by_labels = f", {w.alone_in_words(found.what)}" if label_only else ""
    cards: list[Card] = [
        ("alone", w.measured(found, found.alone), f"{found.what}{by_labels}", "alone"),
        ("with help", w.measured(found, found.assisted), found.what, "assisted"),
    ]
    between = found.difference
    if between is not None:
        ends = f"{w.gained(found, between.low)} to {w.gained(found, between.high)}"
        note = f"points, {ends}" if found.what in w.SHARES else ends
        if not found.larger_is_better and not found.is_gain:
            note += "; lower is better"
        cards.append(("gain" if found.is_gain else "difference", w.gained(found, between.value), note, ""))
    return tuple(cards)


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
            (f"{row.n_opened:,}", f"{row.gain:+.4f}", f"{row.lower:+.4f}", f"{row.upper:+.4f}") for row in view.opened
        ),
    )
    helpers = PageTable(
        "Each helper alone with the initiator",
        ("helper", "worth it", "loss lower by", "from", "to", "confidence"),
        tuple(
            (helper, verdict, f"{gain:+.3f}", f"{lower:+.3f}", f"{upper:+.3f}", w.percent(confidence))
            for helper, (verdict, gain, lower, upper, confidence) in view.gains.items()
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


# -- training


def rounds(view: View) -> Section | None:
    if not view.rounds:
        return None
    measure = w.TITLES.get(view.subject.metric, view.subject.metric)
    picture = None
    if any(row.accuracy is not None or row.loss is not None for row in view.rounds):
        picture = PagePicture(_curves_in_words(view.rounds, measure), drawn.rounds, (view.rounds, measure))
    words = [_rounds_in_words(view)]
    if view.combination is not None:
        became = w.combination_in_words(view.combination, view.subject.label_only)
        words.append(f"How the votes are combined in the end: {became}.")
    return Section("rounds", "Round by round", tuple(words), picture=picture, tables=(_rounds_table(view, measure),))


def _rounds_in_words(view: View) -> str:
    done = w.counted(view.rounds_done, "round")
    if view.state != "finished":
        return f"Done so far: {done} of {view.most_rounds} at the most. In a round every agent has one turn."
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
        ends = f"from {w.percent(first.accuracy)} to {w.percent(last.accuracy)}"
        words += f" The accuracy on hold-out samples goes {ends}."
    if first.loss is not None and last.loss is not None:
        words += f" The loss of the combination goes from {first.loss:.3f} to {last.loss:.3f}."
    return words


def _rounds_table(view: View, measure: str) -> PageTable:
    own = view.subject.metric != "accuracy"
    spent = any(row.bits is not None for row in view.rounds)
    columns = (
        "round",
        *([f"{measure} on hold-out samples"] if own else []),
        "accuracy" if own else "accuracy on hold-out samples",
        *("loss", "standard error"),
        *(["bits per sample"] if spent else []),
        "in the result",
    )
    rows = tuple(
        (
            str(row.round),
            *([w.figure(row.metric)] if own else []),
            w.percent(row.accuracy),
            *(w.figure(row.loss, 4), w.figure(row.error, 4)),
            *([w.figure(row.bits, 1)] if spent else []),
            {None: "-", True: "yes", False: "no"}[row.kept],
        )
        for row in view.rounds
    )
    return PageTable("Accuracy and loss after each round", columns, rows)


def helpers(view: View) -> Section | None:
    if not view.shares:
        return None
    of = view.shared_in
    best = max(view.shares, key=lambda row: row.share(of))
    what = "how much more often it is right" if of == "accuracy" else "how much lower its log loss is"
    unit = "percentage points of accuracy" if of == "accuracy" else "of log loss"
    words = [
        f"The share of each helper in the result: {what}, averaged over all orders in which the helpers could have "
        "joined. The shares add up to the whole. A share whose interval contains zero may be chance."
    ]
    if view.subject.metric not in ("accuracy", "log_loss"):
        name = view.answer.what if view.answer is not None else view.subject.metric
        words.append(f"Shares are measured in accuracy and in log loss, not in {name}.")
    if view.subject.label_only:
        words.append(
            f"{view.subject.initiator} has no votes of its own: without help it answers the most frequent class."
        )
    else:
        words.append(w.shares_in_words(view, view.subject.initiator))
    words.append(f"The largest share is that of {best.helper}: {_signed(best.share(of), of)} {unit}.")
    label = f"Shares of the result, {unit}: " + "; ".join(
        f"{row.helper} {_signed(row.share(of), of)}, give or take {_error(row, of)}" for row in view.shares
    )
    titles = ["accuracy (points)", "log loss lower by"]
    first, second = titles if of == "accuracy" else reversed(titles)
    lost = "points lost without it" if of == "accuracy" else "loss higher without it"
    columns = ("helper", first, "± 2 std. errors", second, "± 2 std. errors", lost)
    rows = tuple(_share_cells(row, of) for row in (*view.shares, *([view.together] if view.together else [])))
    table = PageTable("The share of each helper", columns, rows)
    picture = PagePicture(label, drawn.shares, (view.shares, of))
    return Section("helpers", "Who helped", tuple(words), picture=picture, tables=(table,))


def _share_cells(row: ShareRow, of: SharedIn) -> tuple[str, ...]:
    lost = row.lost_without if of == "accuracy" else row.loss_without
    other: SharedIn = "loss" if of == "accuracy" else "accuracy"
    cells = [each for what in (of, other) for each in (_signed(row.share(what), what), _error(row, what))]
    return row.helper, *cells, "-" if lost is None else _signed(lost, of)


def _signed(value: float, of: SharedIn) -> str:
    return w.points(value) if of == "accuracy" else f"{value:+.3f}"


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
    columns = ("agent", "turns", "sat out", "models made", "models", "sum of weights", "best model in training")
    rows = tuple(
        (
            *(row.agent, str(row.turns), str(row.sat_out), str(row.made), str(row.models)),
            *(w.figure(row.weight), w.percent(row.best)),
        )
        for row in view.agents
    )
    by_round = tuple((str(number), *map(w.figure, row)) for number, row in view.weights.items())
    tables = (
        PageTable("What each agent contributed", columns, rows),
        PageTable("Model weights by round", ("round", *agents), by_round),
    )
    label = "Curves of the model weights against the round. " + " ".join(
        f"{row.agent}: {row.models} models, {row.weight:.2f} in all." for row in view.agents
    )
    picture = PagePicture(label, drawn.weights, (agents, view.weights))
    return Section("weights", "Model weights", words, picture=picture, tables=tables)


# -- the predictions


def probabilities(view: View) -> Section | None:
    if view.calibration is None and not view.reliability:
        return None
    made = (f"The probabilities are {view.calibration}.",) if view.calibration is not None else ()
    if not view.reliability:
        return Section("probabilities", "How sure it is", made)
    words = (
        "Every prediction says how sure it is. Here hold-out samples are in groups of about equal sureness. In a group "
        "that is said to be right in 80 % of cases, 80 % should be right: the dashed line. Bars are 95 % intervals."
    )
    label = "How often answers were right against how sure they were said to be, with help: " + "; ".join(
        f"said {w.percent(each.said)}, right {w.percent(each.right)}" for each in view.reliability
    )
    picture = PagePicture(label, drawn.reliability, (view.reliability, view.reliability_alone))
    tables = _groups("With help", view.reliability), _groups("Alone", view.reliability_alone)
    return Section("probabilities", "How sure it is", (words, *made), picture=picture, tables=tables)


def _groups(who: str, groups: tuple[Reliability, ...]) -> PageTable:
    columns = ("group", "samples", "said to be right", "were right", "95 % interval")
    rows = []
    for number, each in enumerate(groups, start=1):
        shares = w.percent(each.said), w.percent(each.right), " to ".join(map(w.percent, each.interval))
        rows.append((str(number), f"{each.n_samples:,}", *shares))
    return PageTable(f"{who}: groups of answers, the surest last", columns, tuple(rows))


MOST_DRAWN, MOST_COUNTED = 30, 40
"""With more classes than these there is no picture, and no table of all pairs."""


def classes(view: View) -> Section | None:
    found, names = view.confusion, view.subject.classes
    if found is None:
        return None
    few = len(names) <= MOST_COUNTED
    columns = ("true class", *(f"answered {name}" for name in names if few), "found with help", "found alone")
    rows = tuple(
        (name, *(f"{count:g}" for count in counts if few), w.percent(with_help), w.percent(alone))
        for name, counts, with_help, alone in zip(names, found.counts, found.found, found.found_alone, strict=True)
    )
    label = "Which class was predicted for which, as shares of the true class. Found: " + "; ".join(
        f"{name} {w.percent(share)}" for name, share in list(zip(names, found.found, strict=True))[:MOST_DRAWN]
    )
    picture = PagePicture(label, drawn.confusion, (found, names)) if len(names) <= MOST_DRAWN else None
    words = (
        "A row for each true class of the hold-out samples: how often each class was predicted, with help. The names "
        f"of the classes are those of {view.subject.initiator}.",
    )
    table = PageTable("Which class was predicted", columns, rows)
    return Section("classes", "Which classes are found", words, picture=picture, tables=(table,))


# -- messages, samples, time


def exchange(view: View) -> Section | None:
    there = [each for each in view.exchanges if any(each.rows())]
    if not there:
        return None
    by_ledger = view.counted_by == "ledger"
    source = "the ledger of its initiator" if by_ledger else "its events, as the initiator's ledger is not at hand"
    words = (
        f"Every message of the run, counted by {source}. Helpers send each other nothing. Bits are per training sample "
        "and turn: what a helper is told of the others before its turn, and what it answers.",
    )
    in_training = PageTable(
        "In training",
        ("with", "sent", "received", "bits per sample: answer", "news of a turn"),
        tuple(
            (
                row.helper,
                w.size(row.sent),
                w.size(row.received),
                w.figure(row.answer_bits, 2),
                w.figure(row.news_bits, 2),
            )
            for row in view.trained_with
        ),
    )
    tables = (in_training, _sums(there), _types(there))
    return Section("exchange", "What was exchanged", words, picture=bytes_drawn(there, "helper"), tables=tables)


def bytes_drawn(there: Sequence[Traffic], others: str) -> PagePicture:
    names = tuple(each.helper for each in there)
    sent, received = tuple(each.bytes("sent") for each in there), tuple(each.bytes("received") for each in there)
    label = f"Bytes to and from each {others}: " + "; ".join(
        f"{name}: {w.size(to)} to it, {w.size(back)} from it"
        for name, to, back in zip(names, sent, received, strict=True)
    )
    return PagePicture(label, drawn.exchanged, (names, sent, received))


def _sums(there: list[Traffic]) -> PageTable:
    columns = ("with", "to it", "messages", "from it", "messages", "turns", "bits to it", "bits from it")
    rows = tuple(
        (
            *(each.helper, w.size(each.bytes("sent")), f"{each.messages('sent'):,}"),
            *(w.size(each.bytes("received")), f"{each.messages('received'):,}"),
            *(f"{each.turns:,}" if each.turns else "-", w.figure(each.bits_sent, 2), w.figure(each.bits_received, 2)),
        )
        for each in there
    )
    return PageTable("Everything so far: bytes and messages with each helper; bits per sample and turn", columns, rows)


def _types(there: list[Traffic]) -> PageTable:
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for each in there:
        for way, type_, messages, n_bytes in each.rows():
            before = counts.get((way, type_), (0, 0))
            counts[way, type_] = before[0] + messages, before[1] + n_bytes
    ways = {"sent": "to helpers", "received": "from helpers"}
    rows = tuple(
        (type_, ways[way], WORDS.get(type_, "a message of another release"), f"{messages:,}", w.size(n_bytes))
        for (way, type_), (messages, n_bytes) in sorted(counts.items(), key=lambda item: item[0][0] == "received")
    )
    columns = ("message", "way", "what it says", "messages", "bytes")
    return PageTable("What each kind of message says", columns, rows, words=(1, 2))


def samples(view: View) -> Section | None:
    if not view.matched and view.n_training is None:
        return None
    words = [*view.goes_on]
    if view.n_training is not None:
        aside = f", {view.n_holdout:,} were held out" if view.n_holdout else ""
        words.append(f"{w.counted(view.n_training, 'sample')} were trained on{aside}.")
    if not view.matched:
        return Section("samples", "Samples", tuple(words))
    words.append(f"Each helper was asked which of the samples of {view.subject.initiator} it holds.")
    rows = tuple(
        (
            *(row.agent, f"{row.n_asked:,}", f"{row.n_held:,}"),
            w.percent(row.n_held / row.n_asked if row.n_asked else None),
        )
        for row in view.matched
    )
    table = PageTable("Samples that each helper holds", ("helper", "asked for", "held", "share"), rows)
    label = "Samples held of those asked for: " + "; ".join(
        f"{row.agent} {row.n_held:,} of {row.n_asked:,}" for row in view.matched
    )
    picture = PagePicture(label, drawn.matched, (view.matched,))
    return Section("samples", "Samples", tuple(words), picture=picture, tables=(table,))


MOST_BARS, LEAST_DRAWN = 16, 0.005
"""The most bars that are drawn, and the least share of the time that a bar must have. The table has all rows."""


def seconds(view: View) -> Section | None:
    if not view.seconds or view.began is None or view.last is None:
        return None
    whole = (view.last - view.began).total_seconds()
    idle = sum(taken for what, _, taken, _ in view.seconds if what == IDLE)
    span = f"{view.began:%Y-%m-%d %H:%M:%S} to {view.last:%Y-%m-%d %H:%M:%S}, UTC"
    words = [
        f"From {span}: {w.duration(whole)}. The time of a helper's turn holds its own work and the way of the messages."
    ]
    if idle >= LEAST_DRAWN * whole:
        words.append(f"For {w.duration(idle)} of that nobody worked on it, between commands.")
    longest = sorted(view.seconds, key=lambda row: row[2], reverse=True)[:MOST_BARS]
    least = LEAST_DRAWN * (whole - idle)
    bars = tuple(row for row in view.seconds if row in longest and row[0] != IDLE and row[2] >= least)
    label = "Seconds by what they went to: " + "; ".join(
        f"{what} ({agent}) {w.duration(taken)}" if agent else f"{what} {w.duration(taken)}"
        for what, agent, taken, _ in bars
    )
    rows = tuple((what, agent or "-", f"{times:,}", w.duration(taken)) for what, agent, taken, times in view.seconds)
    table = PageTable("Where the time went", ("what", "with or at", "times", "time"), rows, words=(1,))
    picture = PagePicture(label, drawn.seconds, (bars, view.subject.initiator))
    return Section("time", "Where the time went", tuple(words), picture=picture, tables=(table,))


# -- what left each organisation

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
    if not any(any(each.rows()) for each in view.exchanges):
        return None
    helpers: list[PageList] = [(f"{each.helper}, a helper", tuple(_left_helper(view, each))) for each in view.exchanges]
    words = (
        "Tables, names of columns, learners and models never left anybody. Helpers sent each other nothing. This is "
        "what did leave:",
    )
    rows = tuple(
        (agent, _KINDS.get(each.kind, each.kind), each.about, f"{each.times:,}", *_bits(each))
        for agent, releases in view.released.items()
        for each in releases
    )
    columns = ("agent", "what", "about samples", "times", "bits", "bits as sent")
    table = PageTable("What was said about one sample, in bits", columns, rows, words=(1, 2))
    lists = ((f"{view.subject.initiator}, the initiator", tuple(_left_initiator(view))), *helpers)
    return Section("leaving", "What left each organisation", words, lists=lists, tables=(table,))


def _left_initiator(view: View) -> Iterator[str]:
    yield f"To {w.listed(view.subject.helpers)}: its name, the name of the run and what the run is for."
    asked = max((row.n_asked for row in view.matched), default=0)
    if asked:
        sent = _IDS.get(view.subject.settings.get("alignment", ""), "hashed or encrypted")
        yield f"Ids of {w.counted(asked, 'sample')}, {sent}."
    if any("begin" in each.counts["sent"] for each in view.exchanges):
        yield _labels(view)
    if _tells_of_models(view):
        whose = "other helpers'" if view.subject.label_only else "its own and other helpers'"
        yield (
            f"Where {whose} models were right, or how sure they were, sample by sample, with their weights; not whose "
            "they are."
        )
    if view.predicted:
        yield f"Which samples to vote on: {w.counted(view.predicted, 'sample')} in all predictions together."


def _tells_of_models(view: View) -> bool:
    """Whether the initiator tells helpers about models: its own, or those of other helpers where it has none."""
    own = view.subject.initiator
    tellers = view.subject.helpers if view.subject.label_only and view.subject.tells_of_others else (own,)
    released = (each for name in tellers for each in view.released.get(name, ()))
    return any(each.kind in ("rewards", "scores") for each in released)


def _labels(view: View) -> str:
    n = "" if view.n_training is None else f" of {w.counted(view.n_training, 'training sample')}"
    given = view.labels_given
    if given is None:
        return (
            f"The labels{n}, as numbers in a secret order, and weights of samples where there are any. Labels of "
            "hold-out samples stayed."
        )
    return (
        f"Labels{n} that chance had changed, as numbers: epsilon {given.epsilon:g} in this run. "
        f"{spent_in_words(given.most_spent, given.n_true)} True labels and weights of samples stayed in this run."
    )


def _left_helper(view: View, traffic: Traffic) -> Iterator[str]:
    received = traffic.counts["received"]
    if "opened" in received:
        yield "Its name and how many samples it has."
    for row in view.matched:
        if row.agent == traffic.helper:
            yield f"Which of {row.n_asked:,} samples it holds: {row.n_held:,} of them."
    for release in view.released.get(traffic.helper, ()):
        yield release_in_words(release)
    if "problem" in received:
        yield "Why it refused a request, in words that are no part of this page."


def release_in_words(release: ReleasedBits) -> str:
    times = "once" if release.times == 1 else f"{release.times:,} times"
    about = {"training": "training sample", "hold-out": "hold-out sample", "predicted": "sample asked for"}
    said, sent = _bits(release)
    what = f"{times}: {_KINDS.get(release.kind, release.kind)}"
    bits = f"{said} bits about a sample in all, {sent} on the wire"
    return f"For every {about[release.about]} that it holds, {what}; {bits}."


def _bits(release: ReleasedBits) -> tuple[str, str]:
    return f"{release.said:,.1f}", f"{release.sent:,.1f}"


def settings(view: View) -> Section:
    subject = view.subject
    classes = "1 class" if len(subject.classes) == 1 else f"{len(subject.classes):,} classes"
    words = [f"{w.counted(len(subject.agents), 'agent')}, {classes}."]
    if view.troubles:
        met = w.counted(view.troubles, "trouble")
        words.append(f"{met} on the way, after which the run went on. The log of the run has the details.")
    rows = tuple((name, value, SETTINGS[name].explanation) for name, value in subject.settings.items())
    chosen = PageTable("Settings", ("setting", "value", "what it does"), rows, words=(1, 2))
    made = PageTable("The result was made with", ("program", "version"), tuple(view.versions.items()), words=(1,))
    return Section("settings", "Settings and versions", tuple(words), tables=(chosen, made))
