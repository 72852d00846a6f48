"""Files that are written whole or not at all. Kept digests show whether a file has changed since."""

from assistlearn.storage.whole_files import (
    array_bytes,
    array_of,
    json_bytes,
    json_of,
    read_json,
    write_bytes,
    write_json,
    writing,
)

__all__ = ["array_bytes", "array_of", "json_bytes", "json_of", "read_json", "write_bytes", "write_json", "writing"]
