"""The page of a run, and what size it asks for."""
from __future__ import annotations

import math
from html import escape
from typing import Any, Dict, Mapping, Optional

_CARD_LENGTH = 100_001
BARE_PAGE = ("<!DOCTYPE html><html><head><meta charset=utf-8><title>tacho</title></head><body><p>There are no charts here: they are drawn by "
             "the program tacho, from one sample on.</p></body></html>")


class Report(str):
    """HTML that can be saved and looked at."""

    def save(self, filepath: str) -> Report:
        with open(filepath, "w", encoding="utf-8") as file:
            file.write(self)
        return self

    def browse(self) -> Report:
        import pathlib
        import tempfile
        import webbrowser

        with tempfile.NamedTemporaryFile("w", suffix=".html", delete=False, encoding="utf-8") as file:
            file.write(self)
        webbrowser.open(pathlib.Path(file.name).as_uri())
        return self


def round_memory(mib: float) -> int:
    """Up to 128, 256, 512, 1024, 2048, then to whole GiB."""
    for size in (128, 256, 512, 1024, 2048):
        if mib <= size:
            return size
    return math.ceil(mib / 1024) * 1024


def half_up(value: float) -> int:
    return math.floor(value + 0.5)


def recommend(stats: Mapping[str, Mapping[str, float]]) -> Dict[str, int]:
    """{cpu, memory, gpu, vram} for a run like these."""
    def value(column: str, aggregate: str) -> float:
        return float(stats.get(column, {}).get(aggregate) or 0)

    vram = value("process_gpu_vram_mib", "max")
    return {"cpu": max(1, half_up(value("process_cpu_usage", "mean"))),
            "memory": round_memory(value("process_memory_mib", "max") * 1.2),
            "gpu": max(1, half_up(value("process_gpu_usage", "max"))) if value("process_gpu_usage", "mean") > 0 else 0,
            "vram": round_memory(vram * 1.2) if vram > 0 else 0}


def dress(page: str, *, status: str, integration: str, version: Optional[str], resources: Mapping[str, int],
          server: Mapping[str, Any], cost: Optional[str]) -> Report:
    """The program's page with what this interface promises around it."""
    told = "" if integration == "standalone" else (
        f" from <code>{escape(integration)}</code>" + (f" {escape(version)}" if version else ""))
    lines = [f"<p>{status}{told}: Process CPU usage and System CPU usage, memory, disk, network and GPU over time.</p>",
             f"<p>Recommended: {resources['cpu']} vCPU, {resources['memory']} MiB memory"
             + (f", {resources['gpu']} GPU with {resources['vram']} MiB" if resources["gpu"] else "") + "</p>"]
    if server:
        name = server.get("display_name") or server.get("api_reference") or server.get("server_id") or ""
        lines.append(f"<p>Cheapest server: {escape(str(server.get('vendor_id', '')))} {escape(str(name))}"
                     + (f", {cost}" if cost else "") + "</p>")
    at = page.find("<body")
    at = page.find(">", at) + 1 if at >= 0 else 0
    text = page[:at] + "".join(lines) + page[at:]
    begin = text.lower().find("<html")
    if integration.upper() == "R" and begin >= 0:
        text = "<html>" + text[text.find(">", begin) + 1:]
    if integration.lower() == "metaflow" and len(text) < _CARD_LENGTH:
        text += "<!--" + " " * (_CARD_LENGTH - len(text)) + "-->"
    return Report(text)
