# SPDX-License-Identifier: GPL-3.0-or-later
"""`validate`: is a sampler of this process lossless?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import library
from .answers import join_steps, write_batch, write_text
from .batch import DRAWN, Batch, Request, sampling_of, steps_of
from .calls import Callbacks, new_stop
from .errors import InputError
from .figure import figure_of
from .library import ffi, lib, struct, texts, whole
from .report import html_of, text_of

_SCOPES = {"V": lib.SPEC_SCOPE_VERIFY, "DV": lib.SPEC_SCOPE_DRAFT, "S": lib.SPEC_SCOPE_STREAM}
_ROWS = {"probabilities": lib.SPEC_ROWS_PROBABILITIES, "logits": lib.SPEC_ROWS_LOGITS}
_VERDICTS = {lib.SPECLAB_PASS: "PASS", lib.SPECLAB_FAIL: "FAIL", lib.SPECLAB_LOSSY: "LOSSY",
             lib.SPECLAB_INCONCLUSIVE: "INCONCLUSIVE", lib.SPECLAB_DEPENDENT: "DEPENDENT"}


class Validation:
    """The verdict on a sampler.

    verdict  "PASS", "FAIL", "LOSSY", "INCONCLUSIVE" or "DEPENDENT"
    reason   one line
    report   the report as of `speclab validate --format json` (docs/formats.md), a dict
    """

    def __init__(self, verdict: str, reason: str, report: dict[str, Any]) -> None:
        self.verdict, self.reason, self.report = verdict, reason, report

    def figure(self) -> str:
        """An SVG: the failing case, or the differences that would have been detected."""
        return figure_of(self.report)

    def __repr__(self) -> str:
        return text_of(self.report)

    def _repr_html_(self) -> str:
        return html_of(self.report) + self.figure()


def validate(sampler: Callable[[Any], Any], *, batched: bool = False, scope: str = "V",
             name: str | None = None, rows: str = "probabilities",
             chains: str | Iterable[str] = "iid", trees: str | Iterable[str] = (),
             sampling: bool = False, filters: str = "", coins: bool = False, padding: bool = False,
             seeded: bool = False, lossy: bool = False, max_batch: int = 0, max_nodes: int = 0,
             max_vocab: int = 0, draws: float = 20e6, seconds: float | None = None,
             eps: float | None = None, power: float | None = None,
             false_alarm_rate: float | None = None, seed: int | None = None,
             only: str | Iterable[str] | None = None, hints: bool = True,
             dependent_requests: bool = False,
             progress: Callable[[int, float], Any] | None = None) -> Validation:
    """Tests whether a function samples from the target, with a stated chance of error.

    In scope "V" the sampler verifies drafts, in "DV" it draws and verifies them:

        batched      sampler(Batch) returns arrays of NumPy or torch: (token, n_emitted), in scope
                     DV (token, n_emitted, draft), of shapes (n, n_nodes + 1), (n), (n, n_nodes)
        not batched  sampler(Step) returns a list of tokens, in scope DV (draft, tokens)

    In scope "S" sampler(Request) returns a text of n_tokens tokens.

    The next eleven arguments declare the sampler, as in speclab/sampler.h: the drafts that it
    accepts (siblings in chains and trees: "fixed", "iid", "without"), and its limits.
    The others are the options of `speclab validate`: a budget in tokens or seconds, the total
    variation that a PASS rules out, the names of fixtures and tests, and whether requests of a
    call depend on each other on purpose. progress(tokens, log_e) is
    called between batches.

    An exception of the sampler ends the test and is raised unchanged. The sampler runs in this
    process: a crash ends it, and a call that never returns goes on in its thread after Ctrl-C.
    """
    callbacks = Callbacks(new_stop())
    own_name: str = getattr(sampler, "__name__", "sampler")
    about = struct(
        "spec_sampler_about", name=_name(name or own_name),
        scopes=_bits(scope, _SCOPES, "scope"), chains=_bits(chains, DRAWN, "chains"),
        trees=_bits(trees, DRAWN, "trees"), rows=_bits(rows, _ROWS, "rows"), sampling=sampling,
        coins=coins, padding=padding, seeded=seeded, max_batch=max_batch, max_nodes=max_nodes,
        max_vocab=max_vocab, lossy=lossy, filters=_name(filters))
    subject = struct("speclab_sampler", about=about)
    if scope == "S":
        subject.generate = callbacks.add(
            "int32_t(void *, const spec_models *, const int32_t *, int64_t, int32_t, "
            "spec_sampling, uint64_t, int32_t *, int64_t)", _generator(sampler), failed=1)
    else:
        subject.batch = callbacks.add("int32_t(void *, const speclab_batch *)",
                                      _verifier(sampler, batched), failed=1)
    options = struct(
        "speclab_validate_options", false_alarm_rate=false_alarm_rate, eps=eps, power=power,
        draws=int(draws), seconds=seconds, seed=whole(seed, "seed"), no_hints=not hints,
        dependent_requests=dependent_requests,
        only=None if only is None else texts(only), opt_stop=callbacks.stop,
        progress=progress and callbacks.add("void(void *, uint64_t, double)",
                                            lambda _, drawn, log_e: progress(drawn, log_e)))
    made = ffi.new("speclab_validation **")
    callbacks.call(lib.speclab_validate, made, library.lab(), subject, options)
    try:
        report = ffi.string(lib.speclab_validation_json(made[0])).decode()
        return Validation(_VERDICTS[lib.speclab_validation_verdict(made[0])],
                          ffi.string(lib.speclab_validation_reason(made[0])).decode(),
                          json.loads(report))
    finally:
        lib.speclab_validation_free(made[0])


def _name(value: str) -> bytes:
    return value.encode()[:63]


def _bits(names: str | Iterable[str], known: dict[str, int], argument: str) -> int:
    """The bits of names."""
    bits = 0
    for name in [names] if isinstance(names, str) else names:
        if name not in known:
            raise InputError(f"{argument}: '{name}' is none of {', '.join(known)}")
        bits |= known[name]
    return bits


def _verifier(sampler: Callable[[Any], Any], batched: bool) -> Callable[..., int]:
    def verify(_: Any, given: Any) -> int:
        batch = Batch(given)
        if batched:
            answer = sampler(batch)
        else:
            answer = join_steps(batch, [sampler(step) for step in steps_of(batch)])
        write_batch(given, batch, answer)
        return 0

    return verify


def _generator(sampler: Callable[[Any], Any]) -> Callable[..., int]:
    def generate(_: Any, models: Any, context: Any, n_context: int, K: int, sampling: Any,
                 seed: int, ret_token: Any, n_tokens: int) -> int:
        tokens = np.array(ffi.unpack(context, n_context) if n_context else [], np.int32)
        request = Request(models, tokens, K, sampling_of(sampling), seed, n_tokens)
        write_text(ret_token, n_tokens, models.vocab, sampler(request))
        return 0

    return generate
