#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Writes the inputs of the commands of oom_check.c into the current folder.
#   tests/oom/inputs.sh SPECLAB TREE
set -eu
speclab=$1 seeds=$2/tests/fuzz/seeds
echo 'measure = "predict"; grid = { alpha = "0.27,0.8"; K = 3; };' >one.cfg
echo 'title = "two"; finding = "none"; measure = "acceptance"; rounds = 1000;' \
    'grid = { alpha = [0.5, 0.7]; K = 2; c = 0.1; };' >two.cfg
yes 'the cat sat on the mat. the dog saw the cat.' | head -30 >text.txt
printf 'head,first,second\n1,0.6,0.2\n2,0.5,0.1\n' >heads.csv
printf 'nodes,time\n8,1.1\n64,1.4\n' >costs.csv
"$speclab" run two.cfg -o two.csv
head -c -9 two.csv >cut_before.csv
"$speclab" sweep --rounds 1000 --alpha 0.5,0.7 --K 2 -o figure.csv
for i in 1 2; do "$speclab" predict --K 1:4 --shard $i/2 -o part$i.csv; done
"$speclab" train lm --data text.txt --dim 16 --steps 2 --batch 2 --window 40 --judge-texts 2 \
    -o small.gguf >made.txt 2>&1
"$speclab" bench --target 'zipf?V=9' --draft 'zipf?V=9&s=2' --K 1:2 --texts 2 -n 8 -o bench.csv \
    >made.txt 2>&1
"$speclab" rows --target 'zipf?V=9' --draft 'zipf?V=9&s=2' -n 60 -o pair.rows >made.txt
"$speclab" validate rule:token --only two-2 --budget 400 --write-trace trace.jsonl
ln -s "$(dirname "$speclab")/tests/clients/token_client" token_client
cp "$seeds/gguf/f32" model.gguf
mkdir hf
cp "$seeds/folder_json/config" hf/config.json
cp "$seeds/folder_json/tokenizer" hf/tokenizer.json
cp "$seeds/safetensors/llama" hf/model.safetensors
cp "$seeds/advice/vllm_windows.log" vllm.log
cp "$seeds/advice/vllm.jsonl" .
cp "$seeds/profile/seen" seen.json
cp "$seeds/advice/metrics.prom" 1.prom
sed 's/\b1000/1100/; s/3000/3300/; s/1590/1690/; s/ 800/ 850/; s/ 500/ 530/; s/290/310/' \
    1.prom >2.prom
