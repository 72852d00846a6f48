"""What each round of a run has brought and cost: the loss of the combination against the bits spent so far."""

from __future__ import annotations

from dataclasses import dataclass

from assistlearn.events import Answered, Asked, RoundFinished, read
from assistlearn.runs.folder import RunFolder


@dataclass(frozen=True)
class RoundPrice:
    """A round: the loss of the combination after it, on samples that it had not seen, and the bits spent by then.

    Attributes
    ----------
    round : int
        Counts from 1.
    loss : float
        The mean log loss.
    error : float or None
        Its standard error; None after a single sample.
    bits : float
        Bits per training sample that were sent to all helpers and received from them by then, without the matching of
        ids.
    """

    round: int
    loss: float
    error: float | None
    bits: float


def round_prices(folder: RunFolder, n_samples: int) -> list[RoundPrice]:
    """Return the price of every round of a run with a learned combination, from its log; an empty list for other runs.

    Parameters
    ----------
    folder : RunFolder
        The folder of the run.
    n_samples : int
        How many samples it was trained on.
    """
    spent, prices = 0, []
    for recorded in read(folder.events):
        match recorded.event:
            case Asked() | Answered() as message:
                spent += 0 if message.type in ("align", "aligned") else message.bytes
            case RoundFinished(loss=float(loss)) as finished:
                prices.append(RoundPrice(finished.round, loss, finished.error, 8 * spent / max(n_samples, 1)))
    return prices
