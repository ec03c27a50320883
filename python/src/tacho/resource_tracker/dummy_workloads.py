"""Something to measure."""
from __future__ import annotations

import os
import time
from typing import Optional


def cpu_single(duration: float = 1) -> int:
    """Keeps one core busy."""
    end, rounds = time.time() + duration, 0
    while time.time() < end:
        rounds += sum(range(1000)) > 0
    return rounds


def cpu_multi(duration: float = 1, ncores: Optional[int] = None) -> None:
    """Keeps several busy, in processes."""
    from multiprocessing import Process

    workers = [Process(target=cpu_single, args=(duration,)) for _ in range(ncores or os.cpu_count() or 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
