"""Rows as frames of other libraries, imported when they are asked for."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional

    import pandas
    import polars
    import pyarrow

    from ._table import Table


def _need(name: str, extra: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"this needs {name}: pip install 'tacho[{extra}]' or {name} itself", name=name) from error


def _milliseconds(table: Table) -> List[Optional[int]]:
    return [None if time is None else round(time * 1000) for time in table.values.get("timestamp", [])]


def to_pandas(table: Table, datetime: bool) -> pandas.DataFrame:
    pd = _need("pandas", "pandas")
    columns = {name: pd.array(table.values[name], dtype="Int64" if table.is_whole(name) else "Float64")
               for name in table.columns if name != "timestamp"}
    if datetime:
        index = pd.DatetimeIndex(pd.to_datetime(_milliseconds(table), unit="ms", utc=True), name="timestamp")
        if hasattr(index, "as_unit"):
            index = index.as_unit("ms")
    else:
        index = pd.Index(table.values.get("timestamp", []), name="timestamp", dtype="float64")
    frame: pandas.DataFrame = pd.DataFrame(columns, index=index)
    return frame


def to_polars(table: Table) -> polars.DataFrame:
    pl = _need("polars", "polars")
    columns: List[Any] = []
    for name in table.columns:
        if name == "timestamp":
            times = pl.Series(name, _milliseconds(table), dtype=pl.Int64)
            columns.append(times.cast(pl.Datetime("ms")).dt.replace_time_zone("UTC"))
        else:
            columns.append(pl.Series(name, table.values[name], dtype=pl.Int64 if table.is_whole(name) else pl.Float64))
    frame: polars.DataFrame = pl.DataFrame(columns)
    return frame


def to_arrow(table: Table) -> pyarrow.Table:
    pa = _need("pyarrow", "arrow")
    columns: List[Any] = []
    for name in table.columns:
        if name == "timestamp":
            columns.append(pa.array(_milliseconds(table), type=pa.timestamp("ms", tz="UTC")))
        else:
            columns.append(pa.array(table.values[name], type=pa.int64() if table.is_whole(name) else pa.float64()))
    frame: pyarrow.Table = pa.table(columns, names=table.columns)
    return frame
