#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server over a small table model, right or with one mistake, in the dialect of an engine.

Usage: faulty_server.py [FAULT [OWNER [KEY [MODEL]]]]
It prints its port, and serves until standard input ends. The model is exact: a row is a function of
the beginning of the prompt and the last two tokens, so the scores are the truth; or a row of MODEL
for each last token, {"chars": "abc", "rows": [[...], ...]}. It pretends to speculate: a rejection
may leave its cache behind.
"""
import json
import math
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

VOCAB = 48
FAULTS = ("right", "mixed", "rollback", "no_filters", "argmax", "hot", "top_k", "same_seed",
          "greedy_wrong", "noisy", "cut_utf8", "truncated", "not_json", "huge", "deep", "hang",
          "busy", "always_busy", "lost", "error", "no_ids", "too_long", "duplicate", "above_one",
          "nonsense", "ids", "other_tokens", "no_template",
          "no_prompt", "one_more", "unseeded", "no_penalties")
END = VOCAB - 1  # ends a text


def make_row(before):
    rng = random.Random(repr(before))
    logits = [4.0 * rng.random() + 3.0 * (rng.random() > 0.93) for i in range(VOCAB)]
    logits[END] = -2.0
    most = max(logits)
    weights = [math.exp(x - most) for x in logits]
    total = sum(weights)
    return [w / total for w in weights]


rows = {}
model = None


def load_model(path):
    global model, VOCAB, END
    with open(path, encoding="utf-8") as file:
        model = json.load(file)
    VOCAB, END = len(model["rows"]), -1


def row_after(tokens):
    if model:
        return model["rows"][tokens[-1]]
    before = (*tokens[:4], -1, *tokens[-2:])
    if before not in rows:
        rows[before] = make_row(before)
    return rows[before]


def top_p(order, row, share, of):
    """The first tokens whose sum reaches a share of the sum over `of`."""
    total, mass, n = sum(row[i] for i in of), 0.0, 0
    while n < len(order) and mass < share * total:
        mass += row[order[n]]
        n += 1
    return order[:n] if share < 1 else order


def penalised(row, seen, body):
    presence, frequency = body.get("presence_penalty", 0), body.get("frequency_penalty", 0)
    if not presence and not frequency:
        return row
    row = list(row)
    for token in set(seen):
        row[token] *= math.exp(-presence - frequency * seen.count(token))
    return [p / sum(row) for p in row]


def filtered(row, body, owner):
    """The tokens that may be drawn, and their weights, in the engine's order."""
    heat = body["temperature"] or 1.0
    order = sorted(range(VOCAB), key=lambda i: (-row[i], i))
    if body["temperature"] == 0:
        return order[:1], [1.0]
    hot = [p**(1 / heat) for p in row]
    if owner == "llamacpp" and body["top_k"] == 0 and body["top_p"] == 1 and body["min_p"] == 0:
        return range(len(row)), hot
    seen = row if owner == "llamacpp" else hot
    everything = order
    if body["min_p"] > 0 and owner != "llamacpp":
        order = [i for i in order if seen[i] >= body["min_p"] * seen[order[0]]]
    if body["top_k"] > 0:
        order = order[:body["top_k"]]
    order = top_p(order, seen, body["top_p"], everything if owner == "sglang" else order)
    if body["min_p"] > 0 and owner == "llamacpp":
        order = [i for i in order if seen[i] >= body["min_p"] * seen[order[0]]]
    return order, [hot[i] for i in order]


def tokens_of(text):
    if model:
        return [model["chars"].index(c) for c in text]
    return [ord(c) % (VOCAB - 1) for c in text]


def chat_text(messages):
    """The server's template."""
    return "".join(f"[{message['role']}] {message['content']} " for message in messages) + "[bot]"


class Server:
    def __init__(self, fault, owner):
        self.fault = fault
        self.owner = owner
        self.lock = threading.Lock()
        self.asked = 0
        self.last = None  # the prompt of another request

    def row(self, context):
        row = row_after(context)
        if self.fault == "noisy":
            row = [p * math.exp(0.02 * (random.random() - 0.5)) for p in row]
            total = sum(row)
            row = [p / total for p in row]
        return row

    def draw(self, body):
        fault, body = self.fault, {"top_k": 0, "top_p": 1.0, "min_p": 0.0, **body}
        rng = random.Random(7 if fault == "same_seed" else body["seed"])
        if fault == "unseeded":
            rng = random.Random()
        luck = random.Random(repr(body["seed"]))  # of its mistakes
        settings = dict(body)
        if fault == "no_filters":
            settings.update(top_k=0, top_p=1.0, min_p=0.0)
        if fault == "argmax":
            settings["temperature"] = 0
        if fault == "hot":
            settings["temperature"] = 1.3 * body["temperature"]
        if fault == "top_k":
            settings["top_k"] = 8
        prompt = body["prompt"]
        tokens, lost = [], 0  # lost: tokens that its cache lacks
        with self.lock:
            other, self.last = self.last, prompt
        mixed = fault == "mixed" and other and luck.random() < 0.3
        for _ in range(body["n_predict"]):
            context = (other if mixed else prompt) + tokens
            if fault == "rollback" and lost == 0 and luck.random() < 0.02:
                lost = 1  # a rejection leaves the cache one token behind
            if lost:
                context = context[:-lost]
            if fault == "one_more" and luck.random() < 0.1:
                rng.random()  # a rejection uses a random number
            row = self.row(context)
            if fault != "no_penalties":
                row = penalised(row, (prompt + tokens)[-64:] if self.owner == "llamacpp"
                                else tokens, body)
            order, weights = filtered(row, settings, self.owner)
            token = rng.choices(order, weights)[0]
            if fault == "greedy_wrong" and luck.random() < 0.01:
                token = sorted(range(VOCAB), key=lambda i: -row_after(context)[i])[2]
            tokens.append(token)
            if token == END:
                break
        return tokens

    def scores(self, prefix, top):
        """The most probable tokens after a prefix, as pairs (id, log-probability)."""
        row = self.row(prefix)
        order = sorted(range(VOCAB), key=lambda i: (-row[i], i))[:top]
        pairs = [(i, math.log(row[i])) for i in order]
        if self.fault == "duplicate":
            pairs[1] = pairs[0]
        if self.fault == "above_one":
            pairs[0], pairs[1] = (order[0], -0.1), (order[1], -0.1)
        return pairs

    def text(self, body):
        tokens = self.draw(body)
        if self.fault == "too_long":
            tokens = tokens * 99
        if self.fault == "ids":
            tokens[0] = -5
        return tokens

    def llama(self, body):
        if "n_probs" in body:
            top = [{"id": i, "token": f"t{i}", "logprob": x}
                   for i, x in self.scores(body["prompt"], body["n_probs"])]
            return {"completion_probabilities": [{"top_logprobs": top}]}
        if self.fault == "no_ids":
            return {"content": "text", "stop_type": "limit"}
        return {"tokens": self.text(body), "stop_type": "limit"}

    def vllm(self, body):
        prompt = body["prompt"]
        if "prompt_logprobs" in body:
            places = [None]
            for i in range(1, len(prompt)):
                place = {str(k): {"logprob": x, "rank": 1, "decoded_token": "t"}
                         for k, x in self.scores(prompt[:i], body["prompt_logprobs"])}
                own = row_after(prompt[:i])[prompt[i]]
                place.setdefault(str(prompt[i]), {"logprob": math.log(own), "rank": 40})
                places.append(place)
            return {"choices": [{"prompt_logprobs": places}]}
        body = {**body, "n_predict": body["max_tokens"], "top_k": max(body["top_k"], 0)}
        ids = {} if self.fault == "no_ids" else {"token_ids": self.text(body)}
        return {"choices": [{"text": "a\0b", **ids}]}  # a token may be a zero byte

    def sglang(self, body):
        sampling = body["sampling_params"]
        prompt = body["input_ids"] if "input_ids" in body else tokens_of(body["text"])
        if sampling["max_new_tokens"] > 1:
            words = {**sampling, "prompt": prompt, "n_predict": sampling["max_new_tokens"],
                     "top_k": max(sampling["top_k"], 0), "seed": sampling["sampling_seed"]}
            triples = [[-0.5, token, None] for token in self.text(words)]
            return {"meta_info": {} if self.fault == "no_ids" else
                    {"output_token_logprobs": triples}}
        first = body["logprob_start_len"]
        own = [[None, prompt[first], None]]
        tops = [None]
        for i in range(first + 1, len(prompt)):
            own.append([math.log(row_after(prompt[:i])[prompt[i]]), prompt[i], None])
            tops.append([[x, k, None] for k, x in
                         self.scores(prompt[:i], body.get("top_logprobs_num", 1))])
        return {"meta_info": {"input_token_logprobs": own, "input_top_logprobs": tops}}

    def openai(self, path, body):
        """Words instead of tokens, and one that does not come from the model of this name."""
        chat = path == "/v1/chat/completions"
        prompt = chat_text(body["messages"]) if chat else body["prompt"]
        tokens = self.text({**body, "prompt": tokens_of(prompt), "n_predict": body["max_tokens"]})
        if body["model"] == "chair":
            tokens = sorted(tokens)
        text = "".join(f" w{token}" for token in tokens)
        if self.fault == "no_ids":
            return {"choices": [{}]}
        return {"choices": [{"message": {"content": text}} if chat else {"text": text}]}

    def answer(self, path, body):
        if path == "/v1/models":
            if self.fault == "nonsense":
                return {"hello": 1}
            return {"data": [{"id": name, "owned_by": self.owner, "meta": {"n_vocab": VOCAB}}
                             for name in ("table", "chair")]}
        if path == "/props":
            return {"total_slots": 8}
        if path == "/apply-template":
            return {} if self.fault == "no_prompt" else {"prompt": chat_text(body["messages"])}
        if path == "/tokenize":
            if "messages" in body:
                return {"tokens": tokens_of(chat_text(body["messages"]))}
            tokens = tokens_of(body["content" if "content" in body else "prompt"])
            return {"tokens": tokens + tokens[-1:] * (self.fault == "other_tokens")}
        if path == "/v1/chat/completions" or isinstance(body.get("prompt"), str):
            return self.openai(path, body)
        return {"/completion": self.llama, "/v1/completions": self.vllm,
                "/generate": self.sglang}[path](body)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def reply(self, code, data, length=None):
        head = f"HTTP/1.1 {code} X\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(data) if length is None else length}\r\n\r\n"
        self.wfile.write(head.encode() + data)

    def spoil(self, fault, data):
        """The broken answers; True if one was sent."""
        server = self.server.model
        if fault == "cut_utf8":
            self.reply(200, b'{"tokens": [1], "content": "\xc3"}')
        elif fault == "truncated":
            self.reply(200, data[:len(data) // 2], len(data))
            self.close_connection = True
        elif fault == "not_json":
            self.reply(200, b"<html>welcome</html>")
        elif fault == "deep":
            self.reply(200, b"[" * 100000)
        elif fault == "huge":
            self.wfile.write(b"HTTP/1.1 200 X\r\nContent-Length: 99999999999\r\n\r\n")
            try:
                while True:
                    self.wfile.write(b" " * (1 << 20))
            except OSError:
                self.close_connection = True
        elif fault == "hang":
            time.sleep(30)
        elif fault == "error":
            self.reply(400, b'{"error": {"message": "the prompt is too long", "code": 400}}')
        elif fault == "lost":
            self.close_connection = True
        elif fault == "always_busy" or (fault == "busy" and server.asked % 3 == 0):
            self.reply(503 if server.asked % 2 else 429, b'{"error": {"message": "busy"}}')
        else:
            return False
        return True

    def do_GET(self):
        self.reply(200, json.dumps(self.server.model.answer(self.path, None)).encode())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = self.server.model
        key = self.server.key
        if key and self.headers.get("Authorization") != "Bearer " + key:
            self.reply(401, b'{"error": {"message": "wrong API key"}}')
            return
        with model.lock:
            model.asked += 1
        if model.fault == "no_template" and "messages" in body:
            self.reply(400, b'{"error": {"message": "there is no chat template"}}')
            return
        data = json.dumps(model.answer(self.path, body)).encode()
        if self.path == "/tokenize" or not self.spoil(model.fault, data):
            self.reply(200, data)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    given = sys.argv[1:]
    fault, owner, server.key, path = given + ["right", "llamacpp", "", ""][len(given):]
    if path:
        load_model(path)
    server.model = Server(fault, owner)
    assert server.model.fault in FAULTS
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
