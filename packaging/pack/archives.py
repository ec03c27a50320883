"""Archives with the same bytes each time: names sorted, owner 0:0, one time, no other facts of the machine."""
import gzip
import hashlib
import io
import os
import tarfile


class Entry:
    """A file, folder or symbolic link of a package."""

    def __init__(self, name, data=None, mode=0o644, link=None):
        self.name, self.data, self.mode, self.link = name, data, mode, link


def parents(names):
    """All folders above these names."""
    folders = set()
    for name in names:
        while "/" in name:
            name = name.rsplit("/", 1)[0]
            folders.add(name)
    return folders


def tar(entries, when):
    """Bytes of a ustar archive; folders are added."""
    known = {entry.name: entry for entry in entries}
    for folder in parents(known):
        known.setdefault(folder, Entry(folder, mode=0o755))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(known):
            entry = known[name]
            info = tarfile.TarInfo(name)
            info.mtime, info.mode = when, entry.mode
            if entry.link is not None:
                info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.link, 0o777
                archive.addfile(info)
            elif entry.data is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                info.size = len(entry.data)
                archive.addfile(info, io.BytesIO(entry.data))
    return out.getvalue()


def gz(data):
    """As gzip -n -9: no name, no time; versions of Python disagree on how to call the system."""
    packed = bytearray(gzip.compress(data, 9, mtime=0))
    packed[8:10] = b"\x02\x03"
    return bytes(packed)


def of_folder(root):
    """The entries of a folder of the disk."""
    entries = []
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            inside = os.path.relpath(path, root)
            if os.path.islink(path):
                entries.append(Entry(inside, link=os.readlink(path)))
            elif os.path.isdir(path):
                entries.append(Entry(inside, mode=os.stat(path).st_mode & 0o7777))
            else:
                with open(path, "rb") as file:
                    entries.append(Entry(inside, file.read(), os.stat(path).st_mode & 0o7777))
    return entries


def unpack(entries, root):
    """Puts entries under a folder of the disk."""
    for entry in sorted(entries, key=lambda entry: entry.name):
        path = root / entry.name
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry.link is not None:
            path.symlink_to(entry.link)
        elif entry.data is None:
            path.mkdir(exist_ok=True)
            path.chmod(entry.mode)
        else:
            path.write_bytes(entry.data)
            path.chmod(entry.mode)


def sha256(data):
    return hashlib.sha256(data).hexdigest()
