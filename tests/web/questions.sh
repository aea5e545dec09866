#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Prints thousands of questions for tests/web/ask.c and ask.js, one per line.
#   tests/web/questions.sh SPECLAB [MODEL]     MODEL: a transformer of five layers
speclab=$1 model=${2:-} seeds=30
"$speclab" list rules --format csv | awk -F , -v model="$model" -v seeds="$seeds" '
function ask(question) { gsub(/\|/, "\t", question); print question }
function run(measure, grid, more) {
    ask("run|text=measure = \"" measure "\"; " more " grid = { " grid " };")
}
NR > 1 && $1 == "rule" { rule[++rules] = $2; sub(/\?.*/, "", rule[rules]) }
END {
    pair = "|target=dirichlet?V=5&seed=3&concentration=1|draft=perturb?of=target&alpha=0.7"
    ways = split("chain;greedy;tree?widths=2.2&siblings=without;tree?widths=3.1&siblings=iid;" \
        "tree?widths=2.1&siblings=hub;tree?widths=2.2&siblings=greedy;dynamic?nodes=6", way, ";")
    ask("version")
    ask("list")
    for (r = 1; r <= rules; r++) for (w = 1; w <= ways; w++) for (s = 1; s <= seeds; s++)
        ask("round" pair "|K=3|rule=" rule[r] "|drafting=" way[w] "|seed=" s \
            (s % 3 ? "" : "|coins=0.3,0.9,0." s "|context=" s % 5 ",1"))

    for (r = 1; r <= rules; r++) {
        ask("law|target=dirichlet?V=3&seed=3&concentration=1|rule=" rule[r] \
            "|draft=dirichlet?V=3&seed=4&concentration=1|K=2|tokens=2")
        ask("sample|texts=2000|batch=" r)
        ask("evidence|counts=900,10,20,300,20,10,40,0,700")
        ask("law|target=probs:0.5,0.2,0.1,0.2|draft=probs:0.4,0.3,0.2,0.1|tokens=2|K=2|rule=" \
            rule[r])
        ask("simulate" pair "|K=4|rounds=20000|rule=" rule[r])
        ask("next")
    }
    pairs = split("zipf?V=300;uniform?V=7;markov?V=4&order=2;dirichlet?V=30&zeros=0.4;" \
        "dirichlet?V=20&levels=6;" \
        "cases?V=4&family=mixed;cases?family=zeros;zipf?V=40&temperature=0.7&top_p=0.9", kind, ";")
    policies = split("fixed;heuristic;oracle;confidence;cumulative;peak", policy, ";")
    for (m = 1; m <= pairs; m++) for (p = 1; p <= policies; p++) {
        ask("simulate|target=" kind[m] "|draft=perturb?of=target&alpha=0.8|policy=" policy[p] \
            "|rounds=30000")
        ask("next")
    }
    for (i = 0; i <= 20; i++) for (K = 0; K <= 20; K++)
        ask("formulas|alpha=" i / 20 "|K=" K "|c=0.0" K)
    processes = split("iid;decay?rate=0.9;markov?rho=0.4&spread=0.1", process, ";")
    for (p = 1; p <= processes; p++) for (K = 0; K < 12; K += 3) {
        ask("simulate_acceptance|alpha=0.7|rounds=9000000|K=" K "|process=" process[p])
        ask("group")
        ask("next")
    }
    cost = "cost = \"affine:step=7.093ms,token=21.01us,kv=39.26ns\"; " \
        "draft_cost = \"round=2.135ms\"; "
    run("predict", "alpha = [0.0, 0.3, 0.8, 1.0]; K = [1, 4, 7]; c = [0.0, 0.1];")
    run("acceptance", "alpha = [0.4, 0.9]; K = [2, 5]; c = 0.1;", "rounds = 200000;")
    run("law", "alpha = 0.8; K = 6;")
    run("prove", "rule = [\"token\", \"block\"]; K = 2; draft = \"chain:probs:0.2,0.5,0.3\"; " \
        "target = \"probs:0.5,0.3,0.2\";")
    run("accept", "target = \"zipf?V=12\"; draft = \"perturb?of=target&alpha=0.7\"; n = [1, 2];")
    run("plan", "accept = \"0.6,0.2,0.1\"; nodes = [4, 16]; c = 0.1;")
    run("overlap", "target = \"dirichlet?V=20\"; draft = \"perturb?of=target&alpha=0.8\";", \
        "rounds = 2000;")
    run("decode", "target = \"zipf?V=30\"; draft = \"perturb?of=target&alpha=0.8\"; K = [2, 4];", \
        "rounds = 20000;")
    run("folklore", "alpha = [0.5, 0.8]; K = 4;", "rounds = 20000;")
    run("four_alphas", "alpha = 0.8; K = 4;", "rounds = 20000;")
    run("finite_length", "alpha = 0.8; K = 4; tokens = 40;", "rounds = 20000;")
    run("roofline", "n_tokens = [1, 8];")
    run("ahead", "alpha = 0.8; K = 4; c = 0.2; guess = 0.7;")
    run("break_even", "alpha = 0.7; batch = [1, 64]; context = 1000; K = \"1,3\"; " cost)
    run("serve", "alpha = 0.7; rate = [5, 20]; K = \"0,3\"; requests = 200; " cost)
    run("serve", "alpha = 0.6; rate = 10; K = \"3\"; lengths = \"goodput\"; requests = 200; " cost)
    run("serve", "alpha = 0.6; slots = 8; requests = 200; " cost \
        "lengths = \"schedule:[[1,4,5],[5,128,2]]\";")
    run("lossless", "target = \"zipf?V=4\"; draft = \"uniform?V=4\"; K = 2;", "")
    logs = split("server.log;sglang.log;llama.jsonl;responses.jsonl;plain.log;junk;absent.log", \
        log_file, ";")
    for (i = 1; i <= logs; i++) for (k = 1; k <= 3; k++)
        ask("advise|file=" log_file[i] "|" (k == 1 ? "plain=plain.log" : k == 2 ? "current=3" : \
            "round_over_plain=1.4|current=" i))
    ask("advise|file=server.log|file=responses.jsonl|plain=plain.log|plain=plain.log")
    ask("advise")
    ask("nothing")
    ask("round|target=gguf:absent.gguf|draft=uniform?V=3")
    ask("run|text=measure = ")
    if (model == "") exit
    for (s = 1; s <= 3; s++) {
        ask("text|target=" model "|draft=layers?of=target&exit=4|K=3|prompt=Once upon a time" \
            "|most=60|seed=" s)
        for (i = 0; i < 30; i++) ask("text_round")
    }
}'
