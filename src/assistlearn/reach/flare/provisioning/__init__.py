"""Who takes part in a network, the kits that its members get, and what a kit allows.

::

    network_file.py  network.toml: who takes part, where the relay is
    provision.py     makes one startup kit per organisation, one for the relay, one for the initiator's admin
    policy.py        what a kit lets others do at a site: run our classes, and nothing else
    kit.py           a startup kit, read
"""
