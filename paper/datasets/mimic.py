"""MIMIC-III: predict who stays long, from 16 variables of an adult's first 24 hours in intensive care."""

from __future__ import annotations

import csv
import gzip
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from assistlearn.errors import MissingExtraError, SettingsError
from assistlearn.extras import install_line
from assistlearn.types import Floats
from paper.datasets.dataset import Array, DataSet
from paper.datasets.sources import (
    DATA_VARIABLE,
    CorruptDataError,
    MissingDataError,
    PathName,
    check_listed,
    data_folder,
)

if TYPE_CHECKING:
    import duckdb


class Unit(StrEnum):
    """How a recorded value becomes the value of its variable."""

    SAME = "as recorded"
    TEMPERATURE = "degrees Fahrenheit above 50, degrees Celsius below"
    POUNDS = "pounds to kilograms"
    INCHES = "inches to centimetres"
    FRACTION = "per cent above 1, a fraction below"
    REFILL = "normal 0, abnormal 1, from the words"


READING = {
    Unit.SAME: "number",
    Unit.TEMPERATURE: "CASE WHEN number > 50 THEN (number - 32) / 1.8 ELSE number END",
    Unit.POUNDS: "number * 0.45359237",
    Unit.INCHES: "number * 2.54",
    Unit.FRACTION: "CASE WHEN number > 1 THEN number / 100 ELSE number END",
    Unit.REFILL: (
        "CASE WHEN words LIKE 'normal%' OR words LIKE 'brisk%' THEN 0 "
        "WHEN words LIKE 'abnormal%' OR words LIKE 'delayed%' THEN 1 END"
    ),
}
"""The units in SQL: ``number`` is the recorded number, ``words`` the recorded text in small letters."""


@dataclass(frozen=True)
class Variable:
    """A clinical variable, and the items of a table of MIMIC-III that mean it.

    Values outside ``low`` and ``high`` are errors of measurement or typing and are left out; both bounds are allowed.
    """

    name: str
    table: Literal["labevents", "chartevents"]
    items: dict[int, Unit]
    low: float
    high: float


def _same(*items: int) -> dict[int, Unit]:
    return dict.fromkeys(items, Unit.SAME)


CAPILLARY_REFILL = "capillary refill"
"""The variable that is left out where there are 15: hardly anyone records it."""

VARIABLES = (
    Variable("glucose [mg/dL]", "labevents", _same(50809, 50931), 10, 2000),
    Variable("pH", "labevents", _same(50820), 6.5, 8.0),
    Variable("inspired oxygen", "labevents", {50816: Unit.FRACTION}, 0.2, 1.0),
    Variable("heart rate [1/min]", "chartevents", _same(211, 220045), 10, 300),
    Variable(
        "systolic pressure [mmHg]",
        "chartevents",
        _same(51, 442, 455, 6701, 220050, 220179, 224167, 225309, 227243),
        20,
        300,
    ),
    Variable(
        "diastolic pressure [mmHg]",
        "chartevents",
        _same(8368, 8440, 8441, 8555, 220051, 220180, 224643, 225310, 227242),
        5,
        225,
    ),
    Variable(
        "mean pressure [mmHg]",
        "chartevents",
        _same(52, 443, 456, 6702, 220052, 220181, 225312),
        10,
        250,
    ),
    Variable("respiratory rate [1/min]", "chartevents", _same(615, 618, 220210, 224690), 1, 80),
    Variable("oxygen saturation [%]", "chartevents", _same(646, 220277), 10, 100),
    Variable(
        "temperature [C]",
        "chartevents",
        dict.fromkeys((676, 678, 223761, 223762), Unit.TEMPERATURE),
        25,
        45,
    ),
    Variable("coma scale, eyes", "chartevents", _same(184, 220739), 1, 4),
    Variable("coma scale, motor", "chartevents", _same(454, 223901), 1, 6),
    Variable("coma scale, verbal", "chartevents", _same(723, 223900), 1, 5),
    Variable(
        "weight [kg]",
        "chartevents",
        _same(762, 763, 224639, 226512) | {226531: Unit.POUNDS},
        20,
        350,
    ),
    Variable(
        "height [cm]",
        "chartevents",
        dict.fromkeys((920, 1394, 226707), Unit.INCHES) | {226730: Unit.SAME},
        100,
        250,
    ),
    Variable(
        CAPILLARY_REFILL,
        "chartevents",
        dict.fromkeys((115, 3348, 8377, 223951, 224308), Unit.REFILL),
        0,
        1,
    ),
)


AGENTS = {"labevents": "lab", "chartevents": "bedside"}
CITATION = (
    "A. E. W. Johnson, T. J. Pollard, L. Shen, L. H. Lehman, M. Feng, M. Ghassemi, B. Moody, P. Szolovits, L. A. Celi, "
    "R. G. Mark: MIMIC-III, a freely accessible critical care database. Scientific Data 3, 160035, 2016."
)


def mimic_long_stay(
    *,
    data: PathName | None = None,
    demo: bool = False,
    stay: Literal["icu", "hospital"] = "icu",
    n_variables: Literal[15, 16] = 16,
    n_patients: int | None = None,
    random_state: int = 0,
    min_age: int = 18,
    min_hours: float = 0.0,
    memory: str = "2GB",
    threads: int | None = None,
    verbose: bool = False,
) -> DataSet:
    """Make the long-stay problem from the CSV files of MIMIC-III (the paper's Figure 3b).

    A sample is an adult's first stay in intensive care. Its label says whether the stay lasts more than 7 days. Its
    features are the means of 16 clinical variables over the first 24 hours. ``paper/datasets/MIMIC.md`` has
    the details.

    Parameters
    ----------
    data : path, default=None
        The data folder, with the CSV files in ``mimiciii`` (with ``demo=True``, in ``mimiciii_demo``) inside it or in
        itself; by default what ``ASSISTLEARN_DATA`` says. The files may be compressed (``.csv.gz``) or not. Nothing is
        downloaded: every person must ask PhysioNet for access to MIMIC-III.
    demo : bool, default=False
        Use the open demo of 100 patients.
    stay : {"icu", "hospital"}, default="icu"
        Which stay must last more than 7 days: the one in intensive care, or the whole one in hospital.
    n_variables : {15, 16}, default=16
        15 leaves out the capillary refill, so that the agents know 3 and 12, as the paper says.
    n_patients : int, default=None
        How many patients to draw at random (the paper uses 15,000); by default all.
    random_state : int, default=0
        The seed of that draw.
    min_age : int, default=18
        The age in years from which a patient counts as an adult.
    min_hours : float, default=0.0
        Leave out stays in intensive care that are shorter than this: 24 keeps those whose first 24 hours are complete.
    memory : str, default="2GB"
        How much memory DuckDB may use.
    threads : int, default=None
        How many threads DuckDB may use; by default one for each core.
    verbose : bool, default=False
        Show progress bars. The full CHARTEVENTS has 330 million rows and takes minutes.

    Returns
    -------
    data : DataSet
        Agent "lab" knows the 3 variables from LABEVENTS, agent "bedside" the 13 (or 12) from CHARTEVENTS. Labels are 1
        for more than 7 days and 0 otherwise; ids are MIMIC's ICUSTAY_ID. What was not measured is NaN.

    Examples
    --------
    >>> mimic_long_stay(demo=True)
    <DataSet 'mimic_long_stay': 99 samples, 16 features, 2 classes; lab 3 + bedside 13>
    """
    if stay not in ("icu", "hospital"):
        raise SettingsError(f"stay is 'icu' or 'hospital', not {stay!r}.")
    if n_variables not in (15, 16):
        raise SettingsError(f"n_variables is 15 or 16, not {n_variables!r}.")
    variables = tuple(v for v in VARIABLES if n_variables == 16 or v.name != CAPILLARY_REFILL)
    folder = _folder(data, demo)
    with (
        tempfile.TemporaryDirectory(prefix="assistlearn-") as spill,
        closing(Engine(folder, memory, threads, spill, verbose)) as engine,
    ):
        ids, labels = _stays(engine, stay, min_age, min_hours)
        features = np.hstack([_means(engine, table, variables, ids) for table in AGENTS])
    if n_patients is not None:
        if not 0 < n_patients <= len(ids):
            raise SettingsError(f"n_patients={n_patients} cannot be drawn: there are {len(ids)} patients.")
        rows = np.sort(np.random.default_rng(random_state).choice(len(ids), n_patients, replace=False))
        ids, labels, features = ids[rows], labels[rows], features[rows]
    return DataSet(
        name="mimic_long_stay",
        features=features,
        labels=labels,
        ids=ids,
        feature_names=tuple(v.name for v in variables),
        agents={agent: tuple(v.name for v in variables if v.table == table) for table, agent in AGENTS.items()},
        class_names={0: "at most 7 days", 1: "more than 7 days"},
        citation=CITATION,
        licence="ODbL 1.0 (demo)" if demo else "PhysioNet Credentialed Health Data License 1.5.0",
    )


def _folder(data: PathName | None, demo: bool) -> Path:
    name = "mimiciii_demo" if demo else "mimiciii"
    folder = data_folder(data)
    if folder is None:
        raise MissingDataError(
            f"No data folder was named, and MIMIC-III cannot be downloaded for you. Get it from {GET}. Put its CSV "
            f"files into a folder {name!r}, and name the folder above it (data=, or the environment variable "
            f"{DATA_VARIABLE})."
        )
    for place in (folder / name, folder):
        if place.is_dir() and any(path.name.lower().startswith("icustays.csv") for path in place.iterdir()):
            return place
    raise MissingDataError(
        f"ICUSTAYS.csv or ICUSTAYS.csv.gz was not found. Looked for it in {folder / name} and {folder}. Get the CSV "
        f"files from {GET}, and put them there."
    )


def _stays(engine: Engine, stay: str, min_age: int, min_hours: float) -> tuple[Array, Array]:
    engine.read(
        "icustays",
        ("subject_id", "hadm_id", "icustay_id", "intime", "outtime"),
        """
        CREATE TABLE firsts AS
        SELECT subject_id::BIGINT AS subject_id, hadm_id::BIGINT AS hadm_id, icustay_id::BIGINT AS icustay_id,
               intime::TIMESTAMP AS intime, outtime::TIMESTAMP AS outtime
        FROM {table}
        QUALIFY row_number() OVER (PARTITION BY subject_id::BIGINT ORDER BY intime::TIMESTAMP, icustay_id::BIGINT) = 1
        """,
    )
    engine.read(
        "patients",
        ("subject_id", "dob"),
        "CREATE TABLE births AS SELECT subject_id::BIGINT AS subject_id, dob::TIMESTAMP AS dob FROM {table}",
    )
    begin, end = "intime", "outtime"
    if stay == "hospital":
        begin, end = "admittime", "dischtime"
        engine.read(
            "admissions",
            ("hadm_id", "admittime", "dischtime"),
            """
            CREATE TABLE admitted AS
            SELECT hadm_id::BIGINT AS hadm_id, admittime::TIMESTAMP AS admittime, dischtime::TIMESTAMP AS dischtime
            FROM {table}
            """,
        )
        engine.execute(
            "CREATE TABLE lasting AS FROM firsts JOIN births USING (subject_id) JOIN admitted USING (hadm_id)"
        )
    else:
        engine.execute("CREATE TABLE lasting AS FROM firsts JOIN births USING (subject_id)")
    engine.execute(
        f"""
        CREATE TABLE stays AS
        SELECT subject_id, icustay_id, intime, least(intime + INTERVAL 24 HOUR, outtime) AS until,
               date_diff('second', {begin}, {end}) > 7 * 86400 AS long
        FROM lasting
        WHERE dob + to_years(?) <= intime AND date_diff('second', intime, outtime) >= ? AND {end} IS NOT NULL
        """,  # noqa: S608 (begin and end are column names from this function)
        [min_age, min_hours * 3600],
    )
    answer = engine.execute("SELECT icustay_id, long::BIGINT AS long FROM stays ORDER BY icustay_id").fetchnumpy()
    return np.asarray(answer["icustay_id"]), np.asarray(answer["long"])


def _means(engine: Engine, table: str, variables: Sequence[Variable], ids: Array) -> Floats:
    """Return the mean of each of a table's variables over the first 24 hours of each stay, NaN where there is none."""
    own = [variable for variable in variables if variable.table == table]
    items = [
        (str(item), column, unit, variable.low, variable.high)
        for column, variable in enumerate(own)
        for item, unit in variable.items.items()
    ]
    engine.execute("CREATE OR REPLACE TABLE items (item TEXT, variable INTEGER, unit TEXT, low DOUBLE, high DOUBLE)")
    for item in items:
        engine.execute("INSERT INTO items VALUES (?, ?, ?, ?, ?)", item)
    reading = " ".join(f"WHEN '{unit}' THEN {sql}" for unit, sql in READING.items())
    listed = ", ".join(f"'{item}'" for item, *_ in items)
    # A nurse marks a wrong entry by error = 1. Sums of decimals are exact, so that the means do not depend on the order
    # in which threads add them up.
    wrong = "AND error IS DISTINCT FROM '1'" if table == "chartevents" else ""
    answer = engine.read(
        table,
        ("subject_id", "itemid", "charttime", "value", "valuenum", *(("error",) if wrong else ())),
        f"""
        WITH recorded AS (
            SELECT subject_id::BIGINT AS subject_id, itemid AS item, charttime::TIMESTAMP AS charttime,
                   coalesce(TRY_CAST(valuenum AS DOUBLE), TRY_CAST(value AS DOUBLE)) AS number,
                   lower(trim(value)) AS words
            FROM {{table}} WHERE itemid IN ({listed}) {wrong}
        ), read AS (
            SELECT icustay_id, variable, low, high, CASE unit {reading} END AS reading
            FROM recorded JOIN items USING (item) JOIN stays USING (subject_id)
            WHERE charttime >= intime AND charttime <= until
        )
        SELECT icustay_id, variable, sum(TRY_CAST(reading AS DECIMAL(18, 6)))::DOUBLE / count(*) AS mean
        FROM read WHERE reading BETWEEN low AND high GROUP BY ALL
        """,  # noqa: S608 (all parts come from this package)
    ).fetchnumpy()
    means = np.full((len(ids), len(own)), np.nan)
    means[np.searchsorted(ids, np.asarray(answer["icustay_id"])), np.asarray(answer["variable"])] = answer["mean"]
    return means


GET = (
    "PhysioNet: MIMIC-III Clinical Database 1.4 for those who have been given access, or the open MIMIC-III Clinical "
    "Database Demo 1.4 (pass demo=True)"
)


class Engine:
    """Runs SQL over the tables in a folder of CSV files, whose names and headers may be in capital or small letters.

    What does not fit into ``memory`` goes to the folder ``spill``. ``threads=None`` is one for each core.
    """

    def __init__(self, folder: Path, memory: str, threads: int | None, spill: str, verbose: bool) -> None:
        self._duckdb = _duckdb()
        self._folder = folder
        self._memory = memory
        self._verbose = verbose
        settings: dict[str, Any] = {
            "memory_limit": memory,
            "temp_directory": spill,
            "preserve_insertion_order": False,  # rows need no order here, and keeping it costs memory
        }
        if threads is not None:
            settings["threads"] = threads
        try:
            self._connection: duckdb.DuckDBPyConnection = self._duckdb.connect(":memory:", config=settings)
        except self._duckdb.Error as error:
            raise SettingsError(f"DuckDB does not accept memory={memory!r}, threads={threads!r}: {error}") from error

    def close(self) -> None:
        self._connection.close()

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Run SQL that reads no file, and return DuckDB's answer."""
        return self._connection.execute(sql, list(parameters))

    def read(self, table: str, columns: Sequence[str], sql: str) -> Any:
        """Run SQL that reads ``{table}``, a CSV file whose columns are all text, and return DuckDB's answer."""
        path = self.find(table)
        check_listed(path, f"Get it again from {GET}.")
        source = _source(path, _header(path, columns))
        try:
            with self._progress(f"Reading {path.name}"):
                return self._connection.execute(sql.replace("{table}", source))
        except self._duckdb.OutOfMemoryException as error:
            reason = str(error).splitlines()[0]
            raise SettingsError(
                f"memory={self._memory!r} is too little to read {path}: {reason}. Allow more, or fewer threads."
            ) from error
        except self._duckdb.Error as error:
            raise CorruptDataError(f"{path} could not be read: {error}\nGet it again from {GET}.") from error

    def find(self, table: str) -> Path:
        """Return a table's file. One that is not compressed is preferred, because several threads can read it."""
        files = {path.name.lower(): path for path in sorted(self._folder.iterdir())}
        for name in (f"{table}.csv", f"{table}.csv.gz"):
            if name in files:
                return files[name]
        raise MissingDataError(
            f"{table.upper()}.csv or {table.upper()}.csv.gz was not found. Looked for it in {self._folder}, in capital "
            f"and small letters. Get it from {GET}, and put it there."
        )

    @contextmanager
    def _progress(self, text: str) -> Iterator[None]:
        """Show how far DuckDB is, from a second thread, while the first one waits for it."""
        if not self._verbose:
            yield
            return
        done = threading.Event()
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True, emoji=False)) as bar:
            task = bar.add_task(text, total=None)

            def watch() -> None:
                while not done.wait(0.2):
                    percent = self._connection.query_progress()
                    if percent >= 0:  # negative: DuckDB cannot tell
                        bar.update(task, total=100, completed=percent)

            watcher = threading.Thread(target=watch, daemon=True)
            watcher.start()
            try:
                yield
                bar.update(task, total=100, completed=100)
            finally:
                done.set()
                watcher.join()


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtraError(f"MIMIC-III needs DuckDB: {install_line('duckdb')}") from error
    return duckdb


def _header(path: Path, wanted: Sequence[str]) -> list[str]:
    """Return the names of a file's columns in small letters, after checking that the wanted ones are there."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8-sig", newline="") as stream:
            names = [name.strip().lower() for name in next(csv.reader(stream), [])]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise CorruptDataError(f"{path} could not be read: {error}. Get it again from {GET}.") from error
    missing = [name for name in wanted if name not in names]
    if missing or len(set(names)) < len(names):
        what = f"no column {', '.join(missing)}" if missing else "a column twice"
        raise CorruptDataError(f"{path} has {what}. Its columns are {', '.join(names) or 'none'}.")
    return names


def _source(path: Path, names: Sequence[str]) -> str:
    """Return SQL that reads a CSV file as text.

    The SQL states everything that DuckDB would otherwise guess from the first rows. In CHARTEVENTS, the first quoted
    value comes after the rows that DuckDB looks at.
    """
    types = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv({_quoted(str(path))}, columns = {{{types}}}, auto_detect = false, header = true, delim = ',', "
        "quote = '\"', escape = '\"', nullstr = '')"
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
