"""Tensors of the Open Inference Protocol, in JSON and in its binary form."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Datatype = Literal["BYTES", "FP64", "BOOL"]

_LENGTH = struct.Struct("<I")


def packed_texts(texts: Sequence[str]) -> bytes:
    """Return texts as the elements of a BYTES tensor: each has its length in four bytes before it.

    >>> packed_texts(["ab", ""]).hex(" ", -4)
    '02000000 61620000 0000'
    """
    contents = [text.encode() for text in texts]
    return b"".join(_LENGTH.pack(len(content)) + content for content in contents)


def unpacked_texts(data: bytes) -> list[str]:
    """Return the elements of a BYTES tensor as texts.

    >>> unpacked_texts(packed_texts(["ab", ""]))
    ['ab', '']

    Raises
    ------
    ValueError
        The bytes are no such tensor, or an element is no text in UTF-8.
    """
    texts: list[str] = []
    place = 0
    while place < len(data):
        if place + _LENGTH.size > len(data):
            raise ValueError(f"element {len(texts)} has no length before it")
        (length,) = _LENGTH.unpack_from(data, place)
        place += _LENGTH.size
        if place + length > len(data):
            raise ValueError(f"element {len(texts)} says that it has {length:,} bytes; {len(data) - place:,} are left")
        try:
            texts.append(data[place : place + length].decode())
        except UnicodeDecodeError:
            raise ValueError(f"element {len(texts)} is not text in UTF-8") from None
        place += length
    return texts


def tensor(name: str, values: Sequence[str] | NDArray[Any], binary: bool) -> tuple[dict[str, Any], bytes]:
    """Return a tensor as an output of a response, and its bytes where it is binary.

    Parameters
    ----------
    name : str
        What the output is called.
    values : sequence of str, or ndarray of float or bool
        Its elements.
    binary : bool
        Whether its elements go behind the JSON.
    """
    if isinstance(values, np.ndarray):
        datatype: Datatype = "BOOL" if values.dtype == np.bool_ else "FP64"
        shape, flat = list(values.shape), values.ravel().tolist()
        packed = values.astype("?" if datatype == "BOOL" else "<f8").tobytes()
    else:
        datatype, shape, flat, packed = "BYTES", [len(values)], list(values), packed_texts(values)
    described: dict[str, Any] = {"name": name, "datatype": datatype, "shape": shape}
    if binary:
        return described | {"parameters": {"binary_data_size": len(packed)}}, packed
    return described | {"data": flat}, b""
