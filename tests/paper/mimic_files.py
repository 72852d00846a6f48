"""Invented patients, written as MIMIC's CSV files are."""

import csv
import gzip
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

HEADERS = {
    "PATIENTS": "row_id,subject_id,gender,dob,dod,dod_hosp,dod_ssn,expire_flag",
    "ADMISSIONS": "row_id,subject_id,hadm_id,admittime,dischtime,deathtime,admission_type",
    "ICUSTAYS": (
        "row_id,subject_id,hadm_id,icustay_id,dbsource,first_careunit,last_careunit,first_wardid,last_wardid,intime,"
        "outtime,los"
    ),
    "LABEVENTS": "row_id,subject_id,hadm_id,itemid,charttime,value,valuenum,valueuom,flag",
    "CHARTEVENTS": (
        "row_id,subject_id,hadm_id,icustay_id,itemid,charttime,storetime,cgid,value,valuenum,valueuom,warning,error,"
        "resultstatus,stopped"
    ),
}
BORN = datetime(2050, 6, 15)
IN = datetime(2100, 1, 1, 8, 30)


@dataclass
class Hospital:
    """Collects rows; what is not said is left empty."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {table: [] for table in HEADERS})

    def add(self, table: str, **values: Any) -> None:
        self.rows[table].append({"row_id": len(self.rows[table]) + 1} | values)

    def patient(self, subject: int, born: datetime = BORN) -> None:
        self.add("PATIENTS", subject_id=subject, gender="F", dob=born, expire_flag=0)

    def stay(self, subject: int, icustay: int, begin: datetime = IN, days: float | None = 3) -> None:
        end = "" if days is None else begin + timedelta(days=days)
        self.add("ICUSTAYS", subject_id=subject, hadm_id=icustay + 1000, icustay_id=icustay, intime=begin, outtime=end)

    def admission(self, icustay: int, begin: datetime, days: float | None) -> None:
        end = "" if days is None else begin + timedelta(days=days)
        self.add("ADMISSIONS", subject_id=0, hadm_id=icustay + 1000, admittime=begin, dischtime=end)

    def chart(self, item: int, value: Any, hours: float = 1, subject: int = 1, **other: Any) -> None:
        self.add("CHARTEVENTS", **self._event(item, value, hours, subject), **other)

    def lab(self, item: int, value: Any, hours: float = 1, subject: int = 1, **other: Any) -> None:
        self.add("LABEVENTS", **self._event(item, value, hours, subject), **other)

    def _event(self, item: int, value: Any, hours: float, subject: int) -> dict[str, Any]:
        number = value if isinstance(value, int | float) else ""
        when = IN + timedelta(hours=hours)
        return {"subject_id": subject, "itemid": item, "charttime": when, "value": value, "valuenum": number}

    def write(self, folder: Path, *, capitals: bool = False, compress: bool = False, names: str = "upper") -> Path:
        """Write all tables, with the header in capitals or not, compressed or not."""
        folder.mkdir(parents=True, exist_ok=True)
        for table, header in HEADERS.items():
            name = f"{getattr(table, names)()}.csv" + (".gz" if compress else "")
            with (gzip.open if compress else open)(folder / name, "wt", newline="", encoding="utf-8") as stream:
                writer = csv.DictWriter(stream, header.split(","), lineterminator="\n")
                stream.write((header.upper() if capitals else header) + "\n")
                writer.writerows(self.rows[table])
        return folder
