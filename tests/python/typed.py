# SPDX-License-Identifier: GPL-3.0-or-later
"""A user's script: python/check.sh checks its types with mypy --strict."""

import speclab


def lengths(alphas: list[float]) -> dict[float, float]:
    return {alpha: float(speclab.formulas.best_K(alpha, c=0.1)) for alpha in alphas}


def drawn(target: str, drafts: list[str]) -> str | None:
    answer: speclab.Answer = speclab.pair(target=target, draft=drafts, K=8, temperature=0.7)
    print(answer.text, answer.code)
    return speclab.plot(answer.table, figure="pair").figure


def advised(log: str) -> int | None:
    advice = speclab.advise(log, K=(0, 8))
    return advice.to_K if advice.verdict == "change" else None


print(lengths([0.6, 0.8]), speclab.prove(rule="token")["verdict"])
verdict: str = speclab.validate(lambda step: [0]).verdict
speclab.pair(target=[None])  # type: ignore[list-item]
