"""The 16 clinical variables, the items that record them, and how their values are read.

After Harutyunyan et al. (2019), who use 17: the total of the Glasgow coma scale is left out, because it is the sum of
its three parts. ``paper/datasets/MIMIC.md`` says why these items and not others.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


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
    """A clinical variable.

    Attributes
    ----------
    name : str
        Its name, with its unit in brackets where it has one.
    table : {"labevents", "chartevents"}
        The table of MIMIC-III that records it.
    items : dict of int to Unit
        The items of that table that mean this variable.
    low, high : float
        Values outside are errors of measurement or typing and are left out; both bounds are allowed.
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
