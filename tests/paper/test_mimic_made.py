"""MIMIC's pipeline on invented patients, one rule at a time."""

import gzip
import hashlib
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistlearn.errors import MissingExtraError, SettingsError
from paper.datasets import DataSet, mimic_long_stay
from paper.datasets.sources import CorruptDataError, MissingDataError
from tests.paper.mimic_files import BORN, IN, Hospital


@pytest.fixture
def hospital() -> Hospital:
    """Return a hospital with one patient, who stays three days and of whom nothing is known yet."""
    hospital = Hospital()
    hospital.patient(1)
    hospital.stay(1, icustay=500)
    return hospital


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mimiciii"


def load(hospital: Hospital, folder: Path, **settings: Any) -> DataSet:
    hospital.write(folder)
    return mimic_long_stay(data=folder, memory="200MB", threads=2, **settings)


def value(data: DataSet, name: str, row: int = 0) -> float:
    column = next(place for place, full in enumerate(data.feature_names) if full.startswith(name))
    return float(data.features[row, column])


def test_without_measurements_everything_is_missing(hospital, folder):
    data = load(hospital, folder)
    assert data.features.shape == (1, 16)
    assert np.isnan(data.features).all()
    assert data.ids.tolist() == [500]
    assert data.labels.tolist() == [0]


def test_the_agents_know_3_and_13_variables_or_12(hospital, folder):
    assert [len(names) for names in load(hospital, folder).agents.values()] == [3, 13]
    fifteen = load(hospital, folder, n_variables=15)
    assert [len(names) for names in fifteen.agents.values()] == [3, 12]
    assert "capillary refill" not in fifteen.feature_names


# -- who is in it ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "label"), [(-1, 0), (0, 0), (1, 1)], ids=["a second less", "exactly", "a second more"]
)
def test_long_is_more_than_7_days(seconds, label, folder):
    hospital = Hospital()
    hospital.patient(1)
    hospital.stay(1, icustay=500, days=7 + seconds / 86400)
    assert load(hospital, folder).labels.tolist() == [label]


def test_minors_are_left_out_until_their_birthday(folder):
    hospital = Hospital()
    for subject, born in enumerate([datetime(2082, 1, 2), datetime(2082, 1, 1), datetime(1800, 1, 1)]):
        hospital.patient(subject, born)  # the last: MIMIC moves the births of the very old by centuries
        hospital.stay(subject, icustay=500 + subject, begin=datetime(2100, 1, 1))
    assert load(hospital, folder).ids.tolist() == [501, 502]
    assert load(hospital, folder, min_age=17).ids.tolist() == [500, 501, 502]


def test_only_the_first_stay_counts_whatever_the_order_of_the_file(folder):
    hospital = Hospital()
    hospital.patient(1)
    hospital.stay(1, icustay=400, begin=IN + timedelta(days=30), days=20)
    hospital.stay(1, icustay=500, begin=IN, days=1)
    hospital.chart(211, 70, hours=1)
    hospital.chart(211, 150, hours=30 * 24 + 1)
    data = load(hospital, folder)
    assert data.ids.tolist() == [500]
    assert data.labels.tolist() == [0]
    assert value(data, "heart rate") == 70


def test_who_was_first_there_as_a_minor_is_left_out(folder):
    hospital = Hospital()
    hospital.patient(1, born=datetime(2090, 1, 1))
    hospital.stay(1, icustay=500, begin=IN)
    hospital.stay(1, icustay=501, begin=IN + timedelta(days=5000))
    hospital.patient(2)
    hospital.stay(2, icustay=502)
    assert load(hospital, folder).ids.tolist() == [502]


def test_a_stay_without_an_end_is_left_out(hospital, folder):
    hospital.patient(2)
    hospital.stay(2, icustay=600, days=None)
    assert load(hospital, folder).ids.tolist() == [500]


def test_short_stays_can_be_left_out(hospital, folder):
    hospital.patient(2)
    hospital.stay(2, icustay=600, days=0.5)
    assert load(hospital, folder).ids.tolist() == [500, 600]
    assert load(hospital, folder, min_hours=24).ids.tolist() == [500]


def test_the_stay_in_hospital_can_be_the_one_that_counts(hospital, folder):
    hospital.admission(500, IN - timedelta(days=5), days=8)
    hospital.patient(2)
    hospital.stay(2, icustay=600, days=8)
    hospital.admission(600, IN, days=None)
    hospital.patient(3)
    hospital.stay(3, icustay=700)
    hospital.admission(700, IN, days=7)
    in_hospital = load(hospital, folder, stay="hospital")
    assert in_hospital.ids.tolist() == [500, 700]  # of 600 the discharge is not known
    assert in_hospital.labels.tolist() == [1, 0]
    assert load(hospital, folder).labels.tolist() == [0, 1, 0]


def test_a_draw_of_patients_is_seeded_and_within_bounds(folder):
    hospital = Hospital()
    for subject in range(40):
        hospital.patient(subject)
        hospital.stay(subject, icustay=500 + subject)
        hospital.chart(211, 60 + subject, subject=subject)
    drawn = load(hospital, folder, n_patients=10, random_state=1)
    assert len(drawn) == 10
    assert [value(drawn, "heart rate", row) for row in range(10)] == (drawn.ids - 440).tolist()
    assert drawn.ids.tolist() == load(hospital, folder, n_patients=10, random_state=1).ids.tolist()
    assert drawn.ids.tolist() != load(hospital, folder, n_patients=10, random_state=2).ids.tolist()
    with pytest.raises(SettingsError, match="n_patients=41 cannot be drawn: there are 40 patients"):
        load(hospital, folder, n_patients=41)


# -- which values count ------------------------------------------------------------------------------------------------


def test_only_the_first_24_hours_count(hospital, folder):
    for hours, rate in ((-0.01, 30), (0, 60), (12, 80), (24, 100), (24.01, 250)):
        hospital.chart(211, rate, hours)
    assert value(load(hospital, folder), "heart rate") == 80


def test_nothing_counts_after_the_patient_has_left(folder):
    hospital = Hospital()
    hospital.patient(1)
    hospital.stay(1, icustay=500, days=0.25)
    hospital.lab(50820, 7.3, hours=5)
    hospital.lab(50820, 7.0, hours=7)
    assert value(load(hospital, folder), "pH") == 7.3


def test_other_patients_values_do_not_count(hospital, folder):
    hospital.chart(220045, 80)
    hospital.chart(220045, 180, subject=2)
    assert value(load(hospital, folder), "heart rate") == 80


def test_items_that_mean_the_same_are_averaged_together(hospital, folder):
    hospital.chart(455, 110)
    hospital.chart(51, 125)
    hospital.chart(220179, 125)
    hospital.lab(50809, 90)
    hospital.lab(50931, 100)
    data = load(hospital, folder)
    assert value(data, "systolic") == 120
    assert value(data, "glucose") == 95


def test_unknown_items_and_empty_values_do_not_count(hospital, folder):
    hospital.chart(646, "")
    hospital.chart(646, "see note")
    hospital.chart(646, 96)
    hospital.chart(999_999, 5)
    hospital.lab(51094, 5.0)  # pH of urine
    data = load(hospital, folder)
    assert value(data, "oxygen saturation") == 96
    assert np.isnan(value(data, "pH"))


def test_a_number_that_stands_in_the_text_alone_counts(hospital, folder):
    hospital.lab(50931, " 140 ")
    hospital.lab(50931, "GREATER THAN 500")
    assert value(load(hospital, folder), "glucose") == 140


def test_entries_marked_as_errors_do_not_count(hospital, folder):
    hospital.chart(220045, 200, error=1)
    hospital.chart(220045, 80, error=0)
    hospital.chart(220045, 90)
    assert value(load(hospital, folder), "heart rate") == 85


def test_impossible_values_do_not_count(hospital, folder):
    for pressure in (0, 11647, 120):
        hospital.chart(220179, pressure)
    for item in (184, 454, 723):
        hospital.chart(item, 9)
        hospital.chart(item, 3)
    data = load(hospital, folder)
    assert value(data, "systolic") == 120
    assert [value(data, f"coma scale, {part}") for part in ("eyes", "motor", "verbal")] == [3, 3, 3]


CONVERTED = [
    *[("temperature", *each) for each in ((678, 98.6, 37), (223761, 104, 40), (676, 36.5, 36.5))],
    ("temperature", 223762, 98.6, 37),  # Fahrenheit in the field for Celsius
    ("temperature", 678, 38.5, 38.5),  # and the reverse
    *[("temperature", *each) for each in ((223761, 60, np.nan), (676, 0, np.nan))],  # neither
    *[("weight", *each) for each in ((762, 80, 80), (226512, 70.5, 70.5), (226531, 200, 90.718474))],
    *[("height", *each) for each in ((920, 70, 177.8), (226707, 60, 152.4), (226730, 168, 168), (226730, 68, np.nan))],
]


@pytest.mark.parametrize(("name", "item", "recorded", "meant"), CONVERTED)
def test_temperatures_weights_and_heights_come_in_one_unit_each(name, item, recorded, meant, hospital, folder):
    hospital.chart(item, recorded)
    assert value(load(hospital, folder), name) == pytest.approx(meant, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize(("recorded", "fraction"), [(50, 0.5), (0.4, 0.4), (1, 1), (100, 1), (2, np.nan), (21, 0.21)])
def test_inspired_oxygen_becomes_a_fraction(recorded, fraction, hospital, folder):
    hospital.lab(50816, recorded)
    assert value(load(hospital, folder), "inspired oxygen") == pytest.approx(fraction, nan_ok=True)


def test_capillary_refill_is_the_share_of_abnormal_findings(hospital, folder):
    for item, words in (
        (115, "Normal <3 secs"),
        (8377, "Abnormal >3 secs"),
        (223951, "Normal <3 Seconds"),
        (224308, "Abnormal >3 Seconds"),
        (3348, "Brisk"),
        (3348, "Delayed"),
        (3348, "unable to assess"),
        (115, ""),
    ):
        hospital.chart(item, words)
    assert value(load(hospital, folder), "capillary refill") == 0.5


# -- how the files may look --------------------------------------------------------------------------------------------


def busy(n_patients: int = 30) -> Hospital:
    """Return a hospital with many values, and texts that are hard to read."""
    rng = np.random.default_rng(0)
    hospital = Hospital()
    for subject in range(n_patients):
        hospital.patient(subject, BORN)
        hospital.stay(subject, icustay=500 + subject, days=float(rng.uniform(0.5, 14)))
        for _ in range(100):
            hospital.chart(
                int(rng.choice([211, 455, 678, 762])), float(rng.normal(99, 20)), float(rng.uniform(0, 30)), subject
            )
        hospital.chart(1, 'said "no",\nthen yes', 2, subject, valueuom="?C")
        hospital.lab(50931, float(rng.normal(120, 20)), 3, subject)
    return hospital


@pytest.mark.parametrize("capitals", [False, True])
@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("names", ["upper", "lower"])
def test_case_and_compression_do_not_matter(capitals, compress, names, tmp_path):
    hospital = busy()
    expected = load(hospital, tmp_path / "plain")
    hospital.write(tmp_path / "other", capitals=capitals, compress=compress, names=names)
    found = mimic_long_stay(data=tmp_path / "other", memory="200MB")
    np.testing.assert_array_equal(found.features, expected.features)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert np.isfinite(expected.features[:, :4]).any(axis=0).tolist() == [True, False, False, True]


def test_the_number_of_threads_changes_no_bit(tmp_path):
    busy().write(tmp_path)
    one, four = (mimic_long_stay(data=tmp_path, threads=threads, memory="200MB") for threads in (1, 4))
    assert one.features.tobytes() == four.features.tobytes()


def test_a_first_quoted_value_late_in_a_long_file_is_read(hospital, folder):
    for _ in range(30_000):
        hospital.chart(1, "x")
    hospital.chart(374, "Arm, Right Lower")
    hospital.chart(211, 80)
    assert value(load(hospital, folder), "heart rate") == 80


def test_the_files_may_lie_in_a_folder_of_the_data_folder(hospital, tmp_path):
    hospital.write(tmp_path / "mimiciii")
    assert len(mimic_long_stay(data=tmp_path)) == 1
    with pytest.raises(MissingDataError, match="mimiciii_demo"):
        mimic_long_stay(data=tmp_path, demo=True)


@pytest.mark.parametrize("table", ["PATIENTS", "LABEVENTS", "CHARTEVENTS"])
def test_a_missing_table_is_named(table, hospital, folder):
    hospital.write(folder)
    (folder / f"{table}.csv").unlink()
    with pytest.raises(MissingDataError) as raised:
        mimic_long_stay(data=folder)
    assert f"{table}.csv.gz" in str(raised.value)
    assert str(folder) in str(raised.value)
    assert "PhysioNet" in str(raised.value)


def test_admissions_are_needed_for_the_stay_in_hospital_only(hospital, folder):
    hospital.write(folder)
    (folder / "ADMISSIONS.csv").unlink()
    assert len(mimic_long_stay(data=folder)) == 1
    with pytest.raises(MissingDataError, match=r"ADMISSIONS\.csv"):
        mimic_long_stay(data=folder, stay="hospital")


def changed(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    def do(folder: Path) -> None:
        (folder / name).write_text(change((folder / name).read_text()))

    return do


def misnamed(folder: Path) -> None:
    (folder / "CHARTEVENTS.csv").rename(folder / "CHARTEVENTS.csv.gz")


SPOILED: dict[str, tuple[Callable[[Path], None], str]] = {
    "a missing column": (
        changed("LABEVENTS.csv", lambda text: text.replace("charttime", "time")),
        r"LABEVENTS\.csv has no column charttime\. Its columns are row_id",
    ),
    "an empty file": (
        changed("PATIENTS.csv", lambda text: ""),
        r"PATIENTS\.csv has no column subject_id, dob\. Its columns are none",
    ),
    "not compressed": (misnamed, r"CHARTEVENTS\.csv\.gz could not be read"),
    "too few values": (
        changed("CHARTEVENTS.csv", lambda text: text + "2,1,1500\n"),
        r"CHARTEVENTS\.csv could not be read(.|\n)*Line: 3",
    ),
    "a time that is none": (
        changed("CHARTEVENTS.csv", lambda text: text.replace("2100-01-01 09:30:00", "yesterday")),
        r"CHARTEVENTS\.csv could not be read(.|\n)*yesterday",
    ),
}


@pytest.mark.parametrize("kind", SPOILED)
def test_a_file_that_is_not_as_it_should_be_is_named(kind, hospital, folder):
    spoil, words = SPOILED[kind]
    hospital.chart(211, 80)
    spoil(hospital.write(folder))
    with pytest.raises(CorruptDataError, match=words):
        mimic_long_stay(data=folder)


def test_a_file_that_was_cut_off_is_named(tmp_path):
    busy(300).write(tmp_path, compress=True)
    path = tmp_path / "CHARTEVENTS.csv.gz"
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(CorruptDataError, match=r"CHARTEVENTS\.csv\.gz could not be read"):
        mimic_long_stay(data=tmp_path)


def test_the_listed_checksums_are_compared(hospital, folder):
    hospital.write(folder, compress=True)
    listing = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.name}" for path in sorted(folder.glob("*.csv.gz"))
    ]
    (folder / "SHA256SUMS.txt").write_text("\n".join(listing))
    assert len(mimic_long_stay(data=folder)) == 1
    path = folder / "LABEVENTS.csv.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + b"\n"))
    with pytest.raises(CorruptDataError, match=r"LABEVENTS\.csv\.gz is not the file it should be"):
        mimic_long_stay(data=folder)


# -- settings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stay": "home"}, "'icu' or 'hospital', not 'home'"),
        ({"n_variables": 17}, "15 or 16, not 17"),
        ({"memory": "much"}, "memory='much'"),
        ({"threads": 0}, "threads=0"),
    ],
)
def test_impossible_settings_are_refused(settings, message, hospital, folder):
    hospital.write(folder)
    with pytest.raises(SettingsError, match=message):
        mimic_long_stay(data=folder, **settings)


def test_too_little_memory_is_said(hospital, folder):
    hospital.write(folder)
    with pytest.raises(SettingsError, match=r"memory='1MB' is too little to read .*ICUSTAYS\.csv"):
        mimic_long_stay(data=folder, memory="1MB")


def test_without_duckdb_the_error_says_how_to_install_it(hospital, folder, monkeypatch):
    hospital.write(folder)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'duckdb"):
        mimic_long_stay(data=folder)


def test_progress_is_shown_on_request_and_never_on_standard_output(hospital, folder, capfd):
    load(hospital, folder)
    assert capfd.readouterr() == ("", "")
    load(hospital, folder, verbose=True)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "Reading CHARTEVENTS.csv" in shown.err
