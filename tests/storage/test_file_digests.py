"""The digests beside files: a crash while one is noted leaves the others, and none under a wrong name."""

from __future__ import annotations

import pytest

from assistlearn.errors import RunError
from assistlearn.storage import DIGESTS, FileDigests, digest_of

LINE = f"{digest_of(b'new')}  turns/000002/reply.msg\n"


@pytest.mark.parametrize("length", [0, 10, 65, *range(66, len(LINE), 4), len(LINE) - 1])
def test_a_line_that_a_crash_cut_short_counts_for_no_file_at_all(tmp_path, length):
    kept, turn = tmp_path / "kept.json", tmp_path / "turns" / "000002" / "reply.msg"
    FileDigests(tmp_path).write({kept: b"kept"})
    with (tmp_path / DIGESTS).open("a") as file:
        file.write(LINE[:length])
    names = [tmp_path / LINE[66:end] for end in range(67, len(LINE))]
    files = FileDigests(tmp_path)
    assert not any(map(files.noted, names))
    assert files.read(kept) == b"kept"
    later = tmp_path / "later.json"
    files.write({later: b"later"})
    for reader in (files, FileDigests(tmp_path)):
        assert not any(map(reader.noted, names))
        assert (reader.read(kept), reader.read(later)) == (b"kept", b"later")
        assert reader.noted(later)
    files.write({turn: b"new"})
    assert (tmp_path / DIGESTS).read_text().splitlines(keepends=True)[-1] == LINE


def test_a_line_that_takes_the_place_of_a_cut_one_of_the_same_length_is_seen(tmp_path):
    files, short, long = FileDigests(tmp_path), tmp_path / "a", tmp_path / "a-name"
    (tmp_path / DIGESTS).write_text(f"{digest_of(b'1')}  {long.name}"[:-4])
    assert not files.noted(short)
    assert (tmp_path / DIGESTS).stat().st_size == len(f"{digest_of(b'2')}  {short.name}\n")
    files.write({short: b"2"})
    assert files.noted(short)
    short.write_bytes(b"3")
    with pytest.raises(RunError, match="is not what was written"):
        files.read(short)
