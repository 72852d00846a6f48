"""What runs at an organisation's site, and at the relay.

::

    site_process.py   a site or the relay, in the foreground
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
