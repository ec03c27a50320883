"""A Run in a notebook: its figures and one picture, in itself."""
from __future__ import annotations

from html import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional, Sequence, Tuple

    from ._run import Run

_WIDTH, _HEIGHT, _MOST_POINTS = 640, 120, 240


def human_bytes(value: Optional[float]) -> str:
    if value is None:
        return ""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"
        value /= 1024
    return f"{value:.3g} TiB"


def human_seconds(value: Optional[float]) -> str:
    if value is None:
        return ""
    if value < 60:
        return f"{value:.3g} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {rest} s"


def line(run: Run) -> str:
    """One line for a terminal."""
    figures = run.summary()
    parts = [f"tacho: {figures['state']}", human_seconds(figures["seconds"])]
    if figures["cpu_mean"] is not None:
        parts.append(f"{figures['cpu_mean']:.2f} cores")
    if figures["memory_peak_mib"] is not None:
        parts.append(f"{human_bytes(figures['memory_peak_mib'] * 2**20)} peak")
    if figures["gpu_mean"] is not None:
        parts.append(f"{figures['gpu_mean']:.2f} GPUs")
    return " · ".join(part for part in parts if part)


def _cells(figures: dict[str, Any]) -> List[Tuple[str, str]]:
    mib = 2**20
    peak, vram = figures["memory_peak_mib"], figures["gpu_memory_peak_mib"]
    code = figures["exit_code"]
    rows = [("run", f"{figures['id']} ({figures['state']}{'' if code is None else f', exit {code}'})"),
            ("time", human_seconds(figures["seconds"])), ("CPU time", human_seconds(figures["cpu_seconds"])),
            ("CPU", "" if figures["cpu_mean"] is None else f"{figures['cpu_mean']:.2f} cores"),
            ("memory peak", "" if peak is None else human_bytes(peak * mib)),
            ("disk read", human_bytes(figures["disk_read_bytes"])),
            ("disk written", human_bytes(figures["disk_written_bytes"])),
            ("GPU", "" if figures["gpu_mean"] is None else f"{figures['gpu_mean']:.2f}"),
            ("GPU memory peak", "" if vram is None else human_bytes(vram * mib))]
    return [(name, value) for name, value in rows if value]


def _thin(points: Sequence[Tuple[float, float]]) -> List[Tuple[float, float]]:
    """The highest of each piece, so that no peak is lost."""
    if len(points) <= _MOST_POINTS:
        return list(points)
    size = len(points) / _MOST_POINTS
    return [max(points[int(i * size):int((i + 1) * size)] or points[-1:], key=lambda point: point[1])
            for i in range(_MOST_POINTS)]


def _curve(times: Sequence[Any], values: Sequence[Any], color: str) -> str:
    known = [(float(time), float(value)) for time, value in zip(times, values) if time is not None and value is not None]
    if not known:
        return ""
    begin, end = known[0][0], known[-1][0]
    top = max(value for _, value in known) or 1.0
    span = end - begin or 1.0
    points = " ".join(f"{(time - begin) / span * _WIDTH:.1f},{_HEIGHT - value / top * (_HEIGHT - 4) - 2:.1f}"
                      for time, value in _thin(known))
    if len(known) == 1:
        points += " " + points.replace("0.0,", f"{_WIDTH},", 1)
    return f'<polyline fill="none" stroke="{color}" stroke-width="1.5" points="{points}"/>'


def page(run: Run) -> str:
    rows = "".join(f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(value[:200])}</td></tr>"
                   for name, value in _cells(run.summary()))
    try:
        columns = run.to_dict()
    except Exception:  # a table is better than nothing
        columns = {}
    times = columns.get("timestamp", [])
    curves = (_curve(times, columns.get("process_cpu_usage", []), "#2a6fdb")
              + _curve(times, columns.get("process_memory_mib", []), "#d9822b"))
    picture = (f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img" '
               f'aria-label="CPU and memory over time">{curves}</svg>'
               '<div><span style="color:#2a6fdb">CPU</span> · <span style="color:#d9822b">memory</span>'
               ", each of its own maximum</div>")
    return f"<div><table>{rows}</table>{picture}</div>"
