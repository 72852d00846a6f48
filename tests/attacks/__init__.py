"""Attacks: what a dishonest party tries, and what stops it; every one is really tried.

An attack is a test with a line about itself (:func:`tests.attacks.attack.attack`). The table in
``README.md`` beside this file is made of these lines::

    python -m tests.attacks.page
"""
