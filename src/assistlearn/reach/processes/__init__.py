"""Agents on this machine, each in a process of its own."""
