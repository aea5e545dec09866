#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server that streams texts as if it speculated, with known acceptance and known times.

Usage: timed_server.py [NAME=VALUE...]   prints its port; serves until standard input ends
    owner=llamacpp  the dialect: llamacpp, vllm or sglang
    fault=right     a mistake of FAULTS
    K=-1            the draft length; -1: from each request
    alpha=.7        the chance that a draft token is accepted, independently
    plain=6 a=7 b=1 ms of a plain token, and of a round: a + b K
    ttft=5          ms until the first token
    noise=0         standard deviation of the logarithm of a block's times
    port=0          with a port it serves until it is killed
A round's tokens come together. Times are kept by the clock, so that they do not add up errors.
GET /late says how much longer texts took than they should, as on a busy machine: a share.
"""
import json
import math
import os
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAULTS = ("right", "ignored", "never", "cut", "lost", "broken", "hang", "silent", "endless", "busy",
          "always_busy", "utf8", "bytes", "error", "no_stream", "falls", "too_long", "no_end",
          "no_metrics", "restart", "longer", "no_tokens", "within", "die")
SETTINGS = {"owner": "llamacpp", "fault": "right", "K": -1, "alpha": 0.7, "plain": 6.0, "a": 7.0,
            "b": 1.0, "ttft": 5.0, "noise": 0.0, "port": 0}


class Speculation:
    """The rounds of a text."""

    def __init__(self, server, K, most, seed):
        self.server, self.K, self.most = server, K, most
        self.rng = random.Random(f"{seed} {K}")
        self.tokens, self.rounds, self.drafted, self.accepted = 1, 0, 0, 0
        self.pace = math.exp(server.noise * random.gauss(0, 1))

    def round(self):
        """Emits the tokens of a round; returns its time in ms, and the tokens."""
        # SGLang always drafts K tokens, and cuts what goes beyond the end.
        left = self.most - self.tokens
        K = self.K if self.server.owner == "sglang" else min(self.K, left - 1)
        if K <= 0:
            self.tokens += 1
            return self.server.plain * self.pace, 1
        accepted = 0
        while accepted < K and self.rng.random() < self.server.alpha:
            accepted += 1
        self.rounds += 1
        self.drafted += K
        self.accepted += accepted
        emitted = min(accepted + 1, left)
        self.tokens += emitted
        return (self.server.a + self.server.b * K) * self.pace, emitted


class Server:
    def __init__(self, settings):
        self.__dict__.update(settings)
        self.lock = threading.Lock()
        self.asked = 0
        self.sums = {"rounds": 0, "drafted": 0, "accepted": 0, "tokens": 0}
        self.times = {}  # by K: seconds that texts took, and should take

    def length(self, body):
        if self.fault == "never":
            return 0
        if self.fault == "ignored":
            return 3
        K = self.K if self.K >= 0 else body.get("speculative.n_max", 3)
        return 2 * K if self.fault == "longer" else K

    def count(self, text):
        with self.lock:
            for name in self.sums:
                self.sums[name] += getattr(text, name)

    def time(self, K, took, due):
        with self.lock:
            before = self.times.get(K, (0, 0))
            self.times[K] = before[0] + took, before[1] + due

    def metrics(self):
        s = self.sums
        lines = ["# TYPE vllm:generation_tokens_total counter",
                 f'vllm:generation_tokens_total{{engine="0",model_name="m"}} {s["tokens"]}']
        if self.K > 0:
            lines += [f'vllm:spec_decode_{name}_total{{engine="0",model_name="m"}} {s[key]}'
                      for name, key in (("num_drafts", "rounds"),
                                        ("num_draft_tokens", "drafted"),
                                        ("num_accepted_tokens", "accepted"))]
        return "\n".join(lines) + "\n"

    def event(self, text, n, ends):
        """The event that follows n new tokens, as JSON."""
        content = "\u00e9" * n
        if self.owner == "vllm":
            return {"choices": [{"text": content, "finish_reason": "length" if ends else None}],
                    "usage": {"completion_tokens": text.tokens}}
        if self.owner == "sglang":
            about = {"completion_tokens": text.tokens,
                     "finish_reason": {"type": "length"} if ends else None}
            if text.rounds > 0 and ends:
                about["spec_verify_ct"] = text.rounds
            return {"text": content, "meta_info": about}
        event = {"content": content, "stop": ends, "tokens_predicted": text.tokens}
        if ends:
            event["timings"] = {"predicted_n": text.tokens}
            if text.drafted > 0:
                event["timings"].update(draft_n=text.drafted, draft_n_accepted=text.accepted)
        return event


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def reply(self, code, data, kind="application/json"):
        head = f"HTTP/1.1 {code} X\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
        self.wfile.write(head.encode() + data)

    def do_GET(self):
        model = self.server.model
        if self.path == "/v1/models":
            self.reply(200, json.dumps({"data": [{"id": "m", "owned_by": model.owner}]}).encode())
        elif self.path == "/metrics" and model.fault != "no_metrics":
            self.reply(200, model.metrics().encode(), "text/plain")
        elif self.path == "/late":
            late = [took / due - 1 for took, due in model.times.values() if due > 0]
            self.reply(200, json.dumps({"late": max(map(abs, late), default=0)}).encode())
        elif self.path == "/props":
            self.reply(200, b'{"total_slots": 8}')
        else:
            self.reply(404, b'{"error": {"message": "not found"}}')

    def chunk(self, data):
        pieces = [data]
        if self.server.model.fault == "bytes":
            pieces = [data[i:i + 1] for i in range(len(data))]
        for piece in pieces:
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")

    def data(self, event):
        """An event as bytes; the character that begins its text may be cut in half."""
        data = json.dumps(event, ensure_ascii=False).encode()
        if self.server.model.fault == "utf8":
            data = data.replace(b"\xc3\xa9", b"\xa9\xc3", 1)
        return b"data: " + data + b"\n\n"

    def spoil(self, fault, tokens):
        """After some tokens, a mistake that ends the text; True if it does."""
        if tokens < 8:
            return False
        if fault in ("cut", "lost", "within"):
            if fault == "cut":
                self.wfile.write(b"0\r\n\r\n")
            if fault == "within":
                self.chunk(b'data: {"content": "x')
                self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True
        elif fault == "broken":
            self.chunk(b'data: {"content": "x", "stop": fal\n\n')
        elif fault == "hang":
            time.sleep(30)
        elif fault == "die":
            os._exit(7)
        elif fault == "silent":
            for _ in range(300):
                self.chunk(b": still here\n\n")
                time.sleep(0.1)
        elif fault == "endless":
            for _ in range(64):
                self.chunk(b"data: " + b"x" * (1 << 16))
        elif fault == "error":
            self.chunk(b'data: {"error": {"message": "out of cache", "code": 500}}\n\n')
        elif fault == "falls":
            self.chunk(b'data: {"content": "x", "stop": false, "tokens_predicted": 2}\n\n')
        elif fault == "too_long":
            self.chunk(b'data: {"content": "x", "stop": false, "tokens_predicted": 99999}\n\n')
        elif fault == "no_tokens":
            self.chunk(b'data: {"content": "x", "stop": false}\n\n')
        else:
            return False
        return True

    def stream(self, text):
        model = self.server.model
        self.wfile.write(b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n")
        due = begin = time.monotonic() + model.ttft / 1e3
        first = None
        n = 1
        while True:
            time.sleep(max(0.0, due - time.monotonic()))
            ends = text.tokens >= text.most
            if self.spoil(model.fault, text.tokens):
                return
            # llama-server sends an event for each token, and one that ends the text.
            events = [model.event(text, n, ends and model.owner != "llamacpp")]
            if model.owner == "llamacpp":
                events = [model.event(text, 1, False)] * n
                if ends and model.fault != "no_end":
                    events.append(model.event(text, 0, True))
            if ends:
                model.count(text)
            self.chunk(b"".join(self.data(event) for event in events))
            first = first or time.monotonic()
            if ends:
                model.time(text.K, time.monotonic() - first, due - begin)
                break
            ms, n = text.round()
            due += ms / 1e3
        if model.owner != "llamacpp" and model.fault != "no_end":
            self.chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def do_POST(self):
        model = self.server.model
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with model.lock:
            model.asked += 1
            asked = model.asked
        if model.fault == "always_busy" or (model.fault == "busy" and asked % 5 == 0):
            self.reply(503 if asked % 2 else 429, b'{"error": {"message": "busy"}}')
            return
        if model.fault == "no_stream":
            self.reply(200, b'{"content": "text", "stop": true}')
            return
        if model.fault == "restart" and asked == 12:
            model.sums = dict.fromkeys(model.sums, 0)
        sampling = body.get("sampling_params", body)
        most = sampling.get("n_predict") or sampling.get("max_tokens") or sampling["max_new_tokens"]
        seed = sampling.get("seed", sampling.get("sampling_seed"))
        try:
            self.stream(Speculation(model, model.length(body), most, seed))
        except OSError:
            self.close_connection = True


def main():
    settings = dict(SETTINGS)
    for word in sys.argv[1:]:
        name, value = word.split("=", 1)
        settings[name] = type(SETTINGS[name])(value)
    assert settings["fault"] in FAULTS, settings["fault"]
    ThreadingHTTPServer.allow_reuse_address = True
    server = ThreadingHTTPServer(("127.0.0.1", settings["port"]), Handler)
    server.daemon_threads = True
    server.model = Server(settings)
    print(server.server_port, flush=True)
    if settings["port"]:
        server.serve_forever()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
