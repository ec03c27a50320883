"""A data frame for people without one: lists by column name."""
from __future__ import annotations

import logging
from csv import QUOTE_MINIMAL, QUOTE_NONNUMERIC, DictReader
from time import sleep
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Union, overload
from urllib.request import urlopen

logger = logging.getLogger("resource_tracker")


_SHOWN = 10  # rows of str()


class StatSpec(NamedTuple):
    """One statistic of a column: the function, its name in the result, and decimals."""
    column: str
    agg: Callable[[List[Any]], Any]
    agg_name: Optional[str] = None
    round: Optional[int] = None


def _cell(text: Any) -> Any:
    """A number where it is one; 0 is a number, and an empty field is None."""
    if not isinstance(text, str):
        return text
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


class TinyDataFrame:
    """Made from a list of rows, a dict of columns, or a CSV file (a path or an http address)."""

    def __init__(self, data: Union[Dict[str, List[Any]], List[Dict[str, Any]], None] = None,
                 csv_file_path: Optional[str] = None, retries: int = 0, retry_delay: float = 0.1) -> None:
        assert (data is None) != (csv_file_path is None), "give either data or csv_file_path"
        if csv_file_path is not None:
            data = self._read(csv_file_path, retries, retry_delay)
        self._data: Dict[str, List[Any]] = {}
        if isinstance(data, dict):
            self._data = {name: list(values) for name, values in data.items()}
            if len({len(values) for values in self._data.values()}) > 1:
                raise ValueError("columns differ in length")
        elif data:
            names = list(dict.fromkeys(name for row in data for name in row))
            self._data = {name: [row.get(name) for row in data] for name in names}

    @staticmethod
    def _read(path: str, retries: int, delay: float) -> Dict[str, List[Any]]:
        failure: Optional[Exception] = None
        for attempt in range(retries + 1):
            if attempt:
                sleep(delay)
            try:
                if str(path).startswith(("http://", "https://")):
                    with urlopen(path) as answer:
                        lines = answer.read().decode("utf-8").splitlines()
                else:
                    with open(path, encoding="utf-8", newline="") as file:
                        lines = file.read().splitlines()
                reader: Any = DictReader(lines)
                rows: List[Dict[Optional[str], Any]] = list(reader)
                names: List[str] = list(reader.fieldnames or [])
                if any(None in row for row in rows):
                    raise ValueError("a row has more fields than the header")
                return {name: [_cell(row[name]) for row in rows] for name in names}
            except Exception as error:  # whatever it was, the next try may do
                failure = error
        raise RuntimeError(f"Failed to read CSV file after {retries + 1} tries: {path}: {failure}") from failure

    @property
    def columns(self) -> List[str]:
        return list(self._data)

    def __len__(self) -> int:
        nothing: List[Any] = []
        return len(next(iter(self._data.values()), nothing))

    @overload
    def __getitem__(self, key: str) -> List[Any]: ...
    @overload
    def __getitem__(self, key: int) -> Dict[str, Any]: ...
    @overload
    def __getitem__(self, key: Union[slice, List[str]]) -> TinyDataFrame: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._data[key]
        if type(key).__name__ == "list":
            return self._with_columns(key)
        if isinstance(key, slice):
            return TinyDataFrame({name: values[key] for name, values in self._data.items()})
        if isinstance(key, int) and not isinstance(key, bool):
            return {name: values[key] for name, values in self._data.items()}
        raise TypeError(f"not a column, a list of columns, a slice or a row number: {key!r}")

    def _with_columns(self, names: List[str]) -> TinyDataFrame:
        return TinyDataFrame({name: self._data[name] for name in names})

    def __setitem__(self, key: Any, value: Sequence[Any]) -> None:
        if not isinstance(key, str):
            raise TypeError(f"not the name of a column: {key!r}")
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
            raise TypeError("a column is a list")
        if self._data and len(value) != len(self):
            raise ValueError(f"a column of {len(value)} values in a frame of {len(self)} rows")
        self._data[key] = list(value)

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return (self[index] for index in range(len(self)))

    def head(self, n: int = 5) -> TinyDataFrame:
        return self[:n]

    def tail(self, n: int = 5) -> TinyDataFrame:
        return self[max(0, len(self) - n):]

    def __repr__(self) -> str:
        return f"TinyDataFrame with {len(self)} rows and {len(self._data)} columns. First row as a dict: {self[0] if len(self) else {}}"

    def __str__(self) -> str:
        """The first rows as a table."""
        if not self._data:
            return "Empty dataframe"
        rows = [self.columns, *([str(cell) for cell in row.values()] for row in self.head(_SHOWN))]
        widths = [max(len(row[index]) for row in rows) for index in range(len(self._data))]
        lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in rows]
        rule = "-+-".join("-" * width for width in widths)
        return "\n".join([f"TinyDataFrame with {len(self)} rows and {len(self._data)} columns:", lines[0], rule, *lines[1:],
                          *(["..."] if len(self) > _SHOWN else [])])

    def rename(self, columns: Dict[str, str]) -> TinyDataFrame:
        """In place; names that are not there are an error."""
        missing = [name for name in columns if name not in self._data]
        if missing:
            raise KeyError(missing[0])
        self._data = {columns.get(name, name): values for name, values in self._data.items()}
        return self

    def to_csv(self, csv_file_path: Optional[str] = None, quote_strings: bool = True) -> Optional[str]:
        """Written to the file, or returned."""
        import csv
        import io

        text = io.StringIO(newline="")
        writer = csv.writer(text, quoting=QUOTE_NONNUMERIC if quote_strings else QUOTE_MINIMAL)
        writer.writerow(self.columns)
        writer.writerows(["" if cell is None else cell for cell in row.values()] for row in self)
        if csv_file_path is None:
            return text.getvalue()
        with open(csv_file_path, "w", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
        return None

    def to_dict(self) -> List[Dict[str, Any]]:
        return list(self)

    def stats(self, specs: Sequence[StatSpec]) -> Dict[str, Dict[str, Any]]:
        """{column: {name: value}}; what fails is logged and left out."""
        found: Dict[str, Dict[str, Any]] = {}
        for spec in specs:
            name = spec.agg_name or str(getattr(spec.agg, "__name__", type(spec.agg).__name__))
            try:
                value = spec.agg(self[spec.column])
                found.setdefault(spec.column, {})[name] = value if spec.round is None else round(value, spec.round)
            except Exception as error:
                logger.warning("no %s of %s: %s", name, spec.column, error)
        return {column: values for column, values in found.items() if values}
