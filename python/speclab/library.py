# SPDX-License-Identifier: GPL-3.0-or-later
"""The shared library libspeclab.so.1: found, checked and loaded once per process."""

from __future__ import annotations

import os
import threading as _threading
from collections.abc import Iterable, MutableMapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from cffi import FFI  # type: ignore[import-untyped]

from . import header
from .errors import InputError

ffi = FFI()
ffi.cdef(header.DECLARATIONS)

_HERE = Path(__file__).parent
_SONAME = "libspeclab.so.1"


def _find() -> str:
    """The library of the wheel, or else the one that the system finds."""
    beside = _HERE / _SONAME
    return str(beside) if beside.exists() else _SONAME


def _load(path: str) -> Any:
    try:
        library = ffi.dlopen(path)
        abi, version_ = library.speclab_abi(), ffi.string(library.speclab_version()).decode()
    except (OSError, AttributeError) as error:
        raise ImportError(f"speclab {header.VERSION} cannot load its library ({error}): "
                          "type pip install --force-reinstall speclab, or install libspeclab1"
                          ) from None
    number = version_.split()[0]
    if abi != library.SPECLAB_ABI or number != header.VERSION:
        raise ImportError(f"speclab {header.VERSION} (ABI {library.SPECLAB_ABI}) found {path} of "
                          f"version {number} (ABI {abi}): type pip install speclab=={number}, or "
                          f"install libspeclab1 {header.VERSION}")
    return library


lib = _load(_find())


def version() -> str:
    """Version and commit of the library, such as "1.0.0 (8f78032)"."""
    return str(ffi.string(lib.speclab_version()), "utf-8")


def share() -> Path | None:
    """The folder of experiments and shared texts: of the wheel, or of the system."""
    for folder in (_HERE / "share", Path("/usr/local/share/speclab"), Path("/usr/share/speclab")):
        if folder.is_dir():
            return folder
    return None


_guard = _threading.Lock()
_open: Any = None  # the handle of this process, opened by its first call
_n_threads = 0


def _forget() -> None:
    """After a fork the child opens a library of its own."""
    global _guard, _open
    _guard, _open = _threading.Lock(), None


os.register_at_fork(after_in_child=_forget)


def lab() -> Any:
    """The open library of this process. A reference to the handle keeps it open."""
    global _open
    with _guard:
        if _open is None:
            _open = _open_lab(_n_threads)
        return _open


def _open_lab(n_threads: int) -> Any:
    from .calls import short_call

    options = struct("speclab_options", threads=n_threads, share=text(share()))
    handle = ffi.new("speclab **")
    short_call(lib.speclab_open, handle, options)
    return ffi.gc(handle[0], lib.speclab_close)


def threads(n: int) -> None:
    """Sets the number of threads of later calls; 0: one per processor. No result depends on it."""
    global _open, _n_threads
    handle = _open_lab(n)
    with _guard:
        _open, _n_threads = handle, n


_kept: MutableMapping[Any, Any] = WeakKeyDictionary()  # what the fields of a struct point to


def struct(kind: str, **fields: Any) -> Any:
    """A new struct of the library, with its size set. Fields that are None remain absent.

    It keeps its fields alive, and may outlive the call that made it.
    """
    made = ffi.new(f"{kind} *")
    made.size = ffi.sizeof(kind)
    for name, value in fields.items():
        try:
            if value is not None:
                setattr(made, name, value)
        except OverflowError as wrong:
            raise InputError(f"{name} is {value}: {wrong}") from None
        except TypeError as wrong:
            raise TypeError(f"{name} is {value!r}: {wrong}") from None
    _kept[made] = fields
    return made


def text(value: str | os.PathLike[str] | None) -> Any:
    """A text or path as C's; NULL for None."""
    return ffi.NULL if value is None else ffi.new("char[]", os.fsencode(value))


def texts(values: str | Iterable[str]) -> Any:
    """An array of texts, or of one, that ends with NULL."""
    items = [text(value) for value in ([values] if isinstance(values, str) else values)]
    array = ffi.new("char *[]", [*items, ffi.NULL])
    _kept[array] = items
    return array


def whole(value: int | None, name: str) -> Any:
    """A pointer to a 64-bit number; NULL for None."""
    if value is None:
        return ffi.NULL
    if not 0 <= value < 2**64:
        raise InputError(f"{name} must be a whole number from 0 to 2^64 - 1, got {value}")
    return ffi.new("uint64_t *", value)
