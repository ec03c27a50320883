"""DuckDB makes Parquet of a run store by the very lines of docs/query.md, and what is in it is what the runs' files have."""
import csv
import json
import os
import re

from common import BIN, ROOT, check, fresh, run

READ = """
import json, sys, duckdb
for sql in json.loads(sys.argv[1]):
    rows = duckdb.sql(sql)
    print(json.dumps({"names": rows.columns, "rows": rows.fetchall()} if rows is not None else {}, default=str))
"""


def check_parquet(python):
    folder = fresh("parquet")
    env = {**os.environ, "TACHO_STORE": str(folder / "store"), "TACHO_NO_CLOUD": "1"}
    # The second has other columns.
    for options in ((), ("--no-probe", "load", "--tag", "a=b")):
        run(BIN / "tacho", "run", "-q", "-i", "0.1", *options, "--", "sleep", "0.5", env=env)
    lines = re.findall(r"```sql\n(COPY .*?);\n```", (ROOT / "docs/query.md").read_text(), re.S)
    check("parquet: docs/query.md has two statements", len(lines) == 2, lines)
    asked = ["SELECT * FROM 'samples.parquet' ORDER BY run, timestamp", "SELECT id, outcome.exit_code FROM 'runs.parquet' ORDER BY id"]
    script = folder / "read.py"
    script.write_text(READ)
    said = run(python, script, json.dumps([line.replace("STORE", str(folder / "store")) for line in lines] + asked), cwd=folder)
    samples, runs = (json.loads(line) for line in said.splitlines()[-2:])
    folders = sorted((folder / "store").iterdir())
    check("parquet: each run", runs["rows"] == [[one.name, 0] for one in folders], runs["rows"])
    cells = [dict(zip(samples["names"], row)) for row in samples["rows"]]
    count = 0
    for one in folders:
        with open(one / "metrics.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        mine = [row for row in cells if row["run"] == one.name]
        same = len(mine) == len(rows) and all(cell == "" and of[name] is None or cell != "" and float(of[name]) == float(cell)
                                              for row, of in zip(rows, mine) for name, cell in row.items())
        check(f"parquet: every cell of {len(rows)} rows", len(rows) > 2 and same, (rows[:1], mine[:1]))
        count += len(rows)
    check("parquet: no other rows", count == len(cells), (count, len(cells)))
