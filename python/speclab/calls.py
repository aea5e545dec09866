# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls of the library in a thread of their own, so that Ctrl-C ends them at once."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from typing import Any, Callable

from .errors import Error, FailedError, ForkedError, InputError
from .library import ffi, lib

# Seconds that an interrupted call has to return. Then it is abandoned: its thread goes on.
_GRACE = 2.0
# Seconds between looks at signals. The system may hand Ctrl-C to any thread, and then nothing wakes
# the main thread, which is the one that raises KeyboardInterrupt.
_LOOK = 0.2

_ERRORS: dict[int, type[BaseException]] = {
    lib.SPECLAB_INPUT: InputError,
    lib.SPECLAB_MEMORY: MemoryError,
    lib.SPECLAB_STOPPED: KeyboardInterrupt,
    lib.SPECLAB_FAILED: FailedError,
    lib.SPECLAB_FORKED: ForkedError,
}


def check(code: int, error: Any) -> None:
    """Raises the exception of an error code with the library's line."""
    if code != lib.SPECLAB_OK:
        raise _ERRORS.get(code, Error)(ffi.string(error).decode(errors="replace"))


def short_call(function: Callable[..., int], *arguments: Any) -> None:
    """Calls a function that ends with an error buffer and returns soon."""
    error = ffi.new("char[512]")
    check(function(*arguments, error, 512), error)


def new_stop() -> Any:
    """A stop flag, which `call` sets on Ctrl-C."""
    return ffi.new("int *")


def call(function: Callable[..., int], *arguments: Any, stop: Any = None) -> None:
    """Calls a function that ends with an error buffer. `stop` is set when this thread gets Ctrl-C.

    The thread holds the arguments, so a handle is freed only after its last call has returned.
    """
    error = ffi.new("char[512]")
    answer: Future[int] = Future()

    def work() -> None:
        try:
            answer.set_result(function(*arguments, error, 512))
        except BaseException as wrong:  # an argument of a wrong type
            answer.set_exception(wrong)

    try:
        threading.Thread(target=work, name="speclab", daemon=True).start()
        while not answer.done():
            wait([answer], timeout=_LOOK)
        code = answer.result()
    except KeyboardInterrupt:
        if stop is not None:
            stop[0] = 1
        _wait(answer)
        raise
    check(code, error)


def _wait(answer: Future[int]) -> None:
    try:
        answer.result(timeout=_GRACE)
    except Exception:
        pass


class Callbacks:
    """Python functions that the library calls. The first exception stops the call, and is kept."""

    def __init__(self, stop: Any) -> None:
        self.stop = stop
        self.raised: BaseException | None = None
        self._kept: list[Any] = []

    def add(self, signature: str, function: Callable[..., Any], failed: Any = None) -> Any:
        """A C function pointer; the callback returns `failed` after an exception."""

        def safe(*arguments: Any) -> Any:
            if self.raised is not None:
                return failed
            try:
                return function(*arguments)
            except BaseException as error:
                self.raised = error
                self.stop[0] = 1
                return failed

        pointer = ffi.callback(signature, safe, error=failed)
        self._kept.append(pointer)
        return pointer

    def call(self, function: Callable[..., int], *arguments: Any) -> None:
        """As `call`; an exception of a callback is raised unchanged."""
        try:
            call(function, *arguments, stop=self.stop)
        except BaseException:
            if self.raised is not None:
                raise self.raised
            raise
        if self.raised is not None:
            raise self.raised


class Handle:
    """An object of the library that serves one thread at a time."""

    def __init__(self, pointer: Any, free: Callable[[Any], None], *keep: Any) -> None:
        self.pointer = ffi.gc(pointer, free)
        self._busy = threading.Lock()
        self._keep = keep  # what the object points to, among it its library

    def call(self, function: Callable[..., int], *arguments: Any, stop: Any = None) -> None:
        """As the function `call`, with the pointer among the arguments."""
        if not self._busy.acquire(blocking=False):
            raise InputError("another call uses this object: it serves one thread at a time")
        if stop is not None:
            stop[0] = 0  # of an earlier Ctrl-C

        def guarded(*given: Any) -> int:
            try:
                return function(*given)
            finally:
                self._busy.release()

        call(guarded, *arguments, stop=stop)
