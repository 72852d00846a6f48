"""A participant whose answers are kept in the run's folder, and taken from there after an interruption."""

from __future__ import annotations

from collections.abc import Callable, Collection

from assistlearn.agents import Answer, Turn
from assistlearn.core import Contribution
from assistlearn.errors import AgentGoneError, DoubtedError, ProtocolError, RunError, UnreachableError
from assistlearn.protocol import Encoded
from assistlearn.protocol.codec import decode
from assistlearn.runs.folder import RunFolder
from assistlearn.runs.remote_participant import RemoteParticipant
from assistlearn.storage.file_digests import REMEDY, digest_of


def believed(answer: Answer, round: int) -> str:
    """Return an empty reason for doubt: every answer is believed."""
    return ""


class RecordedParticipant:
    """Asks an agent once for each turn, however often the run is interrupted.

    Parameters
    ----------
    participant : RemoteParticipant
        The agent.
    folder : RunFolder
        Where its answers are kept.
    may_leave : bool
        Whether the run goes on without it when it cannot be reached.
    received : collection of str, optional
        The digests of the agent's answers, as the ledger has them; if there are none, kept answers are not compared.
    doubt : callable, optional
        Returns why an answer in a round is not believed, or an empty text if it is believed. The run goes on without
        an agent that is not believed.
    """

    def __init__(
        self,
        participant: RemoteParticipant,
        folder: RunFolder,
        may_leave: bool,
        received: Collection[str] = (),
        doubt: Callable[[Answer, int], str] = believed,
    ) -> None:
        self.name = participant.name
        self._participant = participant
        self._folder = folder
        self._may_leave = may_leave
        self._received = received
        self._doubt = doubt

    def take_turn(self, turn: Turn) -> Answer:
        """Return the agent's answer: the one that is kept, or a new one, which is kept as it came."""
        left = self._folder.left().get(self.name)
        if left is not None and turn.number >= left["turn"]:
            raise (DoubtedError if left.get("doubted") else AgentGoneError)(self.name, left["reason"])
        past = self._folder.turn(turn.number)
        if past is not None:
            return self._replay(turn, past)
        try:
            answer, content = self._participant.ask(turn)
        except UnreachableError as error:
            if not self._may_leave:
                raise
            self._folder.leave(self.name, turn.number, str(error))
            raise AgentGoneError(self.name, str(error)) from None
        reason = self._doubt(answer, turn.round)
        if reason:  # the turn is another agent's now, so that its answer is not kept
            self._folder.leave(self.name, turn.number, reason, doubted=True)
            raise DoubtedError(self.name, reason)
        whole = self._participant.whole(turn, content)
        if whole is not None:
            self._folder.write_whole_turn(turn.number, whole)
        self._folder.write_turn(turn.number, content)
        return answer

    def hear(self, contribution: Contribution, answer: Answer, step: float) -> None:
        """Keep the news of a contribution for the agent's next turn."""
        self._participant.hear(contribution, answer, step)

    def _replay(self, turn: Turn, past: bytes) -> Answer:
        if self._received and digest_of(past) not in self._received:
            raise RunError(
                f"{self._folder.path}: the record of turn {turn.number} is not an answer of {self.name!r} that the "
                f"ledger has: it was changed or damaged. {REMEDY}"
            )
        try:
            return self._participant.replay(turn, Encoded(decode(past), past))
        except ProtocolError as error:
            raise RunError(f"{self._folder.path}: the record of turn {turn.number} is damaged: {error}") from None
