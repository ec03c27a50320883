"""The rules of BigQuery's fields: what a row, a value and a schema must be like."""
import calendar
import json
import math
import re
import time

TYPES = {"STRING", "INTEGER", "INT64", "FLOAT", "FLOAT64", "BOOLEAN", "BOOL", "TIMESTAMP", "RECORD", "STRUCT", "NUMERIC", "DATE", "JSON", "BYTES"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")


class Bad(Exception):
    """Why a row is refused: message and location."""

    def __init__(self, message, location=""):
        super().__init__(message)
        self.location = location


def check_scalar(field, value):
    kind, name = field["type"], field["name"]
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    good = {
        "STRING": isinstance(value, str),
        "INTEGER": isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2 ** 53 or
        isinstance(value, str) and re.fullmatch(r"-?\d{1,19}", value) and -2 ** 63 <= int(value) < 2 ** 63,
        "FLOAT": number and math.isfinite(value),
        "BOOLEAN": isinstance(value, bool),
        "TIMESTAMP": isinstance(value, str) and TIME.fullmatch(value),
    }
    kind = {"INT64": "INTEGER", "FLOAT64": "FLOAT", "BOOL": "BOOLEAN", "NUMERIC": "FLOAT"}.get(kind, kind)
    if not good.get(kind, False):
        raise Bad(f"Cannot convert value to {kind.lower()}: {json.dumps(value)[:60]}", name)


def check_field(field, value):
    name, mode = field["name"], field.get("mode", "NULLABLE")
    if mode == "REPEATED":
        if not isinstance(value, list):
            raise Bad(f"Repeated field must be imported as a JSON array. Field: {name}.", name)
        for entry in value:
            if entry is None:
                raise Bad(f"Only optional fields can be set to NULL. Field: {name}; Value: NULL", name)
            check_one(field, entry)
    elif value is None:
        if mode == "REQUIRED":
            raise Bad(f"Missing required field: {name}.", name)
    else:
        check_one(field, value)


def check_one(field, value):
    if field["type"] in ("RECORD", "STRUCT"):
        check_row(field["fields"], value)
    else:
        check_scalar(field, value)


def check_row(fields, row):
    if not isinstance(row, dict):
        raise Bad("This field: is not a record.")
    known = {field["name"].lower(): field for field in fields}
    for name, value in row.items():
        if name.lower() not in known:
            raise Bad(f"no such field: {name}.", name)
        check_field(known[name.lower()], value)
    for field in fields:
        if field.get("mode") == "REQUIRED" and field["name"] not in row:
            raise Bad(f"Missing required field: {field['name']}.", field["name"])


def check_fields(fields, old=()):
    """A schema that is sent: names, types, modes; and that a patch takes nothing away."""
    for field in fields:
        if not re.fullmatch(r"[A-Za-z_]\w*", field.get("name", "")) or field.get("type") not in TYPES:
            raise Bad(f"Invalid field {field}")
    for before, after in zip(old, fields):
        if before.get("fields"):
            check_fields(after.get("fields", []), before["fields"])
        plain = {key: value for key, value in after.items() if key != "fields"}
        if plain != {key: value for key, value in before.items() if key != "fields"}:
            raise Bad(f"Provided Schema does not match: {before['name']} has changed")
    if len(fields) < len(old):
        raise Bad("Provided Schema does not match: fields are missing")
    for field in fields[len(old):]:
        if old and field.get("mode") == "REQUIRED":
            raise Bad(f"Cannot add required fields to an existing schema. (field: {field['name']})")


def over_rest(field, value, element=False):
    """A value as a query's answer has it: scalars are strings, times are seconds since 1970, lists and records are wrapped."""
    if field.get("mode") == "REPEATED" and not element:
        return [{"v": over_rest(field, entry, True)} for entry in value or []]
    if value is None:
        return None
    if field["type"] in ("RECORD", "STRUCT"):
        return {"f": [{"v": over_rest(member, value.get(member["name"]))} for member in field["fields"]]}
    if field["type"] == "TIMESTAMP":
        seconds = calendar.timegm(time.strptime(value[:19].replace("T", " "), "%Y-%m-%d %H:%M:%S"))
        fraction = re.search(r"\.\d+", value)
        return f"{(seconds + float(fraction[0] if fraction else 0)) / 1e9:.15f}E9"
    return str(value).lower() if isinstance(value, bool) else str(value)
