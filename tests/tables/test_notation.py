"""Dates and decimal numbers in the notation that the agent's file names; what it does not name is never guessed."""

from __future__ import annotations

import datetime as dt
import re

import polars as pl
import pytest

from assistlearn.agent.loading import describe, load_agent
from assistlearn.errors import AssistLearnError, ColumnsError, DescriptionError, TableError

DAYS = [dt.date(1945, 2, 28), dt.date(2000, 2, 29), dt.date(2031, 12, 1), None]
HEIGHTS = [1.82, 1751.5, -0.004, None]
WHOLE = [1, 2, 3, 4]
IDS = ["a", "b", "c", "d"]
FORMS = {
    "dd.mm.yyyy": "%d.%m.%Y",
    "mm/dd/yyyy": "%m/%d/%Y",
    "dd-mm-yyyy": "%d-%m-%Y",
    "yyyy/mm/dd": "%Y/%m/%d",
    "yyyymmdd": "%Y%m%d",
}


def frame(form="%Y-%m-%d", comma="."):
    heights = [None if each is None else f"{each}".replace(".", comma) for each in HEIGHTS]
    days = [None if each is None else each.strftime(form) for each in DAYS]
    return pl.DataFrame({"id": IDS, "born": days, "height": heights, "n": [str(n) for n in WHOLE]})


@pytest.fixture
def written(write_agent, tmp_path):
    """Write a frame of text to a place of each kind, and return the agent of it."""

    def write(where, made, preprocessing):
        more = f"[preprocessing]\n{preprocessing}\n" if preprocessing else ""
        if where == "csv":
            return write_agent(made.write_csv(separator=";"), more, separator='";"')
        made.write_parquet(tmp_path / "lab.parquet")
        if where == "parquet":
            return write_agent("", more, table='"lab.parquet"')
        return write_agent("", more, table=None, query="\"from 'lab.parquet' order by id\"")

    return write


def features(agent):
    return load_agent(agent).table.features


@pytest.mark.parametrize("where", ["csv", "parquet", "query"])
@pytest.mark.parametrize("form", FORMS)
def test_dates_in_the_form_that_the_file_names_are_the_days_of_iso_dates(written, where, form):
    read = features(written(where, frame(FORMS[form]), f'dates = {{ born = "{form}" }}'))
    days = [None if each is None else float((each - dt.date(1970, 1, 1)).days) for each in DAYS]
    assert read["born"].to_list() == days


@pytest.mark.parametrize("where", ["csv", "parquet"])
def test_one_form_is_read_in_every_column_that_holds_dates_so_written_and_in_no_other(written, where):
    made = frame("%d.%m.%Y").with_columns(pl.col("born").alias("died"), town=pl.lit("Ulm"))
    schema = load_agent(written(where, made, 'dates = "dd.mm.yyyy"')).table.schema
    kinds = {column.name: str(column.kind) for column in schema.columns}
    assert (kinds["born"], kinds["died"], kinds["town"]) == ("date", "date", "category")


def test_a_time_of_day_is_a_part_of_a_day(written):
    made = pl.DataFrame({"id": IDS[:2], "seen": ["31/12/1970 18:00", "1/1/1970 6:00"]})
    read = features(written("csv", made, 'dates = { seen = "dd/mm/yyyy hh:mm" }'))
    assert read["seen"].to_list() == [364.75, 0.25]


@pytest.mark.parametrize("where", ["csv", "parquet", "query"])
def test_numbers_with_a_decimal_comma_are_those_with_a_point(written, where):
    assert features(written(where, frame(comma=","), 'decimal = ","'))["height"].to_list() == HEIGHTS


def test_a_table_with_commas_is_in_every_digest_and_every_bit_the_table_with_points(written):
    plain, other = (load_agent(written("csv", *made)).table for made in (
        (frame(), ""), (frame("%d.%m.%Y", ","), 'decimal = ","\ndates = "dd.mm.yyyy"'),
    ))  # fmt: skip
    assert other.fingerprint == plain.fingerprint
    assert other.schema == plain.schema


def test_thousands_set_apart_by_points_are_read_only_where_they_can_mean_nothing_else(written):
    sums = ["1.234,50", "1.234.567", "12", "0,5"]
    made = pl.DataFrame({"id": IDS, "sum": sums})
    assert features(written("csv", made, 'decimal = ","'))["sum"].to_list() == [1234.5, 1234567.0, 12.0, 0.5]
    doubtful = made.with_columns(sum=pl.Series([*sums[:3], "1.500"]))
    with pytest.raises(TableError, match=r"lab.csv: column 'sum', row 4: '1\.500' is no number with a decimal comma"):
        features(written("csv", doubtful, 'decimal = ","'))


def test_numbers_with_points_in_a_file_that_says_comma_are_refused(written):
    made = pl.DataFrame({"id": IDS, "sum": ["1.5", "2.5", "3.5", "4"]})
    with pytest.raises(TableError, match=r"column 'sum', row 1: '1\.5' is no number with a decimal comma.* and 2 more"):
        features(written("csv", made, 'decimal = ","'))


def test_weights_with_a_decimal_comma_are_numbers(write_agent):
    table = "id;x;y;w\na;1,5;1;0,5\nb;2,5;0;2\n"
    agent = write_agent(table, '[preprocessing]\ndecimal = ","\n', separator='";"', label='"y"', weight='"w"')
    assert load_agent(agent).table.weights.to_list() == [0.5, 2.0]


@pytest.mark.parametrize(
    ("cell", "where"), [("31.02.2000", "csv"), ("2000-02-03", "csv"), ("02/03/2000", "parquet"), ("03.04.45", "csv")]
)
def test_a_cell_that_is_no_such_date_is_named_with_file_column_and_row(written, cell, where):
    made = frame("%d.%m.%Y").with_columns(born=pl.Series(["03.04.2000", "05.06.2000", cell, None]))
    for setting in ('"dd.mm.yyyy"', '{ born = "dd.mm.yyyy" }'):
        with pytest.raises(
            TableError, match=rf"lab.*: column 'born', row 3: '{cell}' is no date of the form dd.mm.yyyy"
        ):
            features(written(where, made, f"dates = {setting}"))


def test_rows_for_prediction_are_read_in_the_same_way_and_misfits_are_refused(written):
    trained = load_agent(written("csv", frame("%d.%m.%Y", ","), 'decimal = ","\ndates = "dd.mm.yyyy"')).table
    few = pl.DataFrame({"id": ["e"], "born": ["01.01.1970"], "height": ["2"], "n": ["7"]})
    agent = written("csv", few, 'decimal = ","\ndates = "dd.mm.yyyy"')
    assert load_agent(agent, schema=trained.schema).table.features.row(0) == (0.0, 2.0, 7.0)
    wrong = few.with_columns(born=pl.lit("1970-01-01"), height=pl.lit("2.5"))
    agent = written("csv", wrong, 'decimal = ","\ndates = "dd.mm.yyyy"')
    with pytest.raises(AssistLearnError) as caught:
        load_agent(agent, schema=trained.schema)
    assert ["born" in str(each) for each in (caught.value, *caught.value.others)] == [True, False]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ('dates = "dd.mm.yy"', "Years need four digits"),
        ('dates = "dd.mm.mm"', "is not known"),
        ('dates = "yyyymmdd"', "Name the columns"),
        ('dates = { born = "day" }', "column 'born'"),
        ("dates = 3", "must be a text"),
        ('decimal = ";"', "Choose one of ',', '.'"),
    ],
)
def test_a_notation_that_is_none_is_refused_with_the_line(written, setting, said):
    agent = written("csv", frame(), setting)
    with pytest.raises(DescriptionError, match=r"lab\.toml, line \d+: ") as caught:
        load_agent(agent)
    assert said in str(caught.value)


def test_a_form_for_a_column_that_is_not_there_is_refused(written):
    with pytest.raises(ColumnsError, match=r"no feature 'borne'.* Did you mean 'born'\?"):
        load_agent(written("csv", frame(), 'dates = { borne = "dd.mm.yyyy" }'))


def test_a_column_of_decimal_commas_is_refused_with_the_line_that_mends_it(written):
    with pytest.raises(TableError, match=r'If the comma is a decimal sign, add .* \[preprocessing\]: decimal = ","'):
        load_agent(written("csv", frame(comma=","), ""))


def notes(agent):
    return " ".join(describe(load_agent(agent), dt.datetime.now(dt.UTC))["notes"])


@pytest.mark.parametrize("where", ["csv", "parquet"])
@pytest.mark.parametrize("form", ["dd.mm.yyyy", "mm/dd/yyyy", "dd-mm-yyyy", "yyyy/mm/dd"])
def test_check_says_which_text_holds_dates_and_its_line_makes_them_dates(written, where, form):
    made = frame(FORMS[form])
    said = notes(written(where, made, ""))
    line = re.search(r"add under \[preprocessing\]: (dates = \{.*?\})", said)[1]
    assert f"'born' ('{made['born'][0]}')" in said
    assert features(written(where, made, line))["born"].to_list()[0] == -9073.0
    assert "Dates, read as text" not in notes(written(where, made, line))


def test_what_the_first_number_means_is_never_guessed(written):
    made = pl.DataFrame({"id": IDS, "seen": ["03/04/2020", "11/12/2020", "01/01/2021", "05/06/2021"]})
    agent = written("csv", made, "")
    assert features(agent)["seen"].to_list() == made["seen"].to_list()
    said = notes(agent)
    assert 'dates = { seen = "dd/mm/yyyy" or "mm/dd/yyyy" }' in said
    assert "In 'seen' the day or the month may come first: choose." in said


def test_dates_in_several_forms_or_with_short_years_are_said_to_have_no_line(written):
    made = pl.DataFrame({"id": IDS, "a": ["31/01/2020", "01/31/2020"] * 2, "b": ["1.2.45", "13.2.45"] * 2})
    said = notes(written("csv", made, ""))
    assert "no one form with four digits for the year: 'a' ('31/01/2020'), 'b' ('1.2.45')" in said


def test_check_says_which_text_of_a_typed_table_holds_decimal_commas(written):
    said = notes(written("parquet", frame(comma=","), ""))
    assert "Numbers with decimal commas, read as text: 'height' ('1,82')" in said
    assert "decimal" not in notes(written("parquet", frame(comma=","), 'decimal = ","'))


@pytest.mark.parametrize("column", [["1.2.3", "1.2.4"], ["Ulm, 3", "Bern, 4"], ["12-34", "56-78"], ["3,4-D", "2,4-D"]])
def test_other_text_is_not_taken_for_dates_or_numbers(written, column):
    assert notes(written("csv", pl.DataFrame({"id": IDS, "x": column * 2, "z": [1.5, 2.5, 2.5, 4.0]}), "")) == ""


def test_codes_are_left_alone(written):
    made = pl.DataFrame({"id": IDS, "code": ["12.03.2020", "13.03.2020"] * 2})
    assert notes(written("csv", made, 'as_category = ["code"]')) == ""
