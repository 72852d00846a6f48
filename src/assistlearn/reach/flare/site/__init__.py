"""What runs at an organisation's site, and at the relay.

::

    site_process.py   a site or the relay, in the foreground
    site_lock.py      one kit runs once
    settling.py       what is written into a kit at every start
    watch.py          the eye on FLARE's process: lives it, what is it at, what does it leave
    sign_of_life.py   what FLARE's process does to show that it lives
    signs.py          signs of life, as they travel through the pipe of the log
    health.py         what a site says of itself, for ``site status``
    service_manager.py  what systemd is told
    log_pump.py       reads what FLARE says, whatever becomes of disk and screen
    rotating_log.py   a log of bounded size
    job_folders.py    what FLARE leaves of every job, removed
    answering.py      whom the agent answers: those allowed, from its table; all others at the door
    revocation.py     the list of revoked certificates, and connections of those on it refused and ended
    environment.py    what a site tells its jobs' processes
    apps.py           what FLARE runs in a job: at the relay (which only starts it) and at a site
    flare_marks.py    FLARE's marks for the methods that it may call, typed
    polled_work.py    a site's agent behind short calls, so that silence is noticed and long work is not
    sealing.py        refuses what is not encrypted from end to end, and certificates in another's name
    findings.py       what a site can know before anything is shared
    certificates.py   whether a kit's certificate is valid, and belongs to its key and its network
    relay_contact.py  whether the relay answers, and what time it has
"""
