#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Print docs/map.md: each folder, in the order of the dependency rule, with its headers and Python
# modules.
#   tests/map.sh             the map, as Markdown
#   tests/map.sh --check     compare it with docs/map.md
# The line of a header or module is the first line of its opening comment. A folder's line is in the
# table below.
set -eu
cd "$(dirname "$0")/.."

table() { cat <<'END'
include/speclab|types that all folders share, the interface of plug-ins, and the library
base|foundations that are independent of decoding: numbers, text, files, threads, processes
models|next-token distributions, and the transforms of sampling: temperature, top-k, top-p, min-p
models/synthetic|distributions by formula: Zipf, Dirichlet, Markov chains, perturbed targets
models/block|drafts whose rows of all offsets come from one pass: independent, or first-order
models/heads|draft heads, which read the target's hidden states
models/dflash|block drafts of llama.cpp: DFlash, DSpark, DFlash2
models/import|models and draft heads of Hugging Face folders: reading, and writing as GGUF
models/ngram|n-gram models with smoothing, learned from a text file
models/rows|files that hold the rows of a pair of models along a text
models/transformer/engine|the forward pass, the KV cache, and the backends that run it
models/transformer/files|checkpoints and GGUF files: reading, checking, writing, quantizing
models/transformer/tokenizer|tokenizers that the files bring: BPE and SentencePiece
models/transformer/kernels|vector kernels of the CPU, for each instruction set
models/train|training of drafts: products of float matrices, and losses
models/gpu|the backend for NVIDIA GPUs: driver, memory, kernels, launches
sim|what happens when we speculate: the decoding loop, Monte Carlo, exact output laws
sim/chance|random decisions: sampled, enumerated or scripted; random number generators
sim/draft|draft trees, draft strategies and length policies
sim/draft/length|length policies, one POLICY family per file, and what they learn from
sim/serving|a serving engine with speculation on a virtual clock, its costs and draft lengths
sim/serving/engine|the parts of a run of the serving engine
sim/serving/requests|the requests of a serving engine: arrivals, lengths, acceptance, traces
sim/observed|engines with a known truth, as their counters show them
sim/verify|verification rules: one verify_RULE.c each, and their list in verify.h
analysis|what should happen: closed forms of tokens, speed-ups and costs
analysis/acceptance|acceptance from an engine's counts: intervals, mixtures, other lengths
analysis/rules|acceptance by rule, and the optimum over all rules
analysis/serving|serving under load: rounds of requests, capacity, batch, latency
analysis/statistics|tests, intervals and sums
tools/validate|`validate` tests whether a sampler is lossless
tools/validate/fixtures|the inputs of the test: rows, draft trees and states
tools/validate/samplers|access to the sampler under test: plug-ins, subprocesses, built-in rules
tools/validate/evidence|p-values and bets, from the sampler's tokens
tools/validate/mutants|samplers with a known mistake, for the self-test
tools/validate/traces|recorded runs of a serving engine
tools/validate/adapters|Python adapters for vLLM, FlashInfer, SGLang, Hugging Face and llama.cpp
tools/bench|`bench`: measured speed beside its prediction
experiments|experiments as data: configuration, grids, result files
experiments/cfg|the experiments that speclab brings, one file each
experiments/measures|what an experiment computes at a point, one file each; some are in tools/
experiments/report|reports and findings in Markdown
experiments/text|texts that experiments learn from; they never change
tools/serve|`serve`: serving beside its theory, and published claims about it
tools/train|`train`: drafts, heads and models, from texts
tools/tune|`tune`: which layers a draft made of its target should skip
tools/pair|`pair`: how well several drafts predict one target, along texts that it writes
tools/advise|`advise`: from logs of an engine to a draft length, with evidence
tools/advise/readers|logs, metrics and responses of engines, a reader for each form
tools/live|asks live servers over HTTP: `served` judges their text, `drive` measures their speed
api|the functions of the library, one api_TOPIC.c each
python/speclab|the Python package over the library, one module for each of its topics
web|the web page: questions of its scripts, answered by the library
web/system|what the library calls and a web page lacks: threads, GPUs, some of the C library
cli|the verbs of the command line, one file each, and what they share
cli/step|a round as text and JSON, for `speclab step`
cli/report|results on a page of Markdown or HTML, for `speclab report`
cli/figures|figures of any CSV file, through gnuplot
mpi|`speclab-mpi`: a team of MPI ranks, one file without a header
plots|gnuplot scripts of the experiments; `style.gp` is common to them
tests/base|unit tests of base/
tests/models|unit tests of models/
tests/sim|unit tests of sim/
tests/analysis|unit tests of analysis/
tests/experiments|unit tests of experiments/
tests/tools|unit tests of tools/
tests/tools/live|unit tests of tools/live/, a server with mistakes, and the check on a real one
tests/api|unit tests of api/
tests/web|the page's answers on this machine and as WebAssembly
tests/cli|tests that run the program
tests/support|models, samplers and comparisons that tests share
tests/oracle|exact references in Python that tests cite
tests/simulator|a simulated CUDA driver, so that GPU code is tested without a GPU
tests/bench|benchmarks: ratios to yardsticks of the same run
tests/fuzz|fuzzers of everything that reads a file, with their seeds
tests/mutate|mutation testing of the rules and formulas
tests/library|a program that uses the installed library, and its exported symbols
tests/python|tests of the Python package, with the standard library's unittest
tests/oom|failure of one allocation at a time
tests/plugins|samplers as shared objects, right and wrong, for the tests of `validate`
tests/clients|samplers as programs, for the tests of `validate`
tests/adapters|stand-ins for the Python packages that the adapters drive
END
}

# The sources: what git lists, or all files where there is no repository.
if git rev-parse --git-dir >/dev/null 2>&1; then all=$(git ls-files -co --exclude-standard); else
    all=$(find . -path ./build -prune -o -path ./out -prune -o -type f -print | sed 's|^\./||'); fi
headers=$(for path in $all; do
    case $path in *.h | python/speclab/*.py) [ ! -f "$path" ] || echo "$path" ;; esac
done |
    LC_ALL=C sort)

map() {
    cat <<'END'
# The map

Every folder, header and Python module, in the order of the dependency rule: a folder includes only
folders above it, and `sim` and `analysis` never include each other. `make map > docs/map.md` writes
this page from their first lines. Files without a header, such as `sim/verify/verify_*.c` and
`cli/verb_*.c`, are found through [CONTRIBUTING.md](../CONTRIBUTING.md#where-is-).
END
    table >"$scratch"
    # shellcheck disable=SC2086
    awk -v table="$scratch" '
    function folder_of(path) { # the longest folder of the table that holds it
        for (sub(/\/[^\/]*$/, "", path); path != "" && !(path in line); )
            if (!sub(/\/[^\/]*$/, "", path)) path = ""
        return path
    }
    BEGIN {
        while ((getline row < table) > 0) {
            split(row, cell, "|")
            folder[++n] = cell[1]
            line[cell[1]] = cell[2]
        }
    }
    FNR == 1 { done = 0 }
    done || /^[ \t]*(\/\*)?[ \t]*(\*)?[ \t]*(\*\/)?$/ || /SPDX-License-Identifier/ { next }
    {
        done = 1
        name = FILENAME; sub(/.*\//, "", name)
        said = $0
        sub(/^[ \t]*\/?\*+[ \t]*/, "", said); sub(/[ \t]*\*\/$/, "", said)
        gsub(/"""/, "", said)
        sub(/^[a-z0-9_]+: /, "", said)
        if (said !~ /[.?]$/) {
            print FILENAME ": its first line does not end its sentence" >"/dev/stderr"
            bad = 1
        }
        home = folder_of(FILENAME)
        if (home == "") {
            print FILENAME ": its folder has no line in tests/map.sh" >"/dev/stderr"
            bad = 1
        }
        rows[home] = rows[home] "- [" name "](../" FILENAME "): " said "\n"
    }
    END {
        for (i = 1; i <= n; i++) {
            path = folder[i]
            if (path ~ /^tests\//) {
                if (!tests++) print "\n## tests\n"
                print "- [" path "](../" path "): " line[path]
                gsub(/- \[/, "  &", rows[path])
                printf "%s", rows[path]
            } else {
                print "\n## " path "\n"
                print toupper(substr(line[path], 1, 1)) substr(line[path], 2) "."
                if (rows[path] != "") printf "\n%s", rows[path]
            }
        }
        exit bad
    }' $headers
}

scratch=$(mktemp)
trap 'rm -f "$scratch" "$scratch.map"' EXIT
map >"$scratch.map"
if [ "${1:-}" != --check ]; then
    cat "$scratch.map"
elif ! diff docs/map.md "$scratch.map" >/dev/null; then
    echo "docs/map.md is out of date: type make map > docs/map.md" >&2
    exit 1
else
    echo "map: docs/map.md is the map of $(printf '%s\n' "$headers" | wc -l) headers"
fi
