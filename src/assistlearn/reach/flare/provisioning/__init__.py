"""Who takes part in a network, the kits that its members have, and what a kit allows.

::

    network_file.py      network.toml: who takes part, where the relay is
    kit.py               reads a startup kit
    provision.py         the files of a kit without keys and certificates; also the quick way, which makes all of them
    policy.py            what a kit lets others do at a site: run our classes, and nothing else

    signing_request.py   a member makes its keys, and asks for certificates
    admission.py         whether the authority signs a request
    authority.py         the authority's folder: sign, renew, revoke
    authority_record.py  what it has signed and revoked
    issuing.py           signs with its key: certificates, lists of revoked ones
    locked_key.py        its key under a passphrase
    membership.py        what a member gets from it
    completing.py        a member completes its kit, or renews it
    revoked_list.py      the list of revoked certificates, checked and put in its place
    fingerprint.py       short digests of keys, to compare over the telephone
    safe_files.py        reads files of others up to a limit
"""
