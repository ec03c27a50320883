"""What the program finds out about the machine, in a process that is known for tacho's own and never for the job's."""
from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Dict, Optional, Tuple

from .._json import as_object
from .._program import find_program

_LONGEST_SECONDS = 30.0  # the program gives up long before


class Question:
    """`tacho discover` with these words; asked early, the answer is fetched when it is wanted."""

    def __init__(self, *words: str) -> None:
        self._words = words
        self._asked: Optional[Tuple[int, subprocess.Popen[bytes]]] = None  # by which process

    def waits(self) -> bool:
        """Whether this process has asked, and not fetched the answer."""
        return self._asked is not None and self._asked[0] == os.getpid()

    def ask(self) -> None:
        """Before an agent starts: what was there in a session of its own it knows for tacho's. TachoError or OSError when
        nobody can be asked."""
        self._asked = os.getpid(), subprocess.Popen(
            [find_program(), "discover", "--json", *self._words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True)

    def answer(self) -> Dict[str, Any]:
        """ValueError when it is none."""
        if not self.waits():
            self.ask()
        asked, self._asked = self._asked, None
        assert asked is not None
        with asked[1] as process:
            try:
                text = process.communicate(timeout=_LONGEST_SECONDS)[0]
            except BaseException:
                process.kill()
                raise
        return as_object(json.loads(text))
