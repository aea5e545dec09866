# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports of samplers: their logic as read, in speclab's own words, on rows of probabilities.

    python3 ports.py NAME [NUMBER...]

For samplers that do not run without a GPU or a large package, and for those of articles. Rows and
tokens are those of tools/validate/adapters/client.py.
"""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tools/validate/adapters"))
import client  # noqa: E402


def pick(weights, rng):
    """A token with probability proportional to its weight."""
    return rng.choices(range(len(weights)), weights)[0]


def residual(target, draft, scale=1.0):
    return [max(scale * t - d, 0.0) for t, d in zip(target, draft)]


def one_hot(token, V):
    return [float(v == token) for v in range(V)]


def draft_rows(target, draft, tokens):
    """The draft's rows; a draft that was chosen has one-hot rows."""
    return draft or [one_hot(token, len(target[0])) for token in tokens]


def argmax(row):
    return max(range(len(row)), key=row.__getitem__)


def token_rule(target, draft, tokens, rng):
    """Accepts while u q < p, then draws from the residual or, after the last token, the target."""
    draft = draft_rows(target, draft, tokens)
    for k, token in enumerate(tokens):
        if rng.random() * draft[k][token] >= target[k][token]:
            return [*tokens[:k], pick(residual(target[k], draft[k]), rng)]
    return [*tokens, pick(target[len(tokens)], rng)]


def block_rule(target, draft, tokens, rng):
    """Block verification: the last position whose coin is below h."""
    draft, K, scales = draft_rows(target, draft, tokens), len(tokens), [1.0]
    for k, token in enumerate(tokens):
        ratio = scales[k] * target[k][token] / draft[k][token] if draft[k][token] > 0.0 else 0.0
        scales.append(min(ratio, 1.0))
    accepted = 0
    for k in range(1, K + 1):
        scale, mass = scales[k], 0.0
        if k < K:
            mass = math.fsum(residual(target[k], draft[k], scale))
        rest = mass + 1.0 - scale
        h = scale if k == K else mass / rest if rest > 0.0 else 1.0
        if rng.random() < h:
            accepted = k
    if accepted == K:
        return [*tokens, pick(target[K], rng)]
    rest = residual(target[accepted], draft[accepted], scales[accepted])
    return [*tokens[:accepted], pick(rest, rng)]


def marked(rule):
    """vLLM's scheduler cuts the draft before the first token that the grammar forbids."""

    def verify(target, draft, tokens, rng):
        forbidden = [k for k, token in enumerate(tokens) if target[k][token] == 0.0]
        n = forbidden[0] if forbidden else len(tokens)
        return rule(target, draft, tokens[:n], rng)

    return verify


def fly(target, draft, tokens, rng):
    """vLLM's fly: a rejected token stays if its row is flat and the tokens of a window are kept."""
    draft, K, pending, accepted = draft_rows(target, draft, tokens), len(tokens), None, 0
    window = max(1, min(6, K - 1))
    for k, token in enumerate(tokens):
        p, q = target[k][token], draft[k][token]
        good = rng.random() * q < p
        if pending is not None:
            if not good:
                break
            if k - pending == window:
                accepted, pending = k + 1, None
        elif good:
            accepted = k + 1
        else:
            top = sorted(target[k], reverse=True)[:3]
            entropy = -math.fsum(t * math.log(t) for t in top if t > 0.0)
            if p <= 0.0 or k + window >= K or entropy < 0.3:
                break
            pending = k
    if accepted == K:
        return [*tokens, pick(target[K], rng)]
    return [*tokens[:accepted], pick(residual(target[accepted], draft[accepted]), rng)]


def target_only(single, acc):
    """SGLang's tree kernel on a chain: the target's row alone judges a token."""

    def verify(target, draft, tokens, rng):
        for k, token in enumerate(tokens):
            p = target[k][token]
            if not (p > 0.0 and (rng.random() < p / acc or p >= single)):
                rest = [0.0 if v == token else t for v, t in enumerate(target[k])]
                return [*tokens[:k], pick(rest, rng)]
        return [*tokens, pick(target[len(tokens)], rng)]

    return verify


def match(target, draft, tokens, rng):
    """Draws from the target at each place, and goes on while the token was drafted."""
    emitted = []
    for k, row in enumerate(target):
        emitted.append(pick(row, rng))
        if k < len(tokens) and emitted[k] != tokens[k]:
            break
    return emitted


def ensemble(weight):
    """transformers' assistant_ensemble_weight."""

    def verify(target, draft, tokens, rng):
        for k, token in enumerate(tokens):
            p, q = target[k][token], draft[k][token]
            if rng.random() * q > (1.0 - weight) * q + weight * p:
                return [*tokens[:k], pick(residual(target[k], draft[k]), rng)]
        return [*tokens, pick(target[len(tokens)], rng)]

    return verify


def article_rows(target, draft, tokens, rng):
    """Draws from the row after the last token if none is accepted, and draws no bonus token."""
    for k, token in enumerate(tokens):
        if rng.random() >= min(1.0, target[k][token] / (draft[k][token] + 1e-10)):
            rest = residual(target[k], draft[k]) if k > 0 else target[len(tokens)]
            return [*tokens[:k], pick(rest, rng)]
    return list(tokens)


def argmax_drafts(rule):
    """Drafts by argmax, judged as if they had been drawn from the draft's rows."""

    def draw(target, draft, n, rng):
        tokens = [argmax(row) for row in draft[:n]]
        return tokens, rule(target, draft, tokens, rng)

    return draw


PORTS = {
    "token": lambda: {"verify": token_rule},
    "block": lambda: {"verify": block_rule},
    "fly": lambda: {"verify": fly},
    "grammar": lambda: {"verify": marked(token_rule)},
    "grammar-block": lambda: {"verify": marked(block_rule)},
    "target-only": lambda single, acc: {"verify": target_only(single, acc)},
    "match": lambda: {"verify": match},
    "ensemble": lambda weight: {"verify": ensemble(weight)},
    "argmax-drafts": lambda: {"draw": argmax_drafts(token_rule)},
    "article-rows": lambda: {"verify": article_rows},
}
FIXED = {"ensemble": ["iid"], "article-rows": ["iid"], "argmax-drafts": ["iid"]}

if __name__ == "__main__":
    name, numbers = sys.argv[1], [float(number) for number in sys.argv[2:]]
    functions = {scope: client.each(rule) for scope, rule in PORTS[name](*numbers).items()}
    chains = FIXED.get(name, ["fixed", "iid"])
    client.serve(**functions, name=f"port {name}", chains=chains, max_vocab=1024)
