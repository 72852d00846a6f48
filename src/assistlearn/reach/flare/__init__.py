"""Runs between organisations, each on its own machine, over NVIDIA FLARE.

::

    provisioning/   who takes part, the startup kits of all, and what a kit allows
    site/           what runs at an organisation's site and at the relay: FLARE's process, our part of a job, checks
    guard/          what each process of FLARE accepts from others, and how it is started
    carrying/       how a message of the initiator gets to another site and back: transport, jobs, the command's socket
    task_file.py    task.toml: what to train, with whom
    reach_flare.py  runs over a network: created, and opened to train, to predict or to forget
    local.py        a relay and sites on this machine, for demos, tests and benchmarks
    installed.py    whether FLARE is installed, in the version that this was written for

Only this folder uses FLARE; the rest of assistlearn sees a :class:`~assistlearn.protocol.Transport`.
"""
