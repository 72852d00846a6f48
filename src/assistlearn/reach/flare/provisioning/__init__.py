"""Who takes part in a network, the kits that its members have, and what a kit allows.

::

    network_file.py      network.toml: who takes part, where the relay is
    kit.py               a startup kit, read
    provision.py         the files of a kit, but for keys and certificates; the quick way, which makes those, too
    policy.py            what a kit lets others do at a site: run our classes, and nothing else

    signing_request.py   a member makes its keys, and asks for certificates
    admission.py         whether the authority signs a request
    authority.py         the authority's folder: sign, renew, revoke
    authority_record.py  what it has signed and revoked
    issuing.py           its key at work: certificates, lists of revoked ones
    locked_key.py        its key under a passphrase
    membership.py        what a member gets from it
    completing.py        a member completes its kit, or renews it
    revoked_list.py      the list of revoked certificates, checked and put in its place
    fingerprint.py       what is read over the telephone
    safe_files.py        files of others, read with a bound; files for their owner alone
"""
