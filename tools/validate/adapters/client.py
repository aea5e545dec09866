# SPDX-License-Identifier: MIT
"""The client side of speclab's process protocol, for samplers in Python 3.

It encodes binary frames or lines of JSON (docs/conformance.md, "Processes"), and needs the standard
library only. Copy this file to the folder of your sampler, and write one function:

    import client

    # target rows (n+1, V), draft rows or None, n draft tokens, a random.Random
    def step(target, draft, tokens, rng):
        return [...]  # the emitted tokens: accepted draft tokens, then a correction or bonus token

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
    """A draft to verify, with n tokens and without padding.

    Token i was drawn from draft[parents[i] + 1] and is verified against target[parents[i] + 1];
    target[i + 1] is the row after it. draft is None if the tokens were chosen without randomness.
    In scope DV tokens is None: draw a chain of n tokens.
    """

    __slots__ = (
        "n", "tokens", "parents", "target", "draft", "drawn",
        "sampling", "request", "seed", "offset", "coins",
    )


class Coins(random.Random):
    """The uniform numbers of a round (hello: coins=True), then pseudo-random numbers."""

    coins = iter(())

    def random(self):
        for coin in self.coins:
            return coin
        return super().random()


def each(step):
    """Turn a function of one round into the function of a batch that serve() takes.

    For verify: step(target, draft, tokens, rng) returns the emitted tokens.
    For draw: step(target, draft, n, rng) returns the draft tokens and the emitted tokens.
    """

    def one(r):
        rng = Coins() if r.coins else RNG
        rng.seed(r.seed << 64 | r.offset)
        rng.coins = iter(r.coins or ())
        return step(r.target, r.draft, r.n if r.tokens is None else r.tokens, rng)

    return lambda rounds: [one(r) for r in rounds]


def rounds_of(model, steps):
    out = []
    for i, n in enumerate(steps["n_nodes"]):
        r, states = Round(), steps["state"][i]
        tokens = steps["token"][i] if "token" in steps else None
        while tokens is not None and n > 0 and tokens[n - 1] < 0:
            n -= 1
        r.n, r.tokens, r.parents = n, tokens and tokens[:n], model.parent[:n]
        r.target = [model.target[s] for s in states[: n + 1]]
        r.draft = model.draft and [model.draft[s] for s in states[: n + 1]]
        r.drawn, r.sampling = model.drawn, model.sampling
        r.coins = steps["coin"][i] if "coin" in steps else None
        r.request, r.seed, r.offset = steps["request"][i], steps["seed"][i], steps["offset"][i]
        out.append(r)
    return out


def read_line(stdin, _):
    line = stdin.readline()
    question = json.loads(line) if line else None
    if question and question["type"] == "begin":
        parameters = ("temperature", "top_k", "top_p", "min_p")
        question["sampling"] = {key: question[key] for key in parameters}
    return question


def write_line(question, answer):
    return json.dumps({"serial": question["serial"], **answer}).encode() + b"\n"


def read_frame(stdin, model):
    header = stdin.read(16)
    if not header:
        return None
    _, kind, length, serial = struct.unpack("<4sIII", header)
    body, at, q = stdin.read(length), 0, {"type": TYPES[kind], "serial": serial}

    def take(form):  # reads one tuple of numbers
        nonlocal at
        at += struct.calcsize("<" + form)
        return struct.unpack_from("<" + form, body, at - struct.calcsize("<" + form))

    def rows(n, width, form):  # reads n tuples of `width` numbers
        nonlocal at
        begin, at = at, at + n * width * 4
        return list(struct.iter_unpack(f"<{width}{form}", body[begin:at])) if width else [()] * n

    if kind == 1:
        scope, drawn, V, n_states, n_nodes, has_draft, has_next, top_k = take("8i")
        q.update(scope=SCOPES[scope], drawn=DRAWN[drawn], vocab=V)
        q.update(n_states=n_states, n_nodes=n_nodes)
        q["sampling"] = dict(zip(("temperature", "top_p", "min_p"), take("3f4x")), top_k=top_k)
        q["parent"], q["target"] = take(f"{n_nodes}i"), rows(n_states, V, "f")
        q["draft"] = rows(n_states, V, "f") if has_draft else None
        q["next"] = rows(n_states, V, "i") if has_next else None
    elif kind == 2:
        n, coins = take("2i")
        q["request"], q["seed"], q["offset"] = take(f"{n}Q"), take(f"{n}Q"), take(f"{n}Q")
        q["n_nodes"] = take(f"{n}i")
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
        emitted = [len(tokens) for tokens in answer["emitted"]]
        kind, numbers = 2, emitted + [n - 1 for n in emitted]
        for tokens in [*answer.get("drafted", ()), *answer["emitted"]]:
            numbers += tokens
    form, serial = f"<4sIII{len(numbers)}i", question["serial"]
    return struct.pack(form, b"SPEC", kind, 4 * len(numbers), serial, *numbers)


def serve(verify=None, draw=None, generate=None, frames="binary", **hello):
    """Answer speclab's questions until it closes the connection.

    Give a function for each scope of the sampler:
    V: verify(rounds) returns the emitted tokens of every round.
    DV: draw(rounds) returns the draft tokens and the emitted tokens of every round.
    S: generate(model, start, K, n_tokens, rng) returns a text of n_tokens tokens that starts in
    state `start`. model.target and model.draft hold the rows by state, and model.next[state][token]
    is the state after a token.

    Other keys declare the sampler: name, chains, trees, rows, sampling, filters, padding, seeded,
    coins, lossy, max_batch, max_nodes, max_vocab.
    """
    stdin, stdout, model = sys.stdin.buffer, os.fdopen(os.dup(1), "wb"), None
    os.dup2(2, 1)  # print() writes to standard error from here on
    read, write = (read_line, write_line) if frames == "json" else (read_frame, write_frame)
    functions = {"V": verify, "DV": draw, "S": generate}
    scopes = [scope for scope, function in functions.items() if function]
    hello = {"speclab": 1, "scopes": scopes, "frames": frames, **hello}
    stdout.write(json.dumps(hello).encode() + b"\n")
    stdout.flush()
    while question := read(stdin, model):
        if question["type"] == "begin":
            model = SimpleNamespace(**{"draft": None, **question})
            continue
        if question["type"] == "generate":
            RNG.seed(question["seed"])
            start, K, n_tokens = question["start"], question["K"], question["n_tokens"]
            answer = {"tokens": generate(model, start, K, n_tokens, RNG)}
        elif model.scope == "V":
            answer = {"emitted": verify(rounds_of(model, question))}
        else:
            drafted, emitted = zip(*draw(rounds_of(model, question)))
            answer = {"emitted": emitted, "drafted": drafted}
        stdout.write(write(question, answer))
        stdout.flush()
