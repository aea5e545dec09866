# SPDX-License-Identifier: GPL-3.0-or-later
"""The exceptions of the library, one for each of its error codes."""


class Error(Exception):
    """A call of the library failed; the message is its one line."""


class InputError(Error, ValueError):
    """An argument, a spec, a file or an experiment is wrong."""


class FailedError(Error, RuntimeError):
    """A model, a file or a sampler failed."""


class ForkedError(Error, RuntimeError):
    """The object belongs to the parent process of a fork."""
