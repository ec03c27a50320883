"""The OCI image, as an archive of an image layout; no daemon makes it."""
import datetime
import json
import tempfile
from pathlib import Path

from . import archives, common
from .archives import Entry
from .common import PROGRAMS, ROOT, WORK, epoch, run, version, write
from .tree import other_names

# What NVIDIA's library, which the machine brings, asks for beside tacho-gpu's own.
FOR_NVIDIA = ("librt.so.1",)


def blob(data, kind):
    digest = archives.sha256(data)
    return Entry(f"blobs/sha256/{digest}", data), {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def make(programs, arch, out):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "rootfs"
        # The programs stay as they are: stripped already, and the bill of materials has their checksums.
        env = {"STRIP": ":", "TACHO_SYSROOT": "" if arch == common.host_architecture() else str(WORK / f"sysroot-{arch}")}
        run(ROOT / "packaging/rootfs", root, *(programs / name for name in PROGRAMS), *FOR_NVIDIA, env=env)
        entries = [entry for entry in archives.of_folder(root)]
    entries += [Entry(f"usr/{entry.name}", link=entry.link) for entry in other_names()]
    for entry in entries:
        if entry.data is None and entry.link is None and entry.name != "tmp":
            entry.mode = 0o755
    layer = archives.tar(entries, epoch())
    packed, layer_facts = blob(archives.gz(layer), "layer.v1.tar+gzip")
    created = datetime.datetime.fromtimestamp(epoch(), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {"org.opencontainers.image.title": "tacho", "org.opencontainers.image.version": version(), "org.opencontainers.image.licenses": "Apache-2.0"}
    config, config_facts = blob(as_json({
        "created": created, "architecture": arch, "os": "linux",
        "config": {"User": "65534", "Entrypoint": ["/usr/bin/tacho"], "Env": ["PATH=/usr/bin", "HOME=/tmp"], "WorkingDir": "/tmp", "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{archives.sha256(layer)}"]},
        "history": [{"created": created, "created_by": "scripts/package image"}]}), "config.v1+json")
    manifest, manifest_facts = blob(as_json({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config_facts,
                                             "layers": [layer_facts], "annotations": labels}), "manifest.v1+json")
    manifest_facts["platform"] = {"architecture": arch, "os": "linux"}
    manifest_facts["annotations"] = {"org.opencontainers.image.ref.name": version()}
    index = as_json({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest_facts]})
    whole = archives.tar([Entry("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'), Entry("index.json", index), packed, config, manifest], epoch())
    return write(out / f"tacho-{version()}-linux-{arch}.oci.tar", whole)
