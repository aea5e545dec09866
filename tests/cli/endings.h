/* SPDX-License-Identifier: GPL-3.0-or-later */
/* endings: every verb, with commands that show how it ends.
 * The verbs `served` and `drive` need servers: they are in tests/tools/live. SPECLAB names the
 * program. */
#ifndef SPECLAB_TESTS_ENDINGS_H
#define SPECLAB_TESTS_ENDINGS_H

#include "tests/cli/hf_model.h"
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Seconds of processor time to the end, on one thread. */
#define CPU_MOST 2.0

#define PAIR "--target zipf?V=20 --draft perturb?alpha=0.8"
#define TRAIN "train lm --data text.txt --window 48 --batch 2 --dim 16 --layers 1 --judge-texts 1 "
#define TUNE "tune --target random?dim=64&layers=4&heads=4&ffn=256&vocab=99&context=128&type=f32 "
#define TOKEN "validate rule:token --only two-2 --scopes V "

/* How the test knows that a verb is at work: its file has rows; it has used processor time for a
 * while; it waits in open() for the other end of a pipe; it waits for gnuplot, which never ends
 * here. */
typedef enum { GROWS, COMPUTES, OPENS, DRAWS } work;

/* What is left after a signal has ended the verb. ROWS: the file has the finished rows; RESUMES:
 * the same, and --resume continues it; TEXT: the file has what was printed so far; STATE: the same
 * holds for FILE.state, and --resume continues it; VERDICT: the verb ends by itself, with exit code
 * 0; NOTHING: there is no file.
 */
typedef enum { NOTHING, ROWS, RESUMES, TEXT, STATE, VERDICT } keeps;

/* `run` takes more than 3 seconds (quantize: one), and `small` less than one. `file`: an option and
 * the file that both write. `prints`: `small` prints the same when its file is standard output.
 * `same`: its bytes are the same each time. */
static const struct {
    const char *run, *small, *file;
    work work;
    keeps keeps;
    bool prints, same;
} verbs[] = {
    {"predict --alpha 0.1:0.9:0.0001 --K 1:64", "predict --K 1:9", "-o f.csv", GROWS, RESUMES,
     false, true},
    {"sweep --alpha 0.1:0.9:0.001 --K 1:9 --rounds 3000000", "sweep --K 1:9 --rounds 500",
     "-o f.csv", GROWS, RESUMES, false, true},
    {"run long.cfg --rounds 30000000", "run one.cfg", "-o f.csv", GROWS, RESUMES, false, true},
    {"merge fifo", "merge part.csv", "-o f.csv", OPENS, NOTHING, false, true},
    {"plot r.csv", "plot r.csv", "-o f.svg", DRAWS, NOTHING, true, true},
    {"report --html r.csv", "report r.csv", "-o f.html", DRAWS, NOTHING, false, true},
    {"prove --alpha 0.35:0.99:0.0001 --rule token --drafting chain --K 2 --tokens 3",
     "prove --rule token,block", "-o f.csv", GROWS, RESUMES, false, true},
    {"accept --target zipf?V=30 --draft zipf?V=30&s=2 --rule token,kseq --n 2 --contexts 1:900:1",
     "accept", "-o f.csv", GROWS, RESUMES, false, true},
    {"step " PAIR " --rounds 10000 --K 60", "step " PAIR, "-o f.txt", COMPUTES, NOTHING, false,
     true},
    {"plan --target zipf?V=20\nzipf?V=21\nzipf?V=22 --draft perturb?alpha=0.8\nperturb?alpha=0.6 "
     "--nodes 8 --rounds 30000",
     "plan --accept 0.6,0.2", "-o f.csv", GROWS, RESUMES, false, true},
    {"generate " PAIR " -n 100000000", "generate " PAIR " -n 300", "-o f.txt", COMPUTES, TEXT,
     false, true},
    {"bench " PAIR " --texts 10000 -n 10000", "bench " PAIR " --texts 2 -n 8", "-o f.csv", COMPUTES,
     NOTHING, false, false},
    {"pair " PAIR " --texts 100000 -n 10000", "pair " PAIR " --texts 2 -n 8 --K 2", "-o f.csv",
     COMPUTES, NOTHING, true, true},
    {"serve --alpha 0.6 --rate 1:20:0.01 --requests 50 --K 2",
     "serve --alpha 0.6 --rate 5 --requests 50 --K 2", "-o f.csv", GROWS, RESUMES, false, true},
    {"advise fifo", "advise server.log", "-o f.csv", OPENS, NOTHING, true, true},
    {"profile fifo", "profile seen.json", "-o f.csv", OPENS, NOTHING, false, true},
    {TOKEN "--budget 1000G", TOKEN "--budget 100k", "-o f.json", COMPUTES, NOTHING, false, true},
    {TOKEN "--watch", TOKEN "--budget 100k", "-o f.txt", COMPUTES, VERDICT, false, true},
    {TOKEN "--calibrate 1000000 --budget 5k", TOKEN "--calibrate 3 --budget 5k", "-o f.csv",
     COMPUTES, ROWS, false, true},
    {"validate --check-power 100000 --only two-2",
     "validate --check-power 2 --only two-2 --scopes V --budget 20k", "-o f.csv", COMPUTES, ROWS,
     false, true},
    {"validate --self-test", "validate --self-test --only accept-all --budget 20k", "-o f.csv",
     COMPUTES, ROWS, false, true},
    {"validate rule:token --only plain-4 --budget 1000G",
     "validate rule:token --only plain-4 --budget 2k", "--write-trace f.jsonl", COMPUTES, NOTHING,
     false, true},
    {"rows " PAIR " -n 100000000", "rows " PAIR " -n 60", "-o f.rows", COMPUTES, NOTHING, true,
     true},
    {TRAIN "--steps 10000000", TRAIN "--steps 3", "-o f.gguf", COMPUTES, STATE, true, true},
    {TUNE "--trials 1000 --texts 20 --check 0", TUNE "--texts 1 --trials 3 --check 0", "-o f.csv",
     COMPUTES, ROWS, true, false},
    {"quantize big.gguf f.gguf --type q4_K_M", "quantize lm.gguf f.gguf", "", COMPUTES, NOTHING,
     true, true},
    {"widen big.gguf --by 16", "widen lm.gguf", "-o f.gguf", COMPUTES, NOTHING, true, true},
    {"import large", "import folder", "-o f.gguf", COMPUTES, NOTHING, true, true},
    {"list -o fifo", "list rules", "-o f.csv", OPENS, NOTHING, false, true},
};
enum { N_VERBS = sizeof verbs / sizeof *verbs, ARGUMENTS = 512 };

/* ---- what the commands read ------------------------------------------------------------------ */

static inline void write_inputs(void)
{
    char text[4000] = "";
    for (int i = 0; i < 80; i++)
        snprintf(text + strlen(text), 40, "the %d dog sees %d cats\n", i * i % 7, i % 5);
    spec_file_write("text.txt", text);
    spec_file_write("server.log",
                    "INFO 05-01 14:24:50 [metrics.py:101] SpecDecoding metrics: Mean acceptance "
                    "length: 2.59, Accepted throughput: 159.00 tokens/s, Drafted throughput: "
                    "300.00 tokens/s, Accepted: 1590 tokens, Drafted: 3000 tokens, Per-position "
                    "acceptance rate: 0.800, 0.500, 0.290, Avg Draft acceptance rate: 53.0%\n");
    spec_file_write("seen.json", "{\"speclab_profile\": 1, \"K\": 2, "
                                 "\"unconditional\": {\"rate\": [0.8, 0.5]}}");
    spec_program_works("predict --shard 1/1 -o part.csv");
    spec_program_works("sweep --K 1:3 --rounds 500 -o r.csv");
    spec_program_works(TRAIN "--steps 1 -o lm.gguf");
    assert_int_equal(mkdir("folder", 0777), 0);
    write_hf_model("folder");
    assert_int_equal(system("mkdir -p readonly fake && chmod 555 readonly && "
                            "printf '#!/bin/sh\nexec sleep 1000\n' >fake/gnuplot && "
                            "chmod 755 fake/gnuplot"),
                     0);
}

/* A model of 5 GB in a Hugging Face folder, whose weights are zeros that take no space. */
static inline void write_large_folder(void)
{
    static const char *const name[] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                       "self_attn.o_proj", "mlp.gate_proj",    "mlp.up_proj",
                                       "mlp.down_proj"};
    enum { D = 2048, F = 8192, V = 32000, N = 36 };
    char *header = NULL;
    size_t n = 0;
    unsigned long long at = 0;
    FILE *out = open_memstream(&header, &n);
    assert_non_null(out);
#define PUT(begin, i, of, rows, cols)                                                              \
    fprintf(out, "%s'" begin "%s.weight':{'dtype':'F16','shape':[%d,%d],'data_offsets':[%llu,",    \
            at > 0 ? "," : "{", i, of, rows, cols, at),                                            \
        at += 2ull * (rows) * (cols), fprintf(out, "%llu]}", at)
    PUT("model.%.0d", 0, "embed_tokens", V, D);
    PUT("%.0d", 0, "lm_head", V, D);
    for (int i = 0; i < N; i++)
        for (int m = 0; m < 7; m++)
            PUT("model.layers.%d.", i, name[m], m == 4 || m == 5 ? F : D, m == 6 ? F : D);
#undef PUT
    for (int i = 0; i <= 2 * N; i++, at += 2 * D) {
        char norm[64] = "model.norm";
        if (i < 2 * N)
            snprintf(norm, sizeof norm, "model.layers.%d.%s", i / 2,
                     i % 2 == 0 ? "input_layernorm" : "post_attention_layernorm");
        fprintf(out, ",'%s.weight':{'dtype':'F16','shape':[%d],'data_offsets':[%llu,%llu]}", norm,
                D, at, at + 2 * D);
    }
    assert_int_equal(fputc('}', out), '}');
    assert_int_equal(fclose(out), 0);
    assert_int_equal(mkdir("large", 0777), 0);
    spec_hf_folder_write_header("large/model.safetensors", header, 0);
    assert_int_equal(
        truncate("large/model.safetensors", spec_file_size("large/model.safetensors") + (off_t)at),
        0);
    free(header);
    spec_hf_folder_text("large/config.json",
                        "{'model_type':'llama','hidden_size':2048,'intermediate_size':8192,"
                        "'num_attention_heads':16,'vocab_size':32000,"
                        "'max_position_embeddings':32,'num_hidden_layers':36}");
}

static inline void write_large_models(void)
{
    if (access("big.gguf", F_OK) == 0) return;
    write_large_folder();
    spec_program_works("train lm --data text.txt --window 48 --batch 1 --dim 512 --heads 8 "
                       "--layers 6 --judge-texts 1 --steps 1 -o big.gguf");
}

static inline int set_up(void **state)
{
    const int status = spec_program_set_up(state);
    if (status == 0 && spec_program[0] != '\0') write_inputs();
    return status;
}

/* Every line of the table is tried, even if an earlier one failed. */
static int complaints;
#define complain(...) (print_error(__VA_ARGS__), print_error("\n"), (void)complaints++)

static inline void no_complaints(void)
{
    const int n = complaints;
    complaints = 0;
    assert_int_equal(n, 0);
}

/* ---- running them ---------------------------------------------------------------------------- */

static const char *name_of(size_t i)
{
    static char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(verbs[i].run, " "), verbs[i].run);
    return name;
}

/* The name of the file that the verb writes; "" if it has none. */
static const char *file_of(size_t i)
{
    const char *space = strchr(verbs[i].file, ' ');
    return space != NULL ? space + 1 : strcmp(name_of(i), "quantize") == 0 ? "f.gguf" : "";
}

/* Removes the files that commands write, whose names begin with "f."; fails for a name with
 * `opt_never` in it. Returns how many there were. */
static inline int remove_files(const char *about, const char *opt_never)
{
    DIR *folder = opendir(".");
    int n = 0;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, "f.", 2) != 0) continue;
        if (opt_never != NULL && strstr(entry->d_name, opt_never) != NULL)
            complain("%s: left %s", about, entry->d_name);
        assert_int_equal(unlink(entry->d_name), 0);
        n++;
    }
    closedir(folder);
    return n;
}

#endif
