"""Notes who answers and who does not, to decide who takes part in the next job."""

from __future__ import annotations

from collections.abc import Sequence


class Attendance:
    """Which of the other organisations have answered so far.

    Everybody takes part in the first job. After trouble, only the organisation that is needed and those that are known
    to answer take part, so that one site in trouble does not keep the others waiting.

    Parameters
    ----------
    agents : sequence of str
        The other organisations.

    Examples
    --------
    >>> attendance = Attendance(["shop", "telco"])
    >>> attendance.invited("shop")
    ['shop', 'telco']
    >>> attendance.failed("telco")
    >>> attendance.invited("shop")
    ['shop']
    """

    def __init__(self, agents: Sequence[str]) -> None:
        self.agents = list(agents)
        self._careful = False
        self._good: set[str] = set()
        self._lost: set[str] = set()

    def invited(self, needed: str) -> list[str]:
        """Return who takes part in the next job, in which ``needed`` must be."""
        return [name for name in self.agents if name == needed or name in self._good or not self._careful]

    def answered(self, agent: str) -> None:
        """Note that an organisation has answered."""
        self._good.add(agent)
        self._lost.discard(agent)

    def failed(self, agent: str) -> None:
        """Note that an organisation did not answer."""
        self._careful = True
        self._good.discard(agent)

    def job_failed(self) -> None:
        """Note that a job did not start; any of its sites may be the reason."""
        self._careful = True
        self._good = set()

    def give_up(self, agent: str) -> None:
        """Note that an organisation was given up on."""
        self._lost.add(agent)

    def is_lost(self, agent: str) -> bool:
        """Return whether an organisation was given up on, and has not answered since."""
        return agent in self._lost
