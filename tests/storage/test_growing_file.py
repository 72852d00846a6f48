"""A file that others append to is read once and in order: in pieces, over torn lines, anew when it is another."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from assistlearn.storage import GrowingFile

LINES = st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"\r")), max_size=12)


@given(
    lines=LINES,
    torn=st.binary(max_size=9).map(lambda t: t.replace(b"\n", b"")),
    piece=st.integers(1, 20),
    data=st.data(),
)
def test_whatever_is_appended_in_whatever_bits_is_read_once_and_in_order(tmp_path_factory, lines, torn, piece, data):
    path = tmp_path_factory.mktemp("log") / "lines"
    content = b"".join(line + b"\n" for line in lines) + torn
    file, read, written = GrowingFile(path, piece), [], 0
    while written < len(content):
        more = data.draw(st.integers(1, len(content) - written))
        with path.open("ab") as out:
            out.write(content[written : written + more])
        written += more
        read += file.lines()
    while more := file.lines():
        read += more
    assert [line for _, line in read] == lines
    assert [content[:place] for place, _ in read] == [
        b"".join(line + b"\n" for line in lines[: n + 1]) for n in range(len(lines))
    ]
    assert file.number == len(lines)


def test_a_torn_line_gives_its_place_to_the_next(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"first\ntor")
    file = GrowingFile(path)
    assert file.lines() == [(6, b"first")]
    path.write_bytes(b"first\nsecond\n")  # what a writer makes of it: cut, then appended
    assert file.lines() == [(13, b"second")]
    assert file.generation == 0


def test_a_file_that_is_not_there_has_no_lines_yet(tmp_path):
    file = GrowingFile(tmp_path / "lines")
    assert (file.lines(), file.missing) == ([], True)
    (tmp_path / "lines").write_bytes(b"first\n")
    assert (file.lines(), file.missing) == ([(6, b"first")], False)
    (tmp_path / "lines").unlink()
    assert (file.lines(), file.missing, file.generation) == ([], True, 0)


def test_another_file_in_its_place_is_read_from_its_start(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes(b"first\nsecond\n")
    file = GrowingFile(path)
    file.lines()
    path.write_bytes(b"other\nsecond\nthird\n")  # longer than what was read
    assert [line for _, line in file.lines()] == [b"other", b"second", b"third"]
    path.write_bytes(b"other\n")  # the same start, but shorter
    assert [line for _, line in file.lines()] == [b"other"]
    assert (file.generation, file.number, file.place) == (2, 1, 6)


def test_a_long_file_needs_no_more_memory_than_a_piece(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes((b"x" * 99 + b"\n") * 100_000)
    file, n = GrowingFile(path), 0
    tracemalloc.start()
    while lines := file.lines():
        n += len(lines)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n == 100_000
    assert most < 8_000_000
