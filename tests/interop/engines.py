#!/usr/bin/env python3
"""scripts/interop engines: tacho under a real Slurm, a real Snakemake and a real Nextflow (and, for its bad surroundings, under wrappers of the shape that it gives
its tasks), and the GitHub action's step with the environment of a runner; DuckDB on a run store."""
import os
import sys

from common import BUILD, ROOT, case, check, finish, run, say, venv

os.environ["TACHO_BUILD_DIR"] = str(BUILD)
sys.path[:0] = [str(ROOT / "tests/e2e")]
import unittest  # noqa: E402

import engines_nextflow  # noqa: E402
import engines_parquet  # noqa: E402
import engines_slurm  # noqa: E402
import engines_snakemake  # noqa: E402
import run as runner  # noqa: E402
import slurm_cluster  # noqa: E402
import test_hooks  # noqa: E402
import test_packaging  # noqa: E402


def suite(name, tests):
    """Tests of the end-to-end suite that are about an engine."""
    for test in runner.flatten(unittest.TestLoader().loadTestsFromTestCase(tests)):
        outcome = runner.Outcome()
        test.run(outcome)
        check(f"{name}: {test._testMethodName}", not outcome.text and not outcome.reason, outcome.text or outcome.reason)


def slurm(reportseff, nextflow):
    cluster = slurm_cluster.Cluster()
    cluster.reportseff = reportseff
    say(f"{cluster.version}, two nodes")
    if "--large" in sys.argv:
        return case(engines_slurm.large_array, cluster)
    for part in (engines_slurm.batch, engines_slurm.array, engines_slurm.steps, engines_slurm.requeue, engines_slurm.heterogeneous,
                 engines_slurm.cancelled, engines_slurm.every_task):
        case(part, cluster)
    case(engines_nextflow.check_on_slurm, cluster, nextflow)


def main():
    python = venv("engines", "snakemake>=9", "reportseff==2.10.3")
    programs = python.parent
    say("snakemake " + run(programs / "snakemake", "--version").strip())
    say(run(programs / "reportseff", "--version").strip())
    nextflow = [] if "--large" in sys.argv else engines_nextflow.install()
    case(slurm, programs / "reportseff", nextflow)
    if "--large" in sys.argv:
        finish()
    say(f"nextflow {engines_nextflow.VERSION}")
    case(engines_nextflow.check_nextflow, nextflow)
    case(engines_snakemake.check_snakemake, programs / "snakemake")
    case(engines_parquet.check_parquet, venv("duckdb", "duckdb"))
    case(suite, "nextflow wrapper", test_hooks.Nextflow)
    case(suite, "github runner", test_packaging.Action)
    finish()


main()
