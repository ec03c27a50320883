"""Files of a run folder, where others may have put anything."""
from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO


def open_plain(path: str) -> BinaryIO:
    """Open a plain file for reading bytes: a pipe that nobody writes to would be waited for."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "this is not a plain file", path)
    return open(handle, "rb")
