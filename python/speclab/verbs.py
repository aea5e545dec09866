# SPDX-License-Identifier: GPL-3.0-or-later
"""The verbs of the program that make a table, each the text of an experiment.

Arguments have the names and defaults of the program's options; `speclab help VERB` explains them.
Numbers may be one, several, or a list as text ("0.5:0.9:0.1"); models, rules and strategies one
text or several. Further keywords are those of `run`: set, seed, limit and progress.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from .catalogue import names
from .errors import InputError
from .experiment import numbers_text, run
from .rounds import round

Numbers = float | str | Iterable[float]
Names = str | Iterable[str]


def predict(alpha: Numbers = 0.8, K: Numbers = 5, c: Numbers = 0.1, *,
            ops_ratio: Numbers | None = None, **options: Any) -> Any:
    """Closed forms: tokens per round, speed-up, best K, break-even alpha."""
    return _run("predict", {"alpha": alpha, "K": K, "c": c, "ops_ratio": ops_ratio}, options)


def sweep(alpha: Numbers = "0.5:0.9:0.1", K: Numbers = "1:8", c: Numbers = 0.1, *,
          process: Names | None = None, target: Names | None = None,
          draft: Names = "perturb?of=target&alpha={alpha}", drafting: Names | None = None,
          policy: Names | None = None, rule: Names | None = None, positions: int | None = None,
          rounds: int | None = None, standard_error: float | None = None, **options: Any) -> Any:
    """Compares theory with Monte Carlo on a grid: an acceptance process, or a pair of models."""
    if rounds is None and standard_error is None:
        rounds = 1_000_000 if target is None else 100_000
    top = {"rounds": rounds, "standard_error": standard_error}
    if target is None:
        axes = {"process": _texts(process), "alpha": alpha, "K": K, "c": c}
        return _run("acceptance", axes, options, **top)
    axes = {"target": _texts(target), "draft": _texts(draft), "drafting": _texts(drafting),
            "policy": _texts(policy), "rule": _texts(rule),
            "alpha": alpha if "{alpha}" in str(draft) else None, "K": K, "c": c,
            "positions": positions}
    return _run("decode", axes, options, **top)


def accept(target: Names = "probs:0.5,0.3,0.2", draft: Names = "probs:0.2,0.5,0.3", *,
           rule: Names | None = None, drafting: Names | None = None, n: Numbers = 1,
           contexts: int | str | None = None, **options: Any) -> Any:
    """How often each rule accepts one of n draft tokens, and the optimum over all rules."""
    targets, drafts = _texts(target), _texts(draft)
    axes = {"rule": _question(rule), "target": targets, "draft": drafts,
            "drafting": _question(drafting), "n": _question(n), "contexts": contexts}
    show = ["rule", "drafting", "n", "acceptance", "acceptance_se", "enumerated", "optimal",
            "ratio", "verdict"]
    if contexts == "all":
        show[5:5] = ["acceptance_q10", "acceptance_median", "acceptance_q90"]
    several = [name for name, specs in (("target", targets), ("draft", drafts)) if len(specs) > 1]
    return _run("accept", axes, options, show=[*several, *show])


def prove(target: Names = "dirichlet?V=3&concentration=1&seed=1",
          draft: Names | None = "dirichlet?V=3&concentration=1&seed=2", *,
          rule: Names | None = None, drafting: Names = ("chain", "greedy"), K: Numbers = 2,
          tokens: Numbers = 3, policy: Names | None = None, **options: Any) -> Any:
    """The exact distribution of the first tokens of a rule, by enumerating every decision.

    Rules, strategies and models are combined; rule=None takes every rule that fits. A strategy that
    needs no model, such as "lookup", has draft=None.
    """
    models: list[str | None] = list(_texts(draft) or []) or [None]
    drafts = [(how, of) for how in _texts(drafting) or [] for of in models]
    if rule is None:
        pairs = _fitting(_texts(target)[0], drafts, _texts(policy) or ["fixed"])
    else:
        pairs = [(name, *of) for name in _texts(rule) for of in drafts]
    points = [{"rule": name, "draft": how if of is None else f"{how}:{of}"}
              for name, how, of in pairs]
    axes = {"target": _texts(target), "policy": _texts(policy), "K": K, "tokens": tokens}
    show = ["rule", "draft", *(["policy"] if policy is not None else []), "K", "tokens", "branches",
            "tv", "max_error", "mean_n_accepted", "verdict"]
    return _run("prove", axes, options, points=points, show=show)


def _fitting(target: str, drafts: list[tuple[str, str | None]],
             policies: list[str]) -> list[tuple[str, str, str | None]]:
    """Rules with the drafts that they support at every policy, as a round of both shows."""
    rules = [name.partition("?")[0] for name in names("rule")["name"]]
    pairs = []
    for how, of in drafts:
        refused = {}
        for rule in rules:
            try:
                for policy in policies:
                    round(target, of, 1, rule=rule, drafting=how, policy=policy)
            except InputError as error:
                refused[rule] = error
        if len(refused) == len(rules):
            raise refused[rules[0]]  # the rule `token` supports most drafts
        pairs += [(rule, how, of) for rule in rules if rule not in refused]
    return sorted(pairs, key=lambda pair: rules.index(pair[0]))


def plan(accept: Numbers | None = None, *, accuracies: str | None = None,
         target: str | None = None, draft: str | None = None, siblings: str | None = None,
         rule: str | None = None, width: int | None = None, positions: int | None = None,
         methods: Names | None = None, nodes: Numbers | None = None,
         depth: int | None = None, c: float | None = None, costs: str | None = None,
         rounds: int | None = None, **options: Any) -> Any:
    """The fastest draft tree of each method for each budget of nodes.

    c=None is 0.1. The program alone takes it from the costs of a bench, or from the weights of
    transformers.
    """
    if accept is None and accuracies is None and target is None:
        accept = (0.7, 0.12, 0.05, 0.03)
    siblings, rule = _siblings_and_rule(siblings, rule, accuracies is not None)
    if methods is None:
        methods = ["chain", "k-ary", "branches", "delayed",
                   "sequoia" if accuracies is None else "medusa"]
        methods += ["dynamic"] if target is not None and rounds and siblings == "top" else []
    axes = {"accept": accept, "accuracies": accuracies, "target": target, "draft": draft,
            "siblings": siblings, "rule": rule, "width": width, "positions": positions,
            "methods": methods, "nodes": (1, 2, 4, 8, 16, 32, 64) if nodes is None else nodes,
            "depth": depth, "c": c, "costs": costs}
    show = ["method", "budget", "tree_nodes", "tree_depth", "emitted", "speedup"]
    show += ["simulated", "simulated_se", "simulated_z"] if rounds else []
    show += ["limit"] if target is not None and siblings == "top" else []
    show += ["by_rank"] if target is not None else []
    return _run("plan", {name: _question(value) for name, value in axes.items()}, options,
                rounds=rounds, show=[*show, "drafting"])


def _siblings_and_rule(siblings: str | None, rule: str | None,
                       accuracies: bool) -> tuple[str, str]:
    """Siblings that suit the rule, or a rule that suits the siblings, if one is missing."""
    if siblings is None:
        iid = rule in ("rrs", "naive-tree")
        without = rule == "rrsw" or (rule is None and not accuracies)
        siblings = "iid" if iid else "without" if without else "top"
    return siblings, rule or {"iid": "rrs", "without": "rrsw"}.get(siblings, "match")


def serve(alpha: Numbers | None = None, rate: Numbers | None = None, K: Numbers = (0, 1, 3, 5), *,
          lengths: Names | None = None, slots: Numbers | None = None, trace: str | None = None,
          cost: str | None = None, draft_cost: str | None = None, **parameters: Any) -> Any:
    """Simulates a serving engine that speculates under load, and compares it with theory.

    One of rate, slots and trace is the load. Other parameters of the measure `serve`, such as
    prompt, output, max_batch and requests (docs/formats.md#measures), are keywords, too.
    """
    if cost is None and draft_cost is None:
        draft_cost = "affine?round=2.1ms"
    options = {key: parameters.pop(key) for key in _RUN_OPTIONS if key in parameters}
    if alpha is None and "accepted" not in parameters:
        alpha = 0.8
    axes = {"trace": _texts(trace), "cost": [cost or "affine?step=7.1ms&token=21us&kv=39ns"],
            "draft_cost": _texts(draft_cost), **parameters, "alpha": alpha, "slots": slots,
            "rate": rate, "K": _question(K), "lengths": _question(lengths)}
    return _run("serve", axes, options)


_RUN_OPTIONS = ("set", "seed", "limit", "progress")


def _run(measure: str, axes: dict[str, Any], options: dict[str, Any], **top: Any) -> Any:
    grid = {name: value for name, value in axes.items() if value is not None}
    top = {name: value for name, value in top.items() if value is not None}
    return run({"measure": measure, "grid": grid, **top}, **options)


@overload
def _texts(value: Names) -> list[str]: ...
@overload
def _texts(value: None) -> None: ...
def _texts(value: Names | None) -> list[str] | None:
    """One text or several, each a value of an axis as it is."""
    return None if value is None else [value] if isinstance(value, str) else list(value)


def _question(value: Any) -> list[str] | None:
    """A parameter that takes several values as one text, with a row for each."""
    return None if value is None else [numbers_text(value)]
