"""The same session between organisations, each on its own machine, on NVIDIA FLARE.

::

    description.py   network.toml: who takes part, where the relay is
    provision.py     makes one startup kit per organisation, one for the relay, one for the initiator's admin
    policy.py        what a kit lets others do at a site: run our classes, and nothing else
    kit.py           a startup kit, read
    flare.py         whether FLARE is installed, in the version that this was written for
    site.py          a site or the relay, in the foreground
    check.py         what a site can know before anything is shared
    apps.py          what FLARE runs in a job: at the relay (which only starts it) and at a site
    environment.py   what a site tells its jobs' processes
    sealing.py       refuses what is not encrypted from end to end, and certificates in another's name
    counter.py       a site's desk behind short calls, so that silence is noticed and long work is not
    asking.py        short calls to another site, until the answer is there
    pieces.py        large requests and answers, in pieces
    local_line.py    from the command at the initiator to its site's job
    job.py           a job: which of our classes to run, no code
    control.py       jobs: submitted, watched, ended
    transport.py     the transport: an agent's name and bytes in, bytes out
    task.py          task.toml: what to train, with whom
    runs.py          runs over a network: created, trained, opened again
    local.py         a relay and sites on this machine, for demos, tests and benchmarks

All that knows FLARE is in here; the rest of assistlearn sees a :class:`~assistlearn.protocol.Transport`.
"""
