"""A real Snakemake runs a workflow with recording shells first in PATH: what is recorded, and that nothing of the workflow changes."""
import csv
import json
import os

from common import BIN, BUILD, check, fresh, run

SHELLS = BUILD / "libexec/tacho/shell"
WORKFLOW = """
rule all:
    input: "c.txt", "d.txt", "e.txt"
rule first:
    output: "a.txt"
    benchmark: "first.tsv"
    threads: 2
    shell: "bash -c 'sleep 0.6; echo one' > {output}"
rule second:
    input: "a.txt"
    output: "b.txt", bench="b.benchmark.tsv"
    shell: "tacho run -q -o {output.bench} -- sleep 0.3; cat {input} > {output[0]}; echo two >> {output[0]}"
rule third:
    input: "b.txt"
    output: "c.txt"
    script: "third.py"
rule fourth:
    output: "d.txt"
    run:
        shell("echo four > {output}")
rule pipes:
    output: "e.txt"
    shell: "false | true || echo pipefail > {output}"
"""


def workflow(snakemake, name, path, cores="2"):
    folder = fresh(f"snakemake-{name}")
    (folder / "Snakefile").write_text(WORKFLOW)
    (folder / "third.py").write_text("open(snakemake.output[0], 'w').write(open(snakemake.input[0]).read() + 'three\\n')\n")
    env = {**os.environ, "PATH": path, "TACHO_STORE": str(folder / "store"), "XDG_CACHE_HOME": str(folder / "cache")}
    said = run(snakemake, "--cores", cores, "--directory", folder, "-s", folder / "Snakefile", env=env)
    runs = [json.loads(file.read_text()) for file in (folder / "store").glob("*/run.json")]
    return folder, runs, said


def check_snakemake(snakemake):
    venv = str(snakemake.parent)
    plain, _, _ = workflow(snakemake, "plain", f"{venv}:{BIN}:{os.environ['PATH']}")
    folder, runs, said = workflow(snakemake, "recorded", f"{SHELLS}:{venv}:{BIN}:{os.environ['PATH']}")
    for name in ("a.txt", "b.txt", "c.txt", "d.txt", "e.txt"):
        check(f"snakemake: {name} is as without tacho", (folder / name).read_text() == (plain / name).read_text())
    check("snakemake: set -o pipefail stays", (folder / "e.txt").read_text() == "pipefail\n")
    check("snakemake: says no word of tacho", "tacho:" not in said, said)
    outer = [one for one in runs if one.get("nested") == "pass"]
    check("snakemake: a run for each job with a shell", len(outer) == 5, [one["command"] for one in outer])
    check("snakemake: the engine is found", {one["detected"].get("orchestrator") for one in outer} == {"snakemake"}, [one.get("detected") for one in outer])
    texts = [" ".join(one["command"]) for one in outer]
    first = next((one for one, text in zip(outer, texts) if "echo one" in text), None)
    check("snakemake: threads are what was asked for", first is not None and first.get("requested", {}).get("cpus") == 2, first and first.get("requested"))
    with open(folder / "first.tsv", encoding="utf-8") as file:
        own = next(csv.DictReader(file, delimiter="\t"))
    check("snakemake: its own benchmark is untouched", float(own["s"]) >= 0.6, own)
    with open(folder / "b.benchmark.tsv", encoding="utf-8") as file:
        ours = next(csv.DictReader(file, delimiter="\t"))
    columns = [name for name in own if name in ours]
    check("snakemake: tacho's benchmark has its columns", list(ours) == columns and 0.3 <= float(ours["s"]) < 10, (list(own), ours))
    exported = run(BIN / "tacho", "export", first["id"], "-f", "snakemake", "--store", folder / "store")
    check("snakemake: export has the same header", exported.splitlines()[0].split("\t") == list(ours))
    check("snakemake: and the same time", abs(float(exported.splitlines()[1].split("\t")[0]) - float(own["s"])) < 0.5, (exported, own))
