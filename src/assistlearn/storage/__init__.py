"""Files that are written whole or not at all. Kept digests show whether a file has changed since."""

from assistlearn.storage.files import (
    appending,
    array_bytes,
    array_of,
    json_bytes,
    json_of,
    private_folder,
    read_json,
    replace,
    write_bytes,
    write_json,
    writing,
)

__all__ = [
    "appending",
    "array_bytes",
    "array_of",
    "json_bytes",
    "json_of",
    "private_folder",
    "read_json",
    "replace",
    "write_bytes",
    "write_json",
    "writing",
]
