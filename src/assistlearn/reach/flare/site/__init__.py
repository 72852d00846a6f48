"""What runs at an organisation's site, and at the relay.

::

    site_process.py   a site or the relay, in the foreground
    site_lock.py      a kit runs only once at a time
    settling.py       what is written into a kit at every start
    watch.py          watches FLARE's process: whether it lives, which jobs it runs, what it leaves behind
    sign_of_life.py   what FLARE's process does to show that it lives
    signs.py          signs of life, as they travel through the pipe of the log
    health.py         what a site reports about itself, for ``site status``
    service_manager.py  what systemd is told
    log_pump.py       reads FLARE's log, even where disk or screen do not accept it
    rotating_log.py   a log of bounded size
    job_folders.py    removes what FLARE leaves of every job
    answering.py      whom the agent answers from its table; all others get an answer without it
    revocation.py     reads the list of revoked certificates; refuses and ends connections that use one
    environment.py    what a site tells its jobs' processes
    apps.py           what FLARE runs in a job: at the relay (which only starts it) and at a site
    flare_marks.py    FLARE's marks for the methods that it may call, typed
    polled_work.py    a site's agent behind short calls, so that silence is noticed and long work is not
    sealing.py        refuses what is not encrypted from end to end, and certificates in another's name
    findings.py       what a site can check before anything is shared
    certificates.py   whether a kit's certificate is valid, and belongs to its key and its network
    relay_contact.py  whether the relay answers, and what time it has
"""
