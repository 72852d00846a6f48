"""Fingerprints of keys: short enough to read over the telephone, too long for two keys to have the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes


def fingerprint(*keys: PublicKeyTypes) -> str:
    """Return the fingerprint of one public key or of several together, in groups of four."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return grouped(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) for key in keys)


def grouped(parts: Iterable[bytes]) -> str:
    """Return the SHA-256 of some bytes in groups of four.

    >>> grouped([b"shop"])
    '8d90 01d3 2c6a 703d 9592 1a77 1150 50f3 3dd8 23d3 f173 0bd3 5215 dcbe cad6 dc20'
    """
    digits = hashlib.sha256(b"".join(parts)).hexdigest()
    return " ".join(digits[i : i + 4] for i in range(0, len(digits), 4))


def same(one: str, other: str) -> bool:
    """Return whether two fingerprints are the same, however they are written.

    >>> same("8B48:28d5", "8b48 28D5")
    True
    """
    return _digits(one) == _digits(other)


def _digits(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())
