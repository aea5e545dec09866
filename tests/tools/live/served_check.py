#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges real servers with `speclab served`: llama-server with and without speculation.

    tests/tools/live/served_check.py SPECLAB [WORD...]     all cases, or those named with a word
llama-server is built below build/peers, once. The models are the small ones of SPECLAB_DATA. A
server that is right must get no accusation. Wrong ones are the same server behind a proxy that
changes requests, and a server of another model.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [os.path.join(ROOT, "tests/peers"), os.path.join(ROOT, "tests/verdicts")]
import peers  # noqa: E402

SERVER = os.path.join(ROOT, "build/peers/llama/bin/llama-server")
DATA = os.environ.get("SPECLAB_DATA", "")
PROMPTS = ["Once upon a time", "The king said", "What is the matter with", "My lord, I", "O, no",
           "There was a little girl who", "In the morning they", "Come hither"]


def build_server():
    if not os.path.exists(SERVER):
        peers.need("cmake", "--version")
        peers.build_llama(peers.unpack_llama(), "llama/bin/llama-server", "llama-server")


def llama_server(model, log, *words):
    """A running server, and its address once it is ready."""
    command = [SERVER, "-m", model, "--port", "0", "--host", "127.0.0.1", "--parallel", "4",
               "-c", "1024", "--threads", "1", *words]
    with open(log, "wb") as to:
        process = subprocess.Popen(command, stdout=to, stderr=to)
    for _ in range(600):
        with open(log, encoding="utf-8", errors="replace") as said:
            found = re.search(r"http://127.0.0.1:(\d+)", said.read())
        if found:
            url = found.group(0)
            try:
                urllib.request.urlopen(url + "/health", timeout=5).read()
                return process, url
            except (urllib.error.URLError, OSError):
                pass
        if process.poll() is not None:
            break
        time.sleep(0.1)
    process.kill()
    sys.exit(f"served-check: llama-server did not start, see {log}")


class Proxy(BaseHTTPRequestHandler):
    """Passes requests on, and changes those for a text."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def pass_on(self, data):
        headers = {"Content-Type": "application/json"} if data else {}
        request = urllib.request.Request(self.server.behind + self.path, data, headers)
        body = urllib.request.urlopen(request, timeout=60).read()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.pass_on(None)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/completion":
            self.server.change(body)
        self.pass_on(json.dumps(body).encode())


def proxy(behind, change):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    server.behind, server.change = behind, change
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def shifted(body):
    """Another request's beginning for a third of the texts."""
    if body["seed"] % 3 == 0:
        body["prompt"] = body["prompt"][:1] + body["prompt"][:0:-1]


def drafted(url):
    text = urllib.request.urlopen(url + "/metrics", timeout=10).read().decode()
    return int(float(re.search(r"^llamacpp:spec_decode_num_draft_tokens_total (\S+)", text,
                               re.M).group(1)))


def main(program, only):
    if not os.path.isdir(os.path.join(DATA, "babyllama")):
        print("served-check: skipped: SPECLAB_DATA has no babyllama")
        return 0
    build_server()
    scratch = tempfile.mkdtemp(prefix="served-check-")
    for name in ("target", "draft"):
        subprocess.run([program, "quantize", f"{DATA}/babyllama/{name}.bin",
                        f"{scratch}/{name}.gguf", "--type", "f32"], check=True,
                       stdout=subprocess.DEVNULL)
    prompts = os.path.join(scratch, "prompts.jsonl")
    with open(prompts, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"prompt": prompt}) + "\n" for prompt in PROMPTS)
    target, draft = f"{scratch}/target.gguf", f"{scratch}/draft.gguf"
    plain, plain_url = llama_server(target, f"{scratch}/plain.log")
    spec, spec_url = llama_server(target, f"{scratch}/spec.log", "--spec-type", "draft-simple",
                                  "-md", draft, "--spec-draft-n-max", "3", "--metrics")
    other, other_url = llama_server(draft, f"{scratch}/other.log")
    subprocess.run([program, "quantize", f"{DATA}/babyllama/target.bin",
                    f"{scratch}/target.q8.gguf", "--type", "q8_0"], check=True,
                   stdout=subprocess.DEVNULL)
    coarse, coarse_url = llama_server(f"{scratch}/target.q8.gguf", f"{scratch}/coarse.log")
    cases = [
        ("speculates, T = 1", spec_url, [], "no difference"),
        ("speculates, T = 0.7, top-k 20", spec_url,
         ["--temperature", "0.7", "--top-k", "20", "--top", "40"], "no difference"),
        ("speculates, min-p 0.1", spec_url, ["--min-p", "0.1"], "no difference"),
        ("speculates, greedy", spec_url, ["--temperature", "0"], "no difference"),
        ("plain, greedy", plain_url, ["--temperature", "0"], "no difference"),
        ("drops min-p", proxy(spec_url, lambda body: body.update(min_p=0)),
         ["--min-p", "0.1"], "wrong filter"),
        ("speculates, penalties", spec_url,
         ["--presence-penalty", "1", "--frequency-penalty", "0.2"], "no difference"),
        ("drops penalties",
         proxy(spec_url, lambda body: body.update(presence_penalty=0, frequency_penalty=0)),
         ["--presence-penalty", "1", "--frequency-penalty", "0.2"], "wrong sampler"),
        ("argmax", proxy(spec_url, lambda body: body.update(temperature=0)), [],
         "wrong sampler"),
        ("temperature 1.2", proxy(spec_url, lambda body: body.update(temperature=1.2)), [],
         "wrong sampler"),
        ("top-k 8, undeclared", proxy(spec_url, lambda body: body.update(top_k=8)), [],
         "wrong filter"),
        ("another prompt", proxy(spec_url, shifted), [], ("wrong state", "wrong sampler")),
        ("another model", other_url, [], ("wrong state", "wrong sampler")),
        ("another model, greedy", other_url, ["--temperature", "0"],
         ("wrong token", "wrong state")),
        ("equal seeds", spec_url, ["--equal-seeds"], "no difference"),
        ("equal seeds, another prompt", proxy(spec_url, shifted), ["--equal-seeds"],
         "wrong state"),
        ("equal seeds, another model", other_url, ["--equal-seeds"], "wrong state"),
        ("two samples", spec_url, ["--compare-with", plain_url, "--texts", "800"], "undecided"),
        ("two samples, another model", other_url,
         ["--compare-with", plain_url, "--texts", "800"], "wrong sampler"),
        ("scored here, T = 1", spec_url, ["--score-by", target], "no difference"),
        ("scored here, T = 0.7", spec_url, ["--score-by", target, "--temperature", "0.7"],
         "no difference"),
        ("scored here, greedy", spec_url, ["--score-by", target, "--temperature", "0"],
         "no difference"),
        ("scored here, argmax", proxy(spec_url, lambda body: body.update(temperature=0)),
         ["--score-by", target], "wrong sampler"),
        ("scored here, another prompt", proxy(spec_url, shifted), ["--score-by", target],
         ("wrong state", "wrong sampler")),
        ("scored here, Q8 weights", coarse_url, ["--score-by", f"{scratch}/target.q8.gguf"],
         "no difference"),
        ("scored here, another model", other_url, ["--score-by", target],
         "runs another model"),
    ]
    cases = [case for case in cases if not only or any(word in case[0] for word in only)]
    failed = 0
    for name, url, words, expected in cases:
        begun = time.monotonic()
        scorer = [] if {"--score-by", "--compare-with"} & set(words) else ["--score-by", plain_url]
        ran = subprocess.run([program, "served", "--text-from", url, *scorer, "--prompts", prompts,
                              *([] if "--texts" in words else ["--texts", "64"]), "-f", "json",
                              *words],
                             capture_output=True, text=True)
        said = json.loads(ran.stdout) if ran.stdout else {"verdict": ran.stderr.strip()}
        good = any(name in said["verdict"]
                   for name in ([expected] if isinstance(expected, str) else expected))
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {name}: {said['verdict']}, {said.get('tokens', '')} "
              f"tokens, TV {said.get('detectable_tv', '')}, noise {said.get('noise', '')}, log e "
              f"{said.get('log_e', '')} and {said.get('state_log_e', '')}, "
              f"{time.monotonic() - begun:.0f} s", flush=True)
    print(f"served-check: {len(cases) - failed} of {len(cases)} verdicts are right; "
          f"{drafted(spec_url)} tokens were drafted")
    failed += drafted(spec_url) == 0
    for process in (plain, spec, other, coarse):
        process.kill()
    subprocess.run(["rm", "-rf", scratch], check=True)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:]))
