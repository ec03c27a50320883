"""The bill of materials, SPDX 2.3: the programs with their checksums, and everything that is linked into them."""
import datetime
import json
import re
import subprocess

from . import archives, common
from .common import PROGRAMS, ROOT, WORK, epoch, version

# Debian's package (binary, or source where the archive is built from it), its licence, and the programs that have it inside.
EACH, DELIVERER = ("tacho", "tacho-deliver", "tacho-query"), ("tacho-deliver",)
LINKED = [
    ("libc6-dev", "LGPL-2.1-or-later", EACH),
    ("libstdc++-12-dev", "GPL-3.0-or-later WITH GCC-exception-3.1", EACH),
    ("libmd-dev", "BSD-3-Clause", EACH),
    ("zlib1g-dev", "Zlib", EACH),
    ("libtomlplusplus-dev", "MIT", ("tacho",)),
    ("nlohmann-json3-dev", "MIT", EACH),
    ("libdeflate-dev", "MIT", DELIVERER),
    ("libsnappy-dev", "BSD-3-Clause", DELIVERER),
    ("libboost-dev", "BSL-1.0", DELIVERER),
    ("libsqlite3-dev", "blessing", ("tacho-query",)),
    ("libnghttp2-dev", "MIT", DELIVERER),
    ("openssl", "Apache-2.0", DELIVERER),
    ("curl", "curl", DELIVERER),
]
SOURCES = ("openssl", "curl")


def name(arch):
    return f"tacho-{version()}-{arch}.spdx.json"


def versions(arch):
    """Debian's versions of what is linked in; the newer ones of a sysroot beat the system's."""
    wanted = [package for package, _, _ in LINKED if package not in SOURCES]
    found = {}
    done = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${Version}\\n", *wanted], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    for file in (WORK / f"sysroot-{arch}" / "versions", WORK / f"libs-{arch}" / "versions"):
        if file.is_file() and (arch != common.host_architecture() or "libs" in file.parent.name):
            lines += file.read_text().splitlines()
    for line in lines:
        if len(line.split()) == 2:
            found[line.split()[0]] = line.split()[1]
    return found


def package(identity, label, number, licence, purl, **more):
    entry = {"SPDXID": f"SPDXRef-{re.sub(r'[^A-Za-z0-9.-]+', '-', identity)}", "name": label, "versionInfo": number, "downloadLocation": "NOASSERTION",
             "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION", **more}
    if purl:
        entry["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
    return entry


def linked(arch):
    """(entry, programs that have it) of everything linked in."""
    known = versions(arch)
    for label, licence, users in LINKED:
        number = known.get(label)
        if number is None:
            continue  # built from other programs (--programs): what they were linked with is not known
        kind = "source" if label in SOURCES else arch
        encoded = label.replace("+", "%2B")
        purl = f"pkg:deb/debian/{encoded}@{number.replace(':', '%3A').replace('+', '%2B').replace('~', '~')}?arch={kind}&distro=bookworm"
        yield package(label, label, number, licence, purl), users
    zig = re.match(r"ziglang==(\S+)", (ROOT / "packaging/zig.txt").read_text()).group(1)
    yield package("libcxx", "libc++ of zig", zig, "Apache-2.0 WITH LLVM-exception", f"pkg:pypi/ziglang@{zig}"), ("tacho-gpu",)


def text(programs, arch):
    sums = {program: archives.sha256((programs / program).read_bytes()) for program in PROGRAMS}
    whole = archives.sha256("".join(f"{sums[program]}  {program}\n" for program in PROGRAMS).encode())
    packages = [package("Package-tacho", "tacho", version(), "Apache-2.0", "", supplier="Organization: The tacho authors", primaryPackagePurpose="APPLICATION")]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", packages[0]["SPDXID"])]
    for program in PROGRAMS:
        packages.append(package(f"Program-{program}", program, version(), "Apache-2.0", "", packageFileName=f"bin/{program}", primaryPackagePurpose="APPLICATION",
                                checksums=[{"algorithm": "SHA256", "checksumValue": sums[program]}]))
        relations.append((packages[0]["SPDXID"], "CONTAINS", packages[-1]["SPDXID"]))
    for entry, users in linked(arch):
        packages.append(entry)
        relations += [(f"SPDXRef-Program-{user}", "STATIC_LINK", entry["SPDXID"]) for user in users]
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"tacho-{version()}-{arch}",
        "documentNamespace": f"https://spdx.org/spdxdocs/tacho-{version()}-{arch}-{whole[:32]}",
        "creationInfo": {"created": datetime.datetime.fromtimestamp(epoch(), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": [f"Tool: tacho-package-{version()}"]},
        "packages": packages,
        "relationships": [{"spdxElementId": one, "relationshipType": how, "relatedSpdxElement": other} for one, how, other in relations],
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
