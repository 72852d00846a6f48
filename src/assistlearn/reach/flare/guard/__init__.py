"""What a process of FLARE accepts from others, at a site and at the relay: a fixed list, and nothing else.

::

    behind_guard.py   starts a process of FLARE behind the guard
    processes.py      the kinds of processes, and how each is started
    cell_names.py     what a cell is called: a site, a job at a site, an admin's session
    lists.py          which topics each kind of process accepts, and from whom
    envelope.py       the headers of a message, read before its content
    judging.py        whether a message is accepted
    job_requests.py   whether a request to run a job is for our job, and for nothing else
    decoding.py       which types a content may hold
    refusals.py       writes down what was refused, but never so much that it fills a disk
    installing.py     installs all of that in front of FLARE's own code
    unix_driver.py    a site's parent and its jobs talk over a socket that only their user can reach
    orphans.py        ends a process whose parent is gone
    launching.py      starts the process of a job behind the guard, too
"""
