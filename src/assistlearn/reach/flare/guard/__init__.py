"""What a process of FLARE takes from others, at a site and at the relay: a fixed list, and nothing else.

::

    behind_guard.py   starts a process of FLARE behind the guard
    processes.py      the kinds of processes, and how each is started
    cell_names.py     what a cell is called: a site, a job at a site, an admin's session
    lists.py          which topics each kind of process takes, and from whom
    envelope.py       what is written on a message, read before its content is
    judging.py        whether a message is taken
    job_requests.py   whether a request to run a job is one for our job, and nothing beside it
    decoding.py       which types a content may hold
    refusals.py       what was refused: in the log and in the agent's ledger, never so much that it fills a disk
    installing.py     puts all of that before FLARE's own doors
    unix_driver.py    a site's parent and its jobs talk over a socket that only their user can reach
    orphans.py        ends a process whose parent is gone
    launching.py      starts the process of a job behind the guard, too
"""
