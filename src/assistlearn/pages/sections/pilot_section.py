"""The section about what a pilot has found: the gain after each block of samples, and the gain of each helper."""

from __future__ import annotations

from functools import partial

from assistlearn.evaluation.figures_in_words import percent
from assistlearn.pages.pictures import drawn
from assistlearn.pages.section import PagePicture, PageTable, Section
from assistlearn.pages.view import View


def pilot(view: View) -> Section | None:
    """Return the section; None for a run that is not a pilot, and before the first block of samples is opened."""
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
        picture = PagePicture(label, partial(drawn.opened, view.opened))
    return Section(
        "pilot", "The pilot", words, picture=picture, tables=tuple(table for table in (looks, helpers) if table.rows)
    )
