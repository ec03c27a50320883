"""A Tracker as a decorator: one run a call; of a generator, its whole iteration."""
from __future__ import annotations

import functools
import inspect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Generator, TypeVar

    from ._tracker import Tracker

    Function = TypeVar("Function", bound=Callable[..., Any])


def decorate(tracker: Tracker, function: Function) -> Function:
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", "") or type(function).__name__

    def begin() -> Tracker:
        return tracker.again(name)

    def done(used: Tracker) -> None:
        wrapper.last_run = used.run

    wrapper = _wrapper(function, begin, done)
    wrapper.last_run = None
    return wrapper  # type: ignore[no-any-return]


def _wrapper(function: Any, begin: Callable[[], Tracker], done: Callable[[Tracker], None]) -> Any:
    if inspect.isasyncgenfunction(function):
        @functools.wraps(function)
        async def items_later(*args: Any, **keywords: Any) -> Any:
            used = begin()
            try:
                with used:
                    async for item in function(*args, **keywords):
                        yield item
            finally:
                done(used)
        return items_later
    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def later(*args: Any, **keywords: Any) -> Any:
            used = begin()
            try:
                with used:
                    return await function(*args, **keywords)
            finally:
                done(used)
        return later
    if inspect.isgeneratorfunction(function):
        @functools.wraps(function)
        def items(*args: Any, **keywords: Any) -> Any:
            used = begin()
            try:
                with used:
                    inner: Generator[Any, Any, Any] = function(*args, **keywords)
                    return (yield from inner)
            finally:
                done(used)
        return items

    @functools.wraps(function)
    def at_once(*args: Any, **keywords: Any) -> Any:
        used = begin()
        try:
            with used:
                return function(*args, **keywords)
        finally:
            done(used)
    return at_once
