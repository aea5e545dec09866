"""Speaks speclab's process protocol (docs/conformance.md, "Processes") for a sampler written in Python 3. It needs the
standard library only: copy it beside your sampler.

    import client
    client.serve(client.each(step), name="mine")

    def step(target, draft, tokens, rng):  # rows (n+1, V), rows (n, V) or None, n drafted tokens, random.Random
        return [...]                       # the tokens that the round emits
"""
import json
import os
import random
import struct
import sys

SCOPES, DRAWN, KINDS = {1: "V", 2: "DV", 4: "S"}, {1: "fixed", 2: "iid", 4: "without"}, {1: "begin", 2: "steps", 3: "generate"}
RNG = random.Random()


class Round:
    """One draft to verify. Node i is judged by target[parents[i] + 1]; target[i + 1] follows node i. In scope DV tokens
    is None: draw n of them from the rows of draft."""

    __slots__ = ("n", "tokens", "parents", "target", "draft", "drawn", "sampling", "request", "seed", "offset", "coins")

    def rng(self):
        RNG.seed(self.seed << 64 | self.offset)
        return RNG


def each(step):
    """step(target, draft, tokens, rng) for one round, as the function of a batch that serve() wants."""
    return lambda rounds: [step(r.target, r.draft, r.tokens, r.rng()) for r in rounds]


def each_draw(draw):
    """draw(target, draft, n, rng), which returns the drafted tokens and the emitted ones, as a function of a batch."""
    return lambda rounds: [draw(r.target, r.draft, r.n, r.rng()) for r in rounds]


class Texts:
    """The models of scope S: the rows after a state, and the state after a token."""

    def __init__(self, begin):
        self.target, self.draft, self.next, self.sampling = begin["target"], begin["draft"], begin["next"], begin["sampling"]


def rounds_of(begin, steps):
    """The rounds of a batch; padding at the end of a draft is taken off."""
    out = []
    for i, n in enumerate(steps["n_nodes"]):
        r = Round()
        states, token = steps["state"][i], steps["token"][i] if "token" in steps else None
        while token is not None and n > 0 and token[n - 1] < 0:
            n -= 1
        r.n, r.tokens, r.parents = n, token if token is None else token[:n], begin["parent"][:n]
        r.target = [begin["target"][s] for s in states[: n + 1]]
        r.draft = [begin["draft"][s] for s in states[: n + 1]] if begin["draft"] else None
        r.drawn, r.sampling = begin["drawn"], begin["sampling"]
        r.request, r.seed, r.offset = steps["request"][i], steps["seed"][i], steps["offset"][i]
        r.coins = steps["coin"][i] if "coin" in steps else None
        out.append(r)
    return out


def json_question(stdin):
    line = stdin.readline()
    if not line:
        return None
    question = json.loads(line)
    if question["type"] == "begin":
        question["sampling"] = {key: question[key] for key in ("temperature", "top_k", "top_p", "min_p")}
        question.setdefault("draft", None)
    return question


def rows(form, width, n, body, at):
    """n tuples of `width` numbers each, and where they end."""
    end = at + n * struct.calcsize("<%d%s" % (width, form))
    return list(struct.iter_unpack("<%d%s" % (width, form), body[at:end])) if width else [()] * n, end


def binary_question(stdin, begin):
    header = stdin.read(16)
    if len(header) < 16:
        return None
    _, kind, length, serial = struct.unpack("<4sIII", header)
    body, q = stdin.read(length), {"type": KINDS[kind], "serial": serial}
    if kind == 1:
        scope, drawn, V, n_states, n_nodes, has_draft, has_next, top_k, *real = struct.unpack_from("<8i4f", body)
        q.update(scope=SCOPES[scope], drawn=DRAWN[drawn], vocab=V, n_nodes=n_nodes, draft=None)
        q["sampling"] = {"temperature": real[0], "top_k": top_k, "top_p": real[1], "min_p": real[2]}
        (q["parent"],), at = rows("i", n_nodes, 1, body, 48)
        q["target"], at = rows("f", V, n_states, body, at)
        if has_draft:
            q["draft"], at = rows("f", V, n_states, body, at)
        if has_next:
            q["next"], at = rows("i", V, n_states, body, at)
    elif kind == 2:
        n, coins = struct.unpack_from("<2i", body)
        (q["request"], q["seed"], q["offset"]), at = rows("Q", n, 3, body, 8)
        (q["n_nodes"],), at = rows("i", n, 1, body, at)
        q["state"], at = rows("i", begin["n_nodes"] + 1, n, body, at)
        if begin["scope"] == "V":
            q["token"], at = rows("i", begin["n_nodes"], n, body, at)
        if coins:
            q["coin"], at = rows("f", coins, n, body, at)
    else:
        q["start"], q["K"], q["n_tokens"], _, q["seed"] = struct.unpack("<4iQ", body)
    return q


def json_answer(question, emitted, drafted):
    if question["type"] == "generate":
        return json.dumps({"serial": question["serial"], "tokens": emitted}).encode() + b"\n"
    answer = {"serial": question["serial"], "emitted": emitted}
    if drafted is not None:
        answer["drafted"] = drafted
    return json.dumps(answer).encode() + b"\n"


def binary_answer(question, emitted, drafted):
    if question["type"] == "generate":
        numbers, kind = emitted, 3
    else:
        numbers, kind = [len(t) for t in emitted] + [len(t) - 1 for t in emitted], 2
        for tokens in (drafted or []) + emitted:
            numbers += tokens
    return struct.pack("<4sIII%di" % len(numbers), b"SPEC", kind, 4 * len(numbers), question["serial"], *numbers)


def serve(verify=None, draw=None, generate=None, frames="binary", **hello):
    """Serve until speclab has had enough. verify(rounds) returns the emitted tokens of every round (scope V);
    draw(rounds) the drafted and the emitted ones (DV); generate(texts, start, K, n_tokens, rng) a text (S). The other
    keys are the hello's: name, chains, trees, rows, sampling, padding, seeded, coins, max_batch, max_vocab, lossy."""
    stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed from here on goes to standard error
    scopes = [s for s, function in (("V", verify), ("DV", draw), ("S", generate)) if function]
    stdout.write(json.dumps(dict(hello, speclab=1, scopes=scopes, frames=frames)).encode() + b"\n")
    stdout.flush()
    begin, answer = None, json_answer if frames == "json" else binary_answer
    while True:
        question = json_question(stdin) if frames == "json" else binary_question(stdin, begin)
        if question is None:
            return
        drafted = None
        if question["type"] == "begin":
            begin = question
            continue
        if question["type"] == "generate":
            RNG.seed(question["seed"])
            emitted = generate(Texts(begin), question["start"], question["K"], question["n_tokens"], RNG)
        elif begin["scope"] == "V":
            emitted = verify(rounds_of(begin, question))
        else:
            drafted, emitted = map(list, zip(*draw(rounds_of(begin, question))))
        stdout.write(answer(question, emitted, drafted))
        stdout.flush()
