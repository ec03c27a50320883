#!/usr/bin/env python3
"""cromwell_document.py CALLS FILE: writes a workflow's metadata with so many calls, about 2 kB each, as Cromwell gives it out for scattered
tasks on GCP Batch: a tenth of the calls in sub-workflows, some preempted, some cached. Prints its size in bytes."""
import json
import os
import sys

BATCH = 1000


def call(index):
    cached, preempted = index % 50 == 7, index % 20 == 3
    entry = {
        "executionStatus": "RetryableFailure" if preempted else "Done", "shardIndex": "@", "attempt": 1, "returnCode": 0,
        "start": f"2026-10-{index % 28 + 1:02}T08:01:{index % 60:02}.123Z", "end": f"2026-10-{index % 28 + 1:02}T09:30:{index % 60:02}.456Z",
        "preemptible": "true", "jobId": f"projects/lab/locations/us-central1/jobs/job-{index:08x}-5d96fd3c-1a89-40ae-8095-c364181cda46",
        "dockerImageUsed": "us.gcr.io/broad-gatk/gatk@sha256:2a5c9d1f0e7b44bb9a6c7a8e5f5b2f3d1c0e9b8a7f6e5d4c3b2a190817263544",
        "runtimeAttributes": {"cpu": "4", "memory": "14.5 GB", "disks": "local-disk 200 SSD,/mnt/reference 375 LOCAL", "docker": "us.gcr.io/broad-gatk/gatk:4.5.0.0",
                              "preemptible": "3", "zones": "us-central1-a,us-central1-b,us-central1-c,us-central1-f", "bootDiskSizeGb": "10", "maxRetries": "1",
                              "cpuPlatform": "Intel Cascade Lake", "noAddress": "false", "failOnStderr": "false", "continueOnReturnCode": "0"},
        "inputs": {"sample": f"NA{index:08}", "threads": 4, "scale": 0.25, "interval_list": [f"chr{n}:{index * 1000}-{index * 1000 + 999}" for n in range(1, 13)],
                   "input_bam": f"gs://fc-secure-1234/genomes/batch-{index // 1000}/NA{index:08}/NA{index:08}.cram",
                   "input_bai": f"gs://fc-secure-1234/genomes/batch-{index // 1000}/NA{index:08}/NA{index:08}.cram.crai",
                   "reference": {"fasta": "gs://gcp-public-data--broad-references/hg38/v0/Homo_sapiens_assembly38.fasta",
                                 "index": "gs://gcp-public-data--broad-references/hg38/v0/Homo_sapiens_assembly38.fasta.fai",
                                 "dict": "gs://gcp-public-data--broad-references/hg38/v0/Homo_sapiens_assembly38.dict"},
                   "note": "text with a \"quote\", a tab\t and a caf\u00e9", "optional": None},
    }
    if cached:
        entry["callCaching"] = {"hit": True, "result": "Cache Hit: 4f2f0a16-0000-4000-8000-000000000001:wf.align:1"}
    else:
        entry["gcpBatch"] = {"googleProject": "lab", "executionBucket": "gs://cromwell-executions", "monitoringScript": ""}
    return json.dumps(entry)


def main():
    calls, path = int(sys.argv[1]), sys.argv[2]
    variants = [call(index) for index in range(997)]  # enough to be no pattern; made once, because Python is slow

    def variant(index):
        return variants[index % 997].replace('"@"', str(index), 1)

    with open(path, "w", encoding="utf-8") as file:
        file.write('{"workflowName":"wf","calls":{"wf.align":[')
        plain = calls - calls // 10
        for first in range(0, plain, BATCH):
            file.write(",".join(variant(index) for index in range(first, min(first + BATCH, plain))) + ("," if first + BATCH < plain else ""))
        file.write('],"wf.sub":[')
        inner = calls - plain
        for first in range(0, inner, 10):
            part = ",".join(variant(index) for index in range(first, min(first + 10, inner)))
            file.write(("," if first else "") + '{"executionStatus":"Done","shardIndex":%d,"attempt":1,"subWorkflowMetadata":{"calls":{"sub.task":[%s]},'
                       '"workflowName":"sub","id":"00000000-0000-4000-8000-%012x","status":"Succeeded"}}' % (first, part, first))
        file.write(']},"id":"5d96fd3c-1a89-40ae-8095-c364181cda46","status":"Succeeded","start":"2026-10-01T08:00:00Z","end":"2026-10-28T10:00:00Z"}\n')
    print(os.path.getsize(path))


if __name__ == "__main__":
    main()
