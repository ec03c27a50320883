"""Templates with {{ name }}, {{{ raw }}}, {{ name | filter:2 }}, {{#if}}, {{#else}} and {{#each list as item}}."""
from __future__ import annotations

import re
from html import escape
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, cast

from .._json import as_object
from .report import round_memory

_SPLIT = re.compile(r"(\{\{\{[^{}]*\}\}\}|\{\{[^{}]*\}\})")
_EACH = re.compile(r"(\S+)(?:\s+as\s+(\w+))?")


def _filter_pretty_number(value: Any, digits: int = 0) -> str:
    """1234567.891 as 1,234,568; with two digits as 1,234,567.89, without zeros at the end."""
    try:
        text = f"{float(value):,.{digits}f}"
    except (TypeError, ValueError, OverflowError):
        return str(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _filter_index(value: Any, index: int = 0) -> Any:
    return value[index]


def _filter_round(value: Any, digits: Optional[int] = None) -> Any:
    return round(value, digits)


def _filter_divide(value: Any, divisor: float = 1) -> Any:
    return value / divisor


def _filter_multiply(value: Any, by: float) -> Any:
    return value * by


_FILTERS: Dict[str, Callable[..., Any]] = {
    "pretty_number": _filter_pretty_number, "round": _filter_round, "round_memory": round_memory,
    "divide": _filter_divide, "multiply": _filter_multiply, "index": _filter_index}


def _number(text: str) -> Any:
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


def _filtered(value: Any, expression: str) -> Any:
    """By `name` or `name:argument`."""
    name, *arguments = [part.strip() for part in expression.split(":")]
    if name not in _FILTERS:
        raise ValueError(f"no filter {name!r}; those are {', '.join(sorted(_FILTERS))}")
    return _FILTERS[name](value, *(_number(one) for one in arguments))


def _member(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return as_object(value)[name]
    if isinstance(value, (list, tuple)):
        items = list(cast("List[Any]", value))
        if re.fullmatch(r"\d+", name) and int(name) < len(items):
            return items[int(name)]
    elif not name.startswith("_") and hasattr(value, name):
        return getattr(value, name)
    raise KeyError(name)


def _resolve_var(name: str, context: Any) -> Any:
    """`a.b.0 | filter | filter:2` in the context; KeyError when it is not there."""
    path, *filters = name.split("|")
    value: Any = context
    for part in path.strip().split("."):
        value = _member(value, part)
    for one in filters:
        value = _filtered(value, one)
    return value


def _value(name: str, context: Any) -> Any:
    """None when it is not there."""
    try:
        return _resolve_var(name, context)
    except KeyError:
        return None


class _Node(NamedTuple):
    """A piece of a template: `text`, `value`, `raw`, `if`, or `each`."""
    kind: str
    word: str
    body: List[Any] = []
    other: List[Any] = []


def _tag(token: str) -> Tuple[str, str]:
    """(kind, the rest) of a token."""
    if not token.startswith("{{"):
        return "text", token
    raw = token.startswith("{{{")
    inside = (token[3:-3] if raw else token[2:-2]).strip()
    word, _, rest = inside.partition(" ")
    if word in ("#if", "#each"):
        return word[1:], rest.strip()
    if inside in ("#else", "else", "/if", "/each"):
        return inside.lstrip("#"), ""
    return "raw" if raw else "value", inside


def _block(tokens: Sequence[str], at: int, ends: Tuple[str, ...]) -> Tuple[List[_Node], int, str]:
    """Parses until one of `ends`: the nodes, the place behind that end, and which it was."""
    nodes: List[_Node] = []
    while at < len(tokens):
        kind, word = _tag(tokens[at])
        at += 1
        if kind in ends:
            return nodes, at, kind
        body: List[_Node] = []
        other: List[_Node] = []
        if kind == "if":
            body, at, end = _block(tokens, at, ("else", "/if"))
            if end == "else":
                other, at, _ = _block(tokens, at, ("/if",))
        elif kind == "each":
            body, at, _ = _block(tokens, at, ("/each",))
        elif kind in ("else", "/if", "/each"):
            raise ValueError(f"{tokens[at - 1]} belongs to nothing")
        nodes.append(_Node(kind, word, body, other))
    if ends:
        raise ValueError(f"a block is not closed: {' or '.join(ends)} is missing")
    return nodes, at, ""


def _each(node: _Node, context: Mapping[str, Any]) -> str:
    match = _EACH.fullmatch(node.word)
    if match is None:
        raise ValueError(f"not of the form {{{{#each list as item}}}}: {node.word!r}")
    items: List[Any] = list(_value(match.group(1), context) or [])
    name = match.group(2) or "this"
    return "".join(_render(node.body, {**context, name: item, "@index": index}) for index, item in enumerate(items))


def _render(nodes: Sequence[_Node], context: Mapping[str, Any]) -> str:
    out: List[str] = []
    for node in nodes:
        if node.kind == "text":
            out.append(node.word)
        elif node.kind == "if":
            out.append(_render(node.body if _value(node.word, context) else node.other, context))
        elif node.kind == "each":
            out.append(_each(node, context))
        else:
            value = _value(node.word, context)
            text = "" if value is None else str(value)
            out.append(text if node.kind == "raw" else escape(text))
    return "".join(out)


def render_template(template: str, context: Mapping[str, Any]) -> str:
    """The template with its names filled in, escaped for HTML unless {{{ so }}}; unknown ones are empty."""
    return _render(_block(_SPLIT.split(template), 0, ())[0], dict(context))
