"""The fixtures of agents' files: a table is read through one."""

from tests.agent.conftest import fate, write_agent

__all__ = ["fate", "write_agent"]
