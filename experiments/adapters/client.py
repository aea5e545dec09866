"""Speaks speclab's process protocol (docs/conformance.md, "Processes") for a sampler in Python 3, by binary frames or by
lines of JSON. It needs the standard library only: copy it beside your sampler.

    import client

    def step(target, draft, tokens, rng):  # rows (n+1, V), rows or None, n drafted tokens, a random.Random
        return [...]                       # the tokens that the round emits

    client.serve(client.each(step), name="mine")
"""
import json
import os
import random
import struct
import sys
from types import SimpleNamespace

TYPES = {1: "begin", 2: "steps", 3: "generate"}
SCOPES, DRAWN = {1: "V", 2: "DV", 4: "S"}, {1: "fixed", 2: "iid", 4: "without"}
RNG = random.Random()


class Round:
    """A draft to verify: its n tokens, without padding. Token i was drawn from draft[parents[i] + 1] (draft is None: it
    was chosen without chance), and is judged by target[parents[i] + 1]; target[i + 1] comes after it. In scope DV
    tokens is None: draw n of them, a chain."""

    __slots__ = ("n", "tokens", "parents", "target", "draft", "drawn", "sampling", "request", "seed", "offset", "coins")


class Coins(random.Random):
    """The uniform numbers that speclab brought for a round (hello: coins=True), then numbers of its own."""

    coins = iter(())

    def random(self):
        for coin in self.coins:
            return coin
        return super().random()


def each(step):
    """A function of one round as the function of a batch that serve() wants: step(target, draft, tokens, rng) for
    verify, and step(target, draft, n, rng), which returns the drafted and the emitted tokens, for draw."""

    def one(r):
        rng = Coins() if r.coins else RNG
        rng.seed(r.seed << 64 | r.offset)
        rng.coins = iter(r.coins or ())
        return step(r.target, r.draft, r.n if r.tokens is None else r.tokens, rng)

    return lambda rounds: [one(r) for r in rounds]


def rounds_of(model, steps):
    out = []
    for i, n in enumerate(steps["n_nodes"]):
        r, states, tokens = Round(), steps["state"][i], steps["token"][i] if "token" in steps else None
        while tokens is not None and n > 0 and tokens[n - 1] < 0:
            n -= 1
        r.n, r.tokens, r.parents = n, tokens and tokens[:n], model.parent[:n]
        r.target = [model.target[s] for s in states[: n + 1]]
        r.draft = model.draft and [model.draft[s] for s in states[: n + 1]]
        r.drawn, r.sampling, r.coins = model.drawn, model.sampling, steps["coin"][i] if "coin" in steps else None
        r.request, r.seed, r.offset = steps["request"][i], steps["seed"][i], steps["offset"][i]
        out.append(r)
    return out


def read_line(stdin, _):
    line = stdin.readline()
    question = json.loads(line) if line else None
    if question and question["type"] == "begin":
        question["sampling"] = {key: question[key] for key in ("temperature", "top_k", "top_p", "min_p")}
    return question


def write_line(question, answer):
    return json.dumps({"serial": question["serial"], **answer}).encode() + b"\n"


def read_frame(stdin, model):
    header = stdin.read(16)
    if not header:
        return None
    _, kind, length, serial = struct.unpack("<4sIII", header)
    body, at, q = stdin.read(length), 0, {"type": TYPES[kind], "serial": serial}

    def take(form):  # one tuple of numbers
        nonlocal at
        at += struct.calcsize("<" + form)
        return struct.unpack_from("<" + form, body, at - struct.calcsize("<" + form))

    def rows(n, width, form):  # n tuples of so many numbers
        nonlocal at
        begin, at = at, at + n * width * 4
        return list(struct.iter_unpack(f"<{width}{form}", body[begin:at])) if width else [()] * n

    if kind == 1:
        scope, drawn, V, n_states, n_nodes, has_draft, has_next, top_k = take("8i")
        q.update(scope=SCOPES[scope], drawn=DRAWN[drawn], vocab=V, n_states=n_states, n_nodes=n_nodes)
        q["sampling"] = dict(zip(("temperature", "top_p", "min_p"), take("3f4x")), top_k=top_k)
        q["parent"], q["target"] = take(f"{n_nodes}i"), rows(n_states, V, "f")
        q["draft"] = rows(n_states, V, "f") if has_draft else None
        q["next"] = rows(n_states, V, "i") if has_next else None
    elif kind == 2:
        n, coins = take("2i")
        q["request"], q["seed"], q["offset"], q["n_nodes"] = take(f"{n}Q"), take(f"{n}Q"), take(f"{n}Q"), take(f"{n}i")
        q["state"] = rows(n, model.n_nodes + 1, "i")
        if model.scope == "V":
            q["token"] = rows(n, model.n_nodes, "i")
        if coins:
            q["coin"] = rows(n, coins, "f")
    else:
        q["start"], q["K"], q["n_tokens"], q["seed"] = take("3i4xQ")
    return q


def write_frame(question, answer):
    if question["type"] == "generate":
        kind, numbers = 3, answer["tokens"]
    else:
        kind, numbers = 2, [len(t) for t in answer["emitted"]] + [len(t) - 1 for t in answer["emitted"]]
        for tokens in [*answer.get("drafted", ()), *answer["emitted"]]:
            numbers += tokens
    return struct.pack(f"<4sIII{len(numbers)}i", b"SPEC", kind, 4 * len(numbers), question["serial"], *numbers)


def serve(verify=None, draw=None, generate=None, frames="binary", **hello):
    """Serve until speclab has had enough. verify(rounds) returns the emitted tokens of every round (scope V),
    draw(rounds) the drafted and the emitted ones (DV), generate(model, start, K, n_tokens, rng) a text (S): the rows of
    its states are model.target and model.draft, and model.next[state][token] is the state after a token. The other keys
    are the hello's: name, chains, trees, rows, sampling, padding, seeded, coins, lossy, max_batch, max_nodes,
    max_vocab."""
    stdin, stdout, model = sys.stdin.buffer, os.fdopen(os.dup(1), "wb"), None
    os.dup2(2, 1)  # what is printed from here on goes to standard error
    read, write = (read_line, write_line) if frames == "json" else (read_frame, write_frame)
    scopes = [scope for scope, function in (("V", verify), ("DV", draw), ("S", generate)) if function]
    stdout.write(json.dumps({"speclab": 1, "scopes": scopes, "frames": frames, **hello}).encode() + b"\n")
    stdout.flush()
    while question := read(stdin, model):
        if question["type"] == "begin":
            model = SimpleNamespace(**{"draft": None, **question})
            continue
        if question["type"] == "generate":
            RNG.seed(question["seed"])
            answer = {"tokens": generate(model, question["start"], question["K"], question["n_tokens"], RNG)}
        elif model.scope == "V":
            answer = {"emitted": verify(rounds_of(model, question))}
        else:
            drafted, emitted = zip(*draw(rounds_of(model, question)))
            answer = {"emitted": emitted, "drafted": drafted}
        stdout.write(write(question, answer))
        stdout.flush()
