"""Arguments of track, attach and run as words of the command line."""
from __future__ import annotations

import os

from . import _units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Mapping, Optional, Union

    Text = Union[str, "os.PathLike[str]"]
    Texts = Union[Text, Iterable[Text]]
    Duration = Union[float, str]
    Tags = Union[Mapping[str, object], Iterable[str]]

METADATA = ("project_name", "stage_name", "task_name", "team", "env", "language", "orchestrator", "executor",
            "external_run_id", "container_image", "job_name")


def text(value: object, what: str) -> str:
    """As an argument can hold it: no NUL byte, and no half of a character."""
    is_path = isinstance(value, (bytes, os.PathLike))
    given: Any = value
    word = os.fsdecode(given) if is_path else str(given)
    if "\0" in word:
        raise ValueError(f"{what} holds a NUL character: {word!r}")
    try:
        os.fsencode(word)
    except UnicodeEncodeError:  # half of a character, or more than an ASCII locale has
        try:
            word = os.fsdecode(word.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError:
            word = os.fsdecode(word.encode("utf-8", "replace"))
    return word


def store_folder(value: object) -> str:
    """Absolute. An empty name would be the folder that the script happens to be in."""
    given: Any = value
    if not isinstance(given, (str, bytes, os.PathLike)):
        raise TypeError(f"store is the name of a folder, not {value!r}")
    word = text(value, "store")
    if not word:
        raise ValueError("store is empty: name a folder, or leave it out")
    return os.path.abspath(word)


def texts(value: Texts, what: str) -> List[str]:
    """One text, or several."""
    if isinstance(value, (str, bytes, os.PathLike)):
        return [text(value, what)]
    return [text(one, what) for one in value]


def _tags(tags: Tags) -> List[str]:
    given: Any = tags
    pairs: List[str] = [f"{key}={given[key]}" for key in given] if hasattr(given, "keys") else texts(given, "tags")
    for pair in pairs:
        if pair.find("=") < 1:
            raise ValueError(f"not a tag: {pair!r}; write KEY=VALUE or give a dict")
    return [text(pair, "tags") for pair in pairs]


def _metadata(metadata: Mapping[str, object]) -> List[str]:
    words: List[str] = []
    for key, value in metadata.items():
        name = key.replace("-", "_")
        if name not in METADATA:
            raise ValueError(f"no metadata field {key!r}{nearest(name, METADATA)}; those are {', '.join(METADATA)}")
        if value is not None:
            words.append(f"--{name.replace('_', '-')}={text(value, key)}")
    return words


def nearest(word: str, among: Iterable[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, list(among), 1, 0.5)
    return f", did you mean {close[0]}?" if close else ""


class Settings:
    """What is common to track and run; checked when it is made."""

    __slots__ = ("name", "store", "keep", "words")

    def __init__(self, name: Optional[str], interval: Duration, store: Optional[Text], keep: bool, output: Texts,
                 tags: Optional[Tags], metadata: Optional[Mapping[str, object]], probes: Texts, no_probes: Texts,
                 hide: Texts, options: Iterable[str]) -> None:
        self.name = None if name is None else text(name, "name")
        self.store = None if store is None else store_folder(store)
        self.keep = keep
        every = _units.interval(interval)
        # The default is the program's own, which TACHO_INTERVAL and a configuration file may change.
        words = [f"--interval={every:.9g}"] if every != 1.0 else []
        if self.name is not None:
            words.append(f"--job-name={self.name}")
        words += [f"--output={_place(one)}" for one in texts(output, "output")]
        words += [f"--tag={pair}" for pair in _tags(tags if tags is not None else ())]
        words += _metadata(metadata if metadata is not None else {})
        for option, values in (("probe", probes), ("no-probe", no_probes), ("hide", hide)):
            words += [f"--{option}={one}" for one in texts(values, option)]
        self.words = words + texts(options, "options")


def _place(output: str) -> str:
    """Files are relative to where we are now, not to where the command runs."""
    return output if "://" in output or output == "-" else os.path.abspath(output)


def temporary_folder() -> str:
    """A new private folder. OSError when there is no place for one."""
    failure = OSError("no place for temporary files")
    for place in (os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp", "/dev/shm", os.curdir):
        if not place:
            continue
        for _ in range(8):
            path = os.path.join(os.path.abspath(place), "tacho-" + os.urandom(8).hex())
            try:
                os.mkdir(path, 0o700)
                return path
            except FileExistsError:
                continue
            except OSError as error:
                failure = error
                break
    raise failure


def remove_folder(path: str, owner: int) -> None:
    """By the process that made it, and by no child of it."""
    if os.getpid() == owner:
        import shutil

        shutil.rmtree(path, ignore_errors=True)


def default_store() -> str:
    """Where the program keeps runs unless it is told otherwise (docs: --store)."""
    named = os.environ.get("TACHO_STORE")
    if named:
        return named
    environ: Dict[str, str] = dict(os.environ)
    for variable, below in (("XDG_STATE_HOME", "tacho/runs"), ("HOME", ".local/state/tacho/runs")):
        folder = environ.get(variable, "")
        if folder.startswith("/") and folder != "/nonexistent":
            return os.path.join(folder, below)
    return f"/var/tmp/tacho-{os.geteuid()}/runs"


def real_folder(told: str, words: Iterable[str]) -> str:
    """The folder of a run that the program told of. JSON holds no bytes that are not UTF-8: a folder of such a name is looked
    for where these words put it."""
    if "\ufffd" not in told or os.path.isdir(told):
        return told
    store = next((word[8:] for word in words if word.startswith("--store=")), "") or default_store()
    place = os.path.join(os.path.abspath(store), os.path.basename(told))
    return place if os.path.isdir(place) else told
