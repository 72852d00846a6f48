"""Every error that assistlearn raises on purpose, in one tree.

Each says what is wrong, where (agent, column, round, file), and what to do. All of them are also the built-in error
that scikit-learn's users expect (``ValueError``, mostly), so that existing ``except`` clauses keep working.
"""

from __future__ import annotations


class AssistLearnError(Exception):
    """The root of the tree: catch this to catch them all."""


class SettingsError(AssistLearnError, ValueError):
    """A parameter has a value it cannot have."""


class ColumnsError(AssistLearnError, ValueError):
    """An agent's columns are unknown, empty or ambiguous."""


class LearnerError(AssistLearnError, ValueError):
    """An agent's private estimator failed, or answered something that cannot be used."""


class LearnerTypeError(LearnerError, TypeError):
    """The same, where the estimator itself raised a ``TypeError``."""


class UntrustedFileError(AssistLearnError, ValueError):
    """A saved model holds types that nobody has said to trust."""


class AssistLearnWarning(UserWarning):
    """Something works, but probably not as the user hopes."""
