"""Adults' first stay in intensive care: 16 variables from its first 24 hours, and whether it lasts more than a week."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

import numpy as np

from assistlearn.core.ignorance import Floats
from assistlearn.datasets.dataset import Array, DataSet
from assistlearn.datasets.files import DATA_VARIABLE, PathName, data_folder
from assistlearn.datasets.mimic.engine import GET, Engine
from assistlearn.datasets.mimic.variables import CAPILLARY_REFILL, READING, VARIABLES, Variable
from assistlearn.errors import MissingDataError, SettingsError

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
    """Return the folder that holds the CSV files."""
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
    """Make the table of stays, and return their ids and labels."""
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
