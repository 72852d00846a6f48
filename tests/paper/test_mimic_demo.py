"""MIMIC's pipeline on the open demo of 100 patients, against a second one in plain Python.

The second pipeline shares nothing with the first: it picks the items by their names in D_ITEMS and D_LABITEMS, walks
through the files row by row, and adds up exact fractions. It is computed anew from the files; no patient's data are
written here.
"""

import csv
import gzip
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from paper.datasets import DataSet, mimic_long_stay
from paper.datasets.mimic import VARIABLES

LAB_ITEMS = {
    "glucose [mg/dL]": {("Glucose", "Blood")},
    "pH": {("pH", "Blood")},
    "inspired oxygen": {("Oxygen", "Blood")},
}
CHART_ITEMS = {
    "heart rate [1/min]": {"Heart Rate"},
    "systolic pressure [mmHg]": {
        "Arterial BP [Systolic]",
        "Arterial BP #2 [Systolic]",
        "Manual BP [Systolic]",
        "NBP [Systolic]",
        "Arterial Blood Pressure systolic",
        "Non Invasive Blood Pressure systolic",
        "Manual Blood Pressure Systolic Left",
        "Manual Blood Pressure Systolic Right",
        "ART BP Systolic",
    },
    "diastolic pressure [mmHg]": {
        "Arterial BP [Diastolic]",
        "Arterial BP #2 [Diastolic]",
        "Manual BP [Diastolic]",
        "NBP [Diastolic]",
        "Arterial Blood Pressure diastolic",
        "Non Invasive Blood Pressure diastolic",
        "Manual Blood Pressure Diastolic Left",
        "Manual Blood Pressure Diastolic Right",
        "ART BP Diastolic",
    },
    "mean pressure [mmHg]": {
        "Arterial BP Mean",
        "Arterial BP Mean #2",
        "Manual BP Mean(calc)",
        "NBP Mean",
        "Arterial Blood Pressure mean",
        "Non Invasive Blood Pressure mean",
        "ART BP mean",
    },
    "respiratory rate [1/min]": {"Resp Rate (Total)", "Respiratory Rate", "Respiratory Rate (Total)"},
    "oxygen saturation [%]": {"SpO2", "O2 saturation pulseoxymetry"},
    "temperature [C]": {"Temperature C", "Temperature F", "Temperature Fahrenheit", "Temperature Celsius"},
    "coma scale, eyes": {"Eye Opening", "GCS - Eye Opening"},
    "coma scale, motor": {"Motor Response", "GCS - Motor Response"},
    "coma scale, verbal": {"Verbal Response", "GCS - Verbal Response"},
    "weight [kg]": {"Admit Wt", "Daily Weight", "Admission Weight (Kg)", "Admission Weight (lbs.)"},
    "height [cm]": {"Admit Ht", "Height Inches", "Height", "Height (cm)"},
    "capillary refill": {
        "Capillary Refill",
        "Capillary Refill [Right]",
        "Capillary Refill [Left]",
        "Capillary Refill R",
        "Capillary Refill L",
    },
}
PLAUSIBLE = {
    "glucose [mg/dL]": (10, 2000),
    "pH": (6.5, 8),
    "inspired oxygen": (0.2, 1),
    "heart rate [1/min]": (10, 300),
    "systolic pressure [mmHg]": (20, 300),
    "diastolic pressure [mmHg]": (5, 225),
    "mean pressure [mmHg]": (10, 250),
    "respiratory rate [1/min]": (1, 80),
    "oxygen saturation [%]": (10, 100),
    "temperature [C]": (25, 45),
    "coma scale, eyes": (1, 4),
    "coma scale, motor": (1, 6),
    "coma scale, verbal": (1, 5),
    "weight [kg]": (20, 350),
    "height [cm]": (100, 250),
    "capillary refill": (0, 1),
}


def rows(folder: Path, name: str) -> Iterator[dict[str, str]]:
    path = folder / name
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", newline="", encoding="utf-8") as stream:
        yield from csv.DictReader(stream)


def lab_names(folder: Path) -> dict[str, tuple[str, str]]:
    """Return which variable an item of the laboratory means, and the item's name."""
    return {
        row["itemid"]: (variable, row["label"])
        for row in rows(folder, "D_LABITEMS.csv")
        for variable, names in LAB_ITEMS.items()
        if (row["label"], row["fluid"]) in names
    }


def chart_names(folder: Path) -> dict[str, tuple[str, str]]:
    """Return which variable an item at the bedside means, and the item's name."""
    return {
        row["itemid"]: (variable, row["label"])
        for row in rows(folder, "D_ITEMS.csv")
        for variable, names in CHART_ITEMS.items()
        if row["label"] in names and row["linksto"] == "chartevents"
    }


def reading(variable: str, item: str, row: dict[str, str]) -> Fraction | None:
    """Return the value that a nurse or a laboratory meant, if it is plausible."""
    if variable == "capillary refill":
        word = row["value"].split(" ")[0]
        return {"Normal": Fraction(0), "Abnormal": Fraction(1)}.get(word)
    try:
        number = Fraction(row["valuenum"] or row["value"])
    except ValueError:
        return None
    if variable == "temperature [C]" and item in ("Temperature F", "Temperature Fahrenheit"):
        number = (number - 32) * Fraction(5, 9)
    elif item == "Admission Weight (lbs.)":
        number *= Fraction("0.45359237")
    elif item in ("Admit Ht", "Height Inches", "Height"):
        number *= Fraction("2.54")
    elif variable == "inspired oxygen" and number > 1:
        number /= 100
    low, high = PLAUSIBLE[variable]
    return number if low <= number <= high else None


@cache
def by_hand(folder: Path) -> tuple[dict[int, int], dict[tuple[int, str], float]]:
    """Return label by stay, and mean by stay and variable."""
    births = {row["subject_id"]: datetime.fromisoformat(row["dob"]) for row in rows(folder, "PATIENTS.csv")}
    firsts: dict[str, dict[str, str]] = {}
    for row in sorted(rows(folder, "ICUSTAYS.csv"), key=lambda row: row["intime"]):
        firsts.setdefault(row["subject_id"], row)
    windows, labels = {}, {}
    for subject, row in firsts.items():
        begin, end = datetime.fromisoformat(row["intime"]), datetime.fromisoformat(row["outtime"])
        born = births[subject]
        age = begin.year - born.year - ((begin.month, begin.day) < (born.month, born.day))
        if age >= 18:
            stay = int(row["icustay_id"])
            labels[stay] = int(end - begin > timedelta(days=7))
            windows[subject] = (stay, begin, min(end, begin + timedelta(hours=24)))
    values: dict[tuple[int, str], list[Fraction]] = defaultdict(list)
    for events, names in (("LABEVENTS.csv", lab_names(folder)), ("CHARTEVENTS.csv.gz", chart_names(folder))):
        for row in rows(folder, events):
            if row["itemid"] not in names or row["subject_id"] not in windows or row.get("error") == "1":
                continue
            stay, begin, end = windows[row["subject_id"]]
            if begin <= datetime.fromisoformat(row["charttime"]) <= end:
                variable, item = names[row["itemid"]]
                number = reading(variable, item, row)
                if number is not None:
                    values[stay, variable].append(number)
    return labels, {key: float(sum(numbers) / len(numbers)) for key, numbers in values.items()}


@pytest.fixture(scope="module")
def folder(data: Path) -> Path:
    return data / "mimiciii_demo"


@pytest.fixture(scope="module")
def demo(data: Path) -> DataSet:
    return mimic_long_stay(data=data, demo=True, memory="300MB", threads=2)


def test_the_items_are_those_with_these_names(folder):
    found = {variable.name: set(map(str, variable.items)) for variable in VARIABLES}
    for names in (lab_names(folder), chart_names(folder)):
        for variable in {variable for variable, _ in names.values()}:
            assert found[variable] == {item for item, (meant, _) in names.items() if meant == variable}


def test_99_of_the_100_patients_are_adults(demo, folder):
    labels, _ = by_hand(folder)
    assert len(demo) == len(labels) == 99
    assert demo.ids.tolist() == sorted(labels)


def test_the_labels_are_those_by_hand(demo, folder):
    labels, _ = by_hand(folder)
    assert demo.labels.tolist() == [labels[stay] for stay in demo.ids.tolist()]
    assert 0 < demo.labels.sum() < 99


@pytest.mark.parametrize("variable", [variable.name for variable in VARIABLES])
def test_every_patients_value_is_the_one_by_hand(variable, demo, folder):
    _, means = by_hand(folder)
    expected = [means.get((stay, variable), np.nan) for stay in demo.ids.tolist()]
    found = demo.features[:, demo.feature_names.index(variable)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert np.isfinite(found).sum() >= 20


def test_half_of_the_patients_stay_in_hospital_for_more_than_a_week(data, folder):
    in_hospital = mimic_long_stay(data=data, demo=True, stay="hospital", memory="300MB")
    times = {
        row["hadm_id"]: datetime.fromisoformat(row["dischtime"]) - datetime.fromisoformat(row["admittime"])
        for row in rows(folder, "ADMISSIONS.csv")
    }
    admission = {int(row["icustay_id"]): row["hadm_id"] for row in rows(folder, "ICUSTAYS.csv")}
    assert in_hospital.labels.tolist() == [
        int(times[admission[stay]] > timedelta(days=7)) for stay in in_hospital.ids.tolist()
    ]
    assert 0.4 < in_hospital.labels.mean() < 0.6


def test_the_demo_comes_from_its_own_files(data, demo):
    assert demo.licence.startswith("ODbL")
    assert mimic_long_stay(data=data / "mimiciii_demo").ids.tolist() == demo.ids.tolist()
