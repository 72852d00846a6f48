"""The benchmark of reading tables in its small form: everybody reads the same rows."""

from __future__ import annotations

from bench.sources.__main__ import by_agent, by_polars, made, measure_here, put_everywhere


def test_an_agent_and_polars_read_the_same_rows_everywhere(s3, postgres):
    frame = made(2_000)
    with put_everywhere(frame, s3, postgres) as places:
        assert len(places) == 6
        for place in places.values():
            read = by_polars(place)
            assert read.sort("id").equals(frame)
        assert len({by_agent(place) for place in places.values()}) == 1
        assert measure_here("agent", places["csv"])["seconds"] < 10
