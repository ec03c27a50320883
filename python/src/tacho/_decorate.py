"""A Tracker as a decorator: one run a call; of a generator, its whole iteration."""
from __future__ import annotations

import functools
import inspect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Generator, Optional, Protocol, TypeVar, overload

    from typing_extensions import Concatenate, ParamSpec

    from ._run import Run
    from ._tracker import Tracker

    Words = ParamSpec("Words")
    Others = ParamSpec("Others")
    Instance = TypeVar("Instance")
    Answer = TypeVar("Answer", covariant=True)

    class Tracked(Protocol[Words, Answer]):
        """A function whose calls are recorded."""

        last_run: Optional[Run]
        __name__: str
        __qualname__: str
        __wrapped__: Callable[..., Any]

        def __call__(self, *words: Words.args, **names: Words.kwargs) -> Answer: ...
        @overload
        def __get__(self, instance: None, owner: Any = None) -> Tracked[Words, Answer]: ...
        @overload
        def __get__(self: Tracked[Concatenate[Instance, Others], Answer], instance: Instance,
                    owner: Any = None) -> Callable[Others, Answer]: ...


def decorate(tracker: Tracker, function: Callable[Words, Answer]) -> Tracked[Words, Answer]:
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", "") or type(function).__name__

    def begin() -> Tracker:
        return tracker.again(name)

    def done(used: Tracker) -> None:
        wrapper.last_run = used.run

    wrapper: Tracked[Words, Answer] = _wrapper(function, begin, done)
    wrapper.last_run = None
    return wrapper


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
