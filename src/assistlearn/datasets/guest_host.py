"""Three data sets as the FATE project splits them between a guest, who has the labels, and a host."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from assistlearn.datasets.dataset import DataSet, Label
from assistlearn.datasets.files import File, PathName, data_folder, read
from assistlearn.errors import CorruptDataError, MissingDataError, SettingsError

_GET = "the folder examples/data of the FATE project (FederatedAI/FATE on GitHub)"


@dataclass(frozen=True)
class _Pair:
    guest: str
    host: str
    class_names: Mapping[Label, str]
    citation: str


_PAIRS = {
    "breast": _Pair(
        "6b258b1514181bd645ea37a9ba3795a014075f465dfa51af08ecf19f068baeae",
        "8f9edc41763176ba12598f86646a177e347c1b85b5549896044f9532d964ea6f",
        {0: "malignant", 1: "benign"},
        "W. N. Street, W. H. Wolberg, O. L. Mangasarian: Nuclear feature extraction for breast tumor diagnosis. "
        "Biomedical Image Processing and Biomedical Visualization, 1993.",
    ),
    "default_credit": _Pair(
        "4fd6be40766423cd4fd567f3ed4162f9ec512388a2eab2f265f46247c5ae90b0",
        "36880a1b1e6a5b85bcb1e7d8b58cb2b024b45422ec29881c8df562e17c4bc6b7",
        {0: "paid", 1: "defaulted"},
        "I.-C. Yeh, C.-H. Lien: The comparisons of data mining techniques for the predictive accuracy of probability "
        "of default of credit card clients. Expert Systems with Applications 36(2), 2473-2480, 2009.",
    ),
    "vehicle_scale": _Pair(
        "43034770a34993675fdf34525f7f20805f1570066dfcb31f6145d5a70204a7ed",
        "ded56f6e71c96e9305f7bc3f283dc5e9e25ec52ede13d7db4ab6a86218e3314c",
        {0: "opel", 1: "saab", 2: "bus", 3: "van"},
        "J. P. Siebert: Vehicle recognition using rule based methods. Turing Institute Research Memorandum "
        "TIRM-87-018, 1987.",
    ),
}


def fate(name: Literal["breast", "default_credit", "vehicle_scale"], *, data: PathName | None = None) -> DataSet:
    """Load one of FATE's example data sets for parties with different columns.

    Parameters
    ----------
    name : {"breast", "default_credit", "vehicle_scale"}
        569 tumours, 10 + 20 features, 2 classes; 30,000 clients, 13 + 10 features, 2 classes; 846 vehicles, 9 + 9
        features, 4 classes.
    data : path, default=None
        The data folder; by default what ``ASSISTLEARN_DATA`` says. These files are not on OpenML.

    Returns
    -------
    data : DataSet
        Its agents are the "guest" (the initiator) and the "host". Both files call their columns x0, x1, ...; here they
        are ``guest_x0`` and ``host_x0``. The rows are in the guest's order.

    Examples
    --------
    >>> fate("vehicle_scale")
    <DataSet 'vehicle_scale': 846 samples, 18 features, 4 classes; guest 9 + host 9>
    """
    if name not in _PAIRS:
        raise SettingsError(f"FATE's data sets here are {', '.join(_PAIRS)}, not {name!r}.")
    pair = _PAIRS[name]
    folder = data_folder(data)
    if folder is None:
        raise MissingDataError(
            f"No data folder was named, and {name} is not on OpenML. Get {name}_hetero_guest.csv and "
            f"{name}_hetero_host.csv from {_GET}, and name their folder (data=, or the environment variable "
            "ASSISTLEARN_DATA)."
        )
    guest = _side(folder, "guest", name, pair.guest)
    host = _side(folder, "host", name, pair.host)
    joined = guest.join(host, on="id", how="left", maintain_order="left", validate="1:1")
    if len(joined) != len(guest) or joined.null_count().sum_horizontal().item():
        raise CorruptDataError(f"{name}: the guest's and the host's files do not hold the same ids.")
    names = {
        "guest": tuple(column for column in guest.columns if column not in ("id", "y")),
        "host": tuple(column for column in host.columns if column != "id"),
    }
    return DataSet(
        name=name,
        features=np.ascontiguousarray(joined.select(*names["guest"], *names["host"]).to_numpy()),
        labels=joined["y"].cast(pl.Int64).to_numpy(),
        ids=joined["id"].cast(pl.Int64).to_numpy(),
        feature_names=names["guest"] + names["host"],
        agents=names,
        class_names=pair.class_names,
        citation=pair.citation,
        licence="Apache-2.0 (FATE's files); CC BY 4.0 (the data, from the UCI Machine Learning Repository)",
    )


def _side(folder: Path, side: str, name: str, sha256: str) -> pl.DataFrame:
    content = read(folder, File("fate_hetero", f"{name}_hetero_{side}.csv", sha256, _GET))
    table = pl.read_csv(io.BytesIO(content), infer_schema=False).cast(pl.Float64)
    return table.rename({column: f"{side}_{column}" for column in table.columns if column.startswith("x")})
