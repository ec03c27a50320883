"""Templates with {{ name }}, {{ name | filter }}, {{#if}} and {{#each}}."""
from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Mapping

from .._json import as_object

_TAG = re.compile(r"\{\{\{?\s*(#if|#each|else|/if|/each|)\s*([^{}]*?)\s*\}?\}\}")


def _attribute(value: Any, name: str) -> Any:
    return getattr(value, name, None) if name and not name.startswith("_") else None


def _item(items: Any, index: int) -> Any:
    return items[index] if -len(items) <= index < len(items) else None


def _resolve_var(name: str, context: Any) -> Any:
    """`a.b.0`, `this`; None when it is not there."""
    value: Any = context
    for part in name.strip().split("."):
        if part in ("this", "."):
            value = as_object(context).get("this", context) if value is context else value
        elif isinstance(value, dict):
            value = as_object(value).get(part)
        elif part.lstrip("-").isdigit() and isinstance(value, (list, tuple)):
            value = _item(value, int(part))
        else:
            value = _attribute(value, part)
        if value is None:
            return None
    return value


def _filter_pretty_number(value: Any) -> str:
    """1234567.891 as 1,234,567.89; whole numbers without decimals."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return f"{int(number):,}" if number == int(number) else f"{number:,.2f}"


_FILTERS: Dict[str, Callable[[Any], Any]] = {"pretty_number": _filter_pretty_number, "upper": lambda v: str(v).upper(),
                                             "lower": lambda v: str(v).lower()}


def _value(expression: str, context: Any) -> Any:
    name, *filters = [part.strip() for part in expression.split("|")]
    value = _resolve_var(name, context)
    for one in filters:
        value = _FILTERS[one](value) if one in _FILTERS and value is not None else value
    return value


def _block(tokens: List[str], at: int, ends: Any) -> Any:
    """Parses until one of `ends`; (nodes, position of the end, the end)."""
    nodes: List[Any] = []
    while at < len(tokens):
        match = _TAG.fullmatch(tokens[at])
        kind, rest = (match.group(1), match.group(2)) if match else (None, "")
        if kind == "" and rest == "else":
            kind = "else"
        if kind in ends:
            return nodes, at, kind
        at += 1
        if match is None:
            nodes.append(("text", tokens[at - 1]))
        elif kind == "":
            nodes.append(("value", rest))
        elif kind == "#if":
            then, at, end = _block(tokens, at, ("else", "/if"))
            other: List[Any] = []
            if end == "else":
                other, at, end = _block(tokens, at + 1, ("/if",))
            nodes.append(("if", rest, then, other))
            at += 1
        elif kind == "#each":
            body, at, _ = _block(tokens, at, ("/each",))
            nodes.append(("each", rest, body))
            at += 1
    if ends:
        raise ValueError(f"a block is not closed: {' or '.join(ends)} is missing")
    return nodes, at, None


def _render(nodes: List[Any], context: Any) -> str:
    out: List[str] = []
    for node in nodes:
        if node[0] == "text":
            out.append(node[1])
        elif node[0] == "value":
            value = _value(node[1], context)
            out.append("" if value is None else str(value))
        elif node[0] == "if":
            out.append(_render(node[2] if _value(node[1], context) else node[3], context))
        else:
            items: List[Any] = list(_value(node[1], context) or [])
            for index, item in enumerate(items):
                inner: Dict[str, Any] = {**as_object(context), **as_object(item), "this": item, "@index": index}
                out.append(_render(node[2], inner))
    return "".join(out)


def render_template(template: str, context: Mapping[str, Any]) -> str:
    """The template with its names filled in; unknown ones are empty."""
    tokens = re.split(r"(\{\{\{?[^{}]*\}?\}\})", template)
    nodes, _, _ = _block(tokens, 0, ())
    return _render(nodes, context)
