"""A private key under a passphrase: PKCS #8, with a password that scrypt derives from the passphrase.

PKCS #8 as libraries write it stretches its password 2,048 times, and PKCS #12 lets guesses be tried against a cheap
checksum. Here a guess costs some tenths of a second and 128 MiB of memory.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from assistlearn.errors import NetworkError, SettingsError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

COST, BLOCK = 1 << 17, 8
"""The cost of scrypt, and the size of its blocks."""

_HEADER = re.compile(rb"scrypt n=(\d{1,7}) r=(\d{1,2}) salt=([0-9a-f]{32})\n")


def locked(key: RSAPrivateKey, passphrase: str) -> bytes:
    """Return a key under a passphrase: a line with the values for scrypt, then the encrypted key in PEM."""
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

    salt = os.urandom(16)
    password = _password(passphrase, salt, COST, BLOCK)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password))
    return f"scrypt n={COST} r={BLOCK} salt={salt.hex()}\n".encode() + pem


def unlocked(content: bytes, passphrase: str, where: object) -> RSAPrivateKey:
    """Return the key that :func:`locked` has put under a passphrase.

    Parameters
    ----------
    content : bytes
        What :func:`locked` has returned.
    passphrase : str
        The passphrase.
    where : object
        Where the key is, for error messages.
    """
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    header = _HEADER.match(content)
    if header is None:
        raise NetworkError(f"{where} is not an authority's key: it begins in another way. Use a backup of it.")
    password = _password(passphrase, bytes.fromhex(header[3].decode()), int(header[1]), int(header[2]))
    try:
        key = load_pem_private_key(content[header.end() :], password)
    except ValueError:
        raise SettingsError(f"The passphrase does not open {where}.") from None
    assert isinstance(key, RSAPrivateKey)
    return key


def _password(passphrase: str, salt: bytes, cost: int, block: int) -> bytes:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return Scrypt(salt=salt, length=32, n=cost, r=block, p=1).derive(passphrase.encode()).hex().encode()
