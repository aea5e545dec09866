#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures real servers with `speclab drive`: llama-server, launched and not.

    tests/tools/live/drive_check.py SPECLAB
llama-server is built below build/peers, once. The target is a small model of SPECLAB_DATA, widened
so that it takes longer than its draft. Times are those of a busy machine, so only what does not
depend on them is checked: counts of drafts, which the server's own /metrics must confirm, and the
refusal of baselines that are none.
"""
import csv
import os
import re
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import served_check as served  # noqa: E402


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def script(path, port, models, speculative):
    """A start script: llama-server with the length $1, and the words of `speculative` if it is
    above 0, or always if they begin with a plus."""
    always = speculative.startswith("+")
    words = f"-md {models}/draft.gguf {speculative.lstrip('+')} --spec-draft-n-max $1"
    with open(path, "w", encoding="utf-8") as to:
        to.write("#!/bin/sh\nK=$1; set --\n"
                 + (f"set -- {words.replace('$1', '$K')}\n" if always else
                    f"[ $K -gt 0 ] && set -- {words.replace('$1', '$K')}\n")
                 + f"exec {served.SERVER} -m {models}/target.gguf --port {port} --host 127.0.0.1 "
                   '--parallel 4 -c 1024 --threads 1 --metrics "$@"\n')
    os.chmod(path, 0o755)


def drive(program, prompts, url, *words):
    return subprocess.run([program, "drive", "--url", url, "--prompts", prompts, "--max-tokens",
                           "48", *words], capture_output=True, text=True)


def drafted(url):
    """Draft tokens and accepted ones, as the server counts them."""
    text = served.urllib.request.urlopen(url + "/metrics", timeout=10).read().decode()
    return [int(float(re.search(rf"^llamacpp:spec_decode_num_{name}_tokens_total (\S+)", text,
                                re.M).group(1))) for name in ("draft", "accepted")]


def rows_of(text):
    lines = [line for line in text.split("\n") if not line.startswith("#")]
    return {(int(row["concurrency"]), int(row["K"])): row for row in csv.DictReader(lines)}


def check_launched(program, scratch, prompts):
    """Greedy texts are the same at all lengths and loads, so their counts are, too."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    script(f"{scratch}/start.sh", port, scratch, "--spec-type draft-simple")
    ran = drive(program, prompts, url, "--launch", f"{scratch}/start.sh {{K}}", "--K", "0,1,3",
                "--concurrency", "1,4", "--repeat", "2", "-f", "csv")
    if ran.returncode not in (0, 3):
        return False, ran.stderr.strip()
    rows = rows_of(ran.stdout)
    good = len(rows) == 6 and all(float(rows[n, 0]["drafted"]) == 0 for n in (1, 4))
    for K in (1, 3):
        alpha = [float(rows[n, K]["accepted_over_drafted"]) for n in (1, 4)]
        good = good and abs(alpha[0] - alpha[1]) < 0.02 and 0.5 < alpha[0] < 1
        good = good and 1 < float(rows[1, K]["tokens_per_round"]) < K + 1
        good = good and float(rows[1, K]["speedup_perfect"]) > 0
    return good, ", ".join(f"K = {K}: {float(rows[1, K]['speedup']):.2f} times, predicted "
                           f"{float(rows[1, K]['speedup_predicted']):.2f}, "
                           f"{float(rows[1, K]['tokens_per_round']):.2f} tokens per round"
                           for K in (1, 3))


def check_refused(program, scratch, prompts, speculative, line):
    port = free_port()
    script(f"{scratch}/start.sh", port, scratch, speculative)
    ran = drive(program, prompts, f"http://127.0.0.1:{port}", "--launch",
                f"{scratch}/start.sh {{K}}", "--K", "0,2", "--concurrency", "1", "--repeat", "1")
    return ran.returncode == 2 and line in ran.stderr and ran.stdout == "", ran.stderr.strip()


def check_by_request(program, scratch, prompts):
    """A server that ignores the draft length of a request has no baseline; one that takes it is
    measured, and has counted as many drafts."""
    process, url = served.llama_server(f"{scratch}/target.gguf", f"{scratch}/log", "--spec-type",
                                       "draft-simple", "-md", f"{scratch}/draft.gguf",
                                       "--spec-draft-n-max", "3", "--metrics")
    ran = drive(program, prompts, url, "--K", "0,2", "--concurrency", "1", "--repeat", "2", "-f",
                "csv", "--warm-up", "0")
    counted, _ = drafted(url)
    process.kill()
    process.wait()
    if ran.returncode == 2:
        said = re.search(r"the baseline speculates.* drafted (\d+) tokens", ran.stderr)
        return said is not None and int(said.group(1)) == counted, ran.stderr.strip()
    rows = rows_of(ran.stdout)
    return float(rows[1, 0]["drafted"]) == 0 < float(rows[1, 2]["drafted"]) <= counted, "measured"


def main(program):
    if not os.path.isdir(os.path.join(served.DATA, "babyllama")):
        print("drive-check: skipped: SPECLAB_DATA has no babyllama")
        return 0
    served.build_server()
    scratch = tempfile.mkdtemp(prefix="drive-check-")
    for name in ("small", "draft"):
        model = "target" if name == "small" else name
        subprocess.run([program, "quantize", f"{served.DATA}/babyllama/{model}.bin",
                        f"{scratch}/{name}.gguf", "--type", "f32"], check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run([program, "widen", f"{scratch}/small.gguf", "-o", f"{scratch}/target.gguf"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    prompts = os.path.join(scratch, "prompts.jsonl")
    with open(prompts, "w", encoding="utf-8") as file:
        file.writelines(f'{{"prompt": "{text}"}}\n' for text in served.PROMPTS)
    checks = [
        ("launched for each length", check_launched),
        ("always speculates", lambda *of: check_refused(
            *of, "+--spec-type draft-simple --spec-draft-n-min 0 --spec-draft-p-min 0",
            "the baseline speculates")),
        ("never speculates", lambda *of: check_refused(*of, "", "the server does not speculate")),
        ("by request", check_by_request),
    ]
    good = 0
    for name, check in checks:
        holds, said = check(program, scratch, prompts)
        good += holds
        print(f"{'ok  ' if holds else 'FAIL'} {name}: {said}", flush=True)
    print(f"drive-check: {good} of {len(checks)} checks hold")
    subprocess.run(["rm", "-rf", scratch], check=True)
    return 0 if good == len(checks) else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(os.path.abspath(sys.argv[1])))
