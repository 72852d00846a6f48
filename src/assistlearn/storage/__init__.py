"""Files that are whole or not there, and, where their digests are kept, are known to be what was written."""

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
