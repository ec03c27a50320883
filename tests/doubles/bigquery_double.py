#!/usr/bin/env python3
"""A BigQuery that forgives nothing: schema, types, REQUIRED, NULL in REPEATED, unknown fields, limits, partition bounds, tokens and etags are
checked, insertIds are remembered for a minute, and faults.py injects the weather. Metadata server and token endpoint are in the same
program (google_double.py). Tables are kept in memory.

    bigquery_double.py [--config config.json] [--faults rules.json] [--log seen.jsonl] [--until-eof]

prints its port. Paths: /bigquery/v2/… BigQuery, /token the token endpoint, /computeMetadata/v1/… the metadata server. config.json, all
optional, beside what google_double.py has:

    auth          true: a good token is needed (otherwise none may be sent)
    may           list of what is allowed: "get" "create" "insert" "patch" "dataset"; all when absent
    max_rows, max_bytes   limits of a request
    only_culprits insertErrors name the bad rows, and not those that were stopped by them
    page_rows     rows of a query's page, at most
    column_lag_s  the streaming side learns of new columns so much later than tables.get
    table_lag_s   insertAll answers 404 for so long after a table was made
    gzip_answers  answers are compressed

For the tests, beside what faults.py has: GET /__tables, POST /__tables {"p.d.t": {"fields": […], "partition": "…"}}, POST /__config,
POST /__metadata. A fault's "do" may say {"rows": [{"index": 0, "reason": "timeout"}]} (insertErrors for those; the others are taken) or
{"stopped": true} (all rows stopped).
"""
import gzip
import hashlib
import json
import re
import time
import urllib.parse

import faults
from faults import Answer, json_answer
from google_double import Google
from bigquery_fields import Bad, check_fields, check_row, over_rest

PATH = re.compile(r"/bigquery/v2/projects/(?P<project>[^/]+)(?:/datasets(?:/(?P<dataset>[^/]+)(?:/tables(?:/(?P<table>[^/]+)(?P<insert>/insertAll)?)?)?)?)?"
                  r"(?P<queries>/queries(?:/(?P<job>\w+))?)?")
# What tells rows of metadata apart, and how a query says it.
KEY = ("workflow_id", "task_call_name", "shard", "attempt", "execution_status")
KEY_SQL = ("SUBSTR(TO_HEX(SHA256(CONCAT(workflow_id, '\\n', task_call_name, '\\n', CAST(shard AS STRING), '\\n', CAST(attempt AS STRING), '\\n', "
           "execution_status))), 1, 16)")
KEEP_S = 60  # how long insertIds are remembered


class Table:
    def __init__(self, fields, partition=None, filtered=False):
        self.fields, self.partition, self.filtered = fields, partition, filtered
        self.etag = 1
        self.made = time.time()
        self.streaming = (self.made, fields)  # what the streaming side knows: (since, fields before)
        self.rows, self.ids = [], {}          # rows in order; insertId: (time, text)
        self.repeated, self.conflicts = 0, []

    def describe(self):
        found = {"kind": "bigquery#table", "etag": f'"{self.etag}"', "schema": {"fields": self.fields}}
        if self.partition:
            found["timePartitioning"] = {"type": "DAY", "field": self.partition}
            found["requirePartitionFilter"] = self.filtered
        return found

    def fields_for_streaming(self, lag_s):
        since, before = self.streaming
        return before if time.time() - since < lag_s else self.fields


def error(status, reason, message, headers=None):
    return json_answer(status, {"error": {"code": status, "message": message, "errors": [{"reason": reason, "message": message, "domain": "global"}]}}, headers)


class BigQuery(faults.Double):
    def __init__(self, config=None, rules=(), log_path=None):
        super().__init__(rules, log_path)
        self.config = config or {}
        self.google = Google(self.config)
        self.datasets, self.tables = {}, {}
        self.complaints = []  # what a good client does not do
        self.answer_rows = []  # of the last query that listed some

    def add_table(self, name, fields, partition=None, filtered=True):
        project, dataset, _ = name.rsplit(".", 2)
        self.datasets.setdefault((project, dataset), {})
        self.tables[name] = Table(fields, partition, filtered)

    def rows(self, name):
        with self.lock:
            return [row for _, row in self.tables[name].rows] if name in self.tables else []

    def is_allowed(self, what):
        return what in self.config.get("may", ("get", "create", "insert", "patch", "dataset"))

    def listing(self):
        with self.lock:
            return {name: {"fields": table.fields, "partition": table.partition, "filtered": table.filtered, "rows": [row for _, row in table.rows],
                           "ids": [insert_id for insert_id, _ in table.rows], "repeated": table.repeated, "conflicts": table.conflicts}
                    for name, table in self.tables.items()}

    # --- calls ---
    def dataset_call(self, handler, project, dataset, body):
        if handler.command == "GET":
            return json_answer(200, {"kind": "bigquery#dataset", "id": f"{project}:{dataset}"}) if (project, dataset) in self.datasets else \
                error(404, "notFound", f"Not found: Dataset {project}:{dataset}")
        reference = body["datasetReference"]
        if not self.is_allowed("dataset"):
            return error(403, "accessDenied", "Access Denied: bigquery.datasets.create")
        if (project, reference["datasetId"]) in self.datasets:
            return error(409, "duplicate", f"Already Exists: Dataset {project}:{reference['datasetId']}")
        if reference["projectId"] != project or set(body) - {"datasetReference", "location"}:
            return error(400, "invalid", "datasetReference")
        self.datasets[project, reference["datasetId"]] = body
        return json_answer(200, {"kind": "bigquery#dataset"})

    def create_table(self, project, dataset, body):
        name = f"{project}.{dataset}.{body['tableReference']['tableId']}"
        if (project, dataset) not in self.datasets:
            return error(404, "notFound", f"Not found: Dataset {project}:{dataset}")
        if not self.is_allowed("create"):
            return error(403, "accessDenied", "Access Denied: bigquery.tables.create")
        if name in self.tables:
            return error(409, "duplicate", f"Already Exists: Table {name}")
        fields, partition = body["schema"]["fields"], body.get("timePartitioning", {})
        check_fields(fields)
        column = partition.get("field")
        if column and (partition.get("type") != "DAY" or not any(field["name"] == column and field["type"] == "TIMESTAMP" for field in fields)):
            raise Bad("The field specified for partitioning cannot be found in the schema")
        self.tables[name] = Table(fields, column, body.get("requirePartitionFilter", False))
        return json_answer(200, self.tables[name].describe())

    def table_call(self, handler, name, body):
        table = self.tables.get(name)
        if not self.is_allowed("get" if handler.command == "GET" else "patch"):
            return error(403, "accessDenied", f"Access Denied: Table {name}")
        if table is None:
            return error(404, "notFound", f"Not found: Table {name}")
        if handler.command == "GET":
            return json_answer(200, table.describe())
        if handler.headers.get("If-Match") != f'"{table.etag}"':
            return error(412, "conditionNotMet", "Precondition Failed")
        if set(body) != {"schema"}:
            raise Bad("a patch changes the schema only")
        check_fields(body["schema"]["fields"], table.fields)
        table.streaming = (time.time(), table.fields)
        table.fields = body["schema"]["fields"]
        table.etag += 1
        return json_answer(200, table.describe())

    def insert(self, handler, name, body, size):
        table, config = self.tables.get(name), self.config
        if not self.is_allowed("insert"):
            return error(403, "accessDenied", f"Access Denied: Table {name}: Permission bigquery.tables.updateData denied")
        if table is None or time.time() - table.made < config.get("table_lag_s", 0):
            return error(404, "notFound", f"Not found: Table {name}")
        rows = body.get("rows", [])
        if size > config.get("max_bytes", 10_485_760):
            return error(400, "invalid", "Request payload size exceeds the limit: 10485760 bytes.")
        if len(rows) > config.get("max_rows", 10_000):
            return error(400, "invalid", f"too many rows present in the request, limit: {config.get('max_rows', 10_000)} row count: {len(rows)}.")
        if not rows or body.get("skipInvalidRows") is not False or body.get("ignoreUnknownValues") is not False:
            return error(400, "invalid", "No rows present in the request, or wrong options.")
        do = handler.action.get("do", {})
        if do.get("stopped"):
            return self.row_errors({index: ("stopped", "", "") for index in range(len(rows))})
        wrong = self.wrong_rows(table, rows)
        if wrong:
            named = wrong if config.get("only_culprits") else range(len(rows))
            return self.row_errors({index: wrong.get(index, ("stopped", "", "")) for index in named})
        faulty = {entry["index"]: (entry["reason"], entry.get("location", ""), entry.get("message", "")) for entry in do.get("rows", ())}
        if any(reason == "invalid" for reason, _, _ in faulty.values()):
            return self.row_errors({index: faulty.get(index, ("stopped", "", "")) for index in range(len(rows))})
        for index, row in enumerate(rows):
            if index not in faulty:
                self.keep(table, row)
        return self.row_errors(faulty) if faulty else json_answer(200, {"kind": "bigquery#tableDataInsertAllResponse"})

    def wrong_rows(self, table, rows):
        wrong, today = {}, time.time()
        fields = table.fields_for_streaming(self.config.get("column_lag_s", 0))
        for index, row in enumerate(rows):
            try:
                if set(row) != {"insertId", "json"} or not re.fullmatch(r"[\w.:-]{1,128}", row["insertId"]):
                    raise Bad("insertId")
                if len(json.dumps(row["json"], ensure_ascii=False).encode()) > 5_242_880:
                    raise Bad("Row size is larger than 5242880")
                check_row(fields, row["json"])
                if table.partition and table.partition in row["json"]:
                    moment = time.mktime(time.strptime(row["json"][table.partition][:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
                    if not today - 1826 * 86400 < moment < today + 367 * 86400:
                        raise Bad("Value out of the allowed bounds: the partition is too old or too far ahead", table.partition)
            except Bad as bad:
                wrong[index] = ("invalid", bad.location, str(bad))
        return wrong

    @staticmethod
    def row_errors(errors):
        entries = [{"index": index, "errors": [{"reason": reason, "location": location, "debugInfo": "", "message": message}]}
                   for index, (reason, location, message) in sorted(errors.items())]
        return json_answer(200, {"kind": "bigquery#tableDataInsertAllResponse", "insertErrors": entries})

    @staticmethod
    def keep(table, row):
        now, text = time.time(), json.dumps(row["json"], sort_keys=True)
        before = table.ids.get(row["insertId"])
        table.ids[row["insertId"]] = (now, text)
        if before and before[1] != text:
            table.conflicts.append(row["insertId"])
        if before and now - before[0] < KEEP_S:
            table.repeated += 1
            return
        table.rows.append((row["insertId"], row["json"]))

    def query(self, project, body):
        """SELECT `column`, … FROM `p.d.t` WHERE `column` >= TIMESTAMP('day') gives rows, with dryRun the bytes that it would read. SELECT COUNT(*), SELECT COUNT(DISTINCT key) or SELECT DISTINCT key FROM `p.d.t` WHERE column = 'value' AND column IN ('a', 'b') AND start_time >= TIMESTAMP('day') …;
        needs a filter on the partition column."""
        plain = re.fullmatch(r"SELECT ((?:`\w+`(?:, )?)+) FROM `([^`]+)` WHERE `(\w+)` >= TIMESTAMP\('([\d-]+)'\)", body["query"])
        if plain and plain[2] in self.tables and body.get("useLegacySql") is False:
            return self.select(project, body, self.tables[plain[2]], re.findall(r"`(\w+)`", plain[1]), plain[3], plain[4])
        found = re.fullmatch(r"SELECT (COUNT\((?:DISTINCT (.*)|\*)\)|DISTINCT (.*)) FROM `([^`]+)` WHERE (.*)", body["query"].strip(), re.S)
        name = found[4] if found else ""
        if not found or (found[2] or found[3] or KEY_SQL) != KEY_SQL or body.get("useLegacySql") is not False or name not in self.tables:
            return error(400, "invalidQuery", "Syntax error or unknown table")
        table, where = self.tables[name], found[5]
        if table.filtered and table.partition not in where:
            return error(400, "invalidQuery", f"Cannot query over table '{name}' without a filter over column(s) '{table.partition}'")
        wanted = {column: [value] for column, value in re.findall(r"(\w+) = '([^']*)'", where)}
        wanted.update({column: re.findall(r"'([^']*)'", values) for column, values in re.findall(r"(\w+) IN \(([^)]*)\)", where)})
        days = [(column, sign, day) for column, sign, day in re.findall(r"(\w+) (>=|<) TIMESTAMP\('([^']*)'\)", where)]
        keys = [self.key(row) for _, row in table.rows if all(str(row.get(column)) in values for column, values in wanted.items()) and
                all((row[column] >= day) == (sign == ">=") for column, sign, day in days)]
        if not found[3]:
            count = len(set(keys)) if found[2] else len(keys)
            return json_answer(200, {"jobComplete": True, "rows": [{"f": [{"v": str(count)}]}], "jobReference": {"projectId": project, "jobId": "job1"}})
        self.answer_rows = [{"f": [{"v": key}]} for key in sorted(set(keys))]
        return self.page(project, 0, body.get("maxResults", 10_000))

    def select(self, project, body, table, names, time_column, day):
        if table.partition and time_column != table.partition:
            return error(400, "invalidQuery", f"Cannot query over table without a filter over column(s) '{table.partition}'")
        fields = {field["name"]: field for field in table.fields}
        if not set(names) <= set(fields):
            return error(400, "invalidQuery", f"Unrecognized name: {set(names) - set(fields)}")
        if body.get("dryRun"):
            return json_answer(200, {"jobComplete": True, "totalBytesProcessed": str(self.config.get("query_bytes", 1000))})
        self.answer_rows = [{"f": [{"v": over_rest(fields[name], row.get(name))} for name in names]} for _, row in table.rows if row[time_column] >= day]
        return self.page(project, 0, body.get("maxResults", 10_000))

    def page(self, project, start, most):
        end = start + min(most, self.config.get("page_rows", most))
        answer = {"jobComplete": True, "rows": self.answer_rows[start:end], "jobReference": {"projectId": project, "jobId": "job1"}}
        return json_answer(200, {**answer, **({"pageToken": f"p{end}"} if end < len(self.answer_rows) else {})})

    @staticmethod
    def key(row):
        return hashlib.sha256("\n".join(str(row[column]) for column in KEY).encode()).hexdigest()[:16]


class Handler(faults.Handler):
    def error_body(self, action):
        code, message = action.get("code"), action.get("message", "")
        if code is None:
            return "", "text/html"
        body = {"error": {"code": action["status"], "message": message, "errors": [{"reason": code, "message": message}], **action.get("extra", {})}}
        return json.dumps(body), "application/json"

    def control(self, body):
        double, route = self.double, self.route()
        if route == "/__tables" and self.command == "GET":
            return json_answer(200, {"tables": double.listing(), "complaints": double.complaints, "google": double.google.complaints})
        if route == "/__tables":
            for name, table in json.loads(body).items():
                double.add_table(name, table["fields"], table.get("partition"))
        elif route == "/__config":
            double.config.update(json.loads(body))
        elif route == "/__metadata":
            double.google.change(json.loads(body))
        else:
            return None
        return Answer(204)

    def answer(self, body):
        double = self.double
        if self.route() == "/token":
            return double.google.token(self, body)
        if self.route().startswith("/computeMetadata/v1/"):
            return double.google.metadata(self)
        with double.lock:
            answer = self.bigquery(body)
        if double.config.get("gzip_answers") and "gzip" in self.headers.get("Accept-Encoding", ""):
            answer.body = gzip.compress(answer.body)
            answer.headers["Content-Encoding"] = "gzip"
        return answer

    def bigquery(self, body):
        double, found = self.double, PATH.fullmatch(self.route())
        if found is None:
            return error(404, "notFound", "Not Found")
        self.look_at_headers()
        sent = self.headers.get("Authorization")
        if double.config.get("auth") and not double.google.is_good(sent):
            return error(401, "authError", "Request had invalid authentication credentials.")
        if sent and not double.config.get("auth"):
            double.complaints.append("a token was sent to an emulator")
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        try:
            return self.call(found, json.loads(body) if body else None, len(body))
        except Bad as bad:
            return error(400, "invalid", str(bad))
        except (ValueError, KeyError, TypeError) as bad:
            double.complaints.append(f"{self.path}: {bad!r}")
            return error(400, "badRequest", f"Invalid JSON payload received. {bad!r}")

    def call(self, found, body, size):
        double = self.double
        project, dataset, table = found["project"], found["dataset"], found["table"]
        if found["job"]:
            query = urllib.parse.parse_qs(self.path.partition("?")[2])
            return double.page(project, int(query["pageToken"][0].removeprefix("p")), int(query["maxResults"][0]))
        if found["queries"]:
            return double.query(project, body)
        if found["insert"]:
            return double.insert(self, f"{project}.{dataset}.{table}", body, size)
        if table:
            return double.table_call(self, f"{project}.{dataset}.{table}", body)
        if self.route().endswith("/tables"):
            return double.create_table(project, dataset, body)
        return double.dataset_call(self, project, dataset, body)

    def look_at_headers(self):
        wanted = {"User-Agent": r"tacho/.+", "Accept-Encoding": r"gzip"}
        if self.command in ("POST", "PATCH"):
            wanted["Content-Type"] = r"application/json"
        for name, pattern in wanted.items():
            if not re.fullmatch(pattern, self.headers.get(name, "")):
                self.double.complaints.append(f"{self.command} {self.path}: {name}: {self.headers.get(name)}")
        if "alt=json&prettyPrint=false" not in self.path:
            self.double.complaints.append(f"{self.path}: alt, prettyPrint")


def main():
    options = faults.arguments(__doc__.splitlines()[0], config=True).parse_args()
    faults.serve(Handler, BigQuery(faults.config_of(options), faults.rules_of(options), options.log), options)


if __name__ == "__main__":
    main()
