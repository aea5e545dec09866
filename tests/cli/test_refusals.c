/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files without an end, full disks, closed pipes: one line on standard error that begins with the
 * verb and names the file; exit code 2. Other refusals are in wrong_inputs.txt. SPECLAB names the
 * program. */
#include "base/cpu.h"
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- invalid files --------------------------------------------------------------------------- */

TEST(what_has_no_end_is_refused_before_it_is_read)
{
    static const char *const readers[][2] = {
        {"accept --target ngram:%s", "speclab accept: --target: "},
        {"accept --target ngram:%s?tokens=words", "speclab accept: --target: "},
        {"accept --target probs:%s", "speclab accept: --target: "},
        {"accept --target rows:%s", "speclab accept: --target: "},
        {"generate --target gguf:%s", "speclab generate: --target: "},
        {"generate --target llama2c:%s", "speclab generate: --target: "},
        {"generate --target zipf?V=3 --plain --prompt-file %s",
         "speclab generate: --prompt-file: "},
        {"bench --target ngram:text.txt --prompts %s", "speclab bench: "},
        {"plan --accuracies %s", "speclab plan: --accuracies: "},
        {"plan --costs %s", "speclab plan: --costs: "},
        {"bench --from %s", "speclab bench: "},
        {"rows --target ngram:text.txt --text %s -o x.rows", "speclab rows: "},
        {"rows %s", "speclab rows: "},
        {"run %s", "speclab run: "},
        {"run one.cfg -o %s --resume", "speclab run: one.cfg: "},
        {"validate --trace %s", "speclab validate: "},
        {"plot %s -o x.svg", "speclab plot: "},
        {"report %s", "speclab report: "},
        {"merge %s", "speclab merge: "},
        {"advise %s", "speclab advise: "},
        {"profile %s", "speclab profile: "},
        {"predict --process profile:%s", "speclab predict: "},
        {"serve --trace %s", "speclab serve: "},
        {"serve --rate 1 --accepted %s", "speclab serve: "},
        {"serve --rate 1 --cost table:%s", "speclab serve: --cost: "},
        {"train lm --data %s -o x.gguf", "speclab train: "},
        {"validate rule:token --rows %s", "speclab validate: "},
        {"quantize %s x.gguf --type q4_0", "speclab quantize: "},
    };
    spec_needs_program();
    spec_file_write("endless", "");
    assert_int_equal(truncate("endless", (off_t)1 << 40), 0);
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        for (int device = 0; device < 2; device++) {
            char arguments[128];
            const double before = spec_children_seconds();
            snprintf(arguments, sizeof arguments, readers[i][0], device ? "/dev/zero" : "endless");
            spec_program_fails(arguments, 2, readers[i][1]);
            const double took = spec_children_seconds() - before; /* reading them takes minutes */
            if (took > 5.0) fail_msg("%s: %g s of processor time", arguments, took);
        }
    }
    assert_int_equal(mkdir("hf", 0700), 0);
    assert_int_equal(symlink("../endless", "hf/model.safetensors.index.json"), 0);
    spec_program_fails("import hf -o x.gguf", 2,
                       "speclab import: hf/model.safetensors.index.json: larger than 256 MiB");
    assert_int_equal(unlink("endless"), 0);
}

TEST(an_unknown_instruction_set_is_told)
{
    spec_child c;
    spec_error error = {{0}};
    char line[sizeof error.text + 32];
    spec_needs_program();
    assert_int_equal(spec_cpu_limit("avx3", &error), GSL_EINVAL); /* lists this machine's sets */
    snprintf(line, sizeof line, "speclab: SPECLAB_ISA=%s", error.text);
    spec_child_start(&c, "SPECLAB_ISA=avx3", NULL, "predict");
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "predict", 2, line);
    spec_child_free(&c);
}

TEST(an_unreadable_file_is_told)
{
    spec_needs_program();
    if (geteuid() == 0) {
        printf("skipped: %s: root reads every file\n", __func__);
        skip();
    }
    spec_file_write("shut.cfg", "measure = \"predict\";");
    assert_int_equal(chmod("shut.cfg", 0), 0);
    spec_program_fails("run shut.cfg", 2, "speclab run: shut.cfg: Permission denied");
    spec_program_fails("accept --target ngram:shut.cfg", 2,
                       "speclab accept: --target: shut.cfg: Permission denied");
}

/* ---- output that cannot be written ----------------------------------------------------------- */

TEST(a_full_disk_is_told, SLOW)
{
#define PAIR                                                                                       \
    "--target random?dim=32&layers=2&heads=1&ffn=32&vocab=32&context=200 --draft layers?exit=1 "
#define SAMPLER "validate rule:token --only plain-4 --budget 2k"
    static const char *const verbs[] = {"sweep --rounds 1000",
                                        "predict",
                                        "predict --format json",
                                        "prove --K 1",
                                        "accept",
                                        "list",
                                        "run one.cfg",
                                        "plan --accept 0.5",
                                        "serve --rate 5 --requests 20",
                                        "step --rounds 300",
                                        "step --format json",
                                        "generate " PAIR "-n 8",
                                        "generate --format json " PAIR "-n 8",
                                        "bench --K 1 --texts 2 " PAIR "-n 8",
                                        "merge part.csv",
                                        "report r.csv",
                                        "report --html r.csv",
                                        "advise server.log",
                                        SAMPLER,
                                        SAMPLER " --format json",
                                        SAMPLER " --format csv",
                                        "validate --list"},
                             *const options[] = {
                                 SAMPLER " --report", SAMPLER " --junit",
                                 "validate rule:token --only plain-4 --budget 2k --write-trace"};
    spec_needs_program();
    if (access("/dev/full", W_OK) != 0) skip();
    spec_program_works("predict --shard 1/1 -o part.csv");
    spec_program_works("predict -o r.csv");
    spec_file_write(
        "server.log",
        "INFO 05-01 14:24:50 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 2.59, "
        "Accepted throughput: 159.00 tokens/s, Drafted throughput: 300.00 tokens/s, "
        "Accepted: 1590 tokens, Drafted: 3000 tokens, Per-position acceptance rate: "
        "0.800, 0.500, 0.290, Avg Draft acceptance rate: 53.0%\n");
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        char arguments[256], begin[32];
        spec_child c;
        snprintf(begin, sizeof begin, "speclab %.*s: ", (int)strcspn(verbs[i], " "), verbs[i]);
        snprintf(arguments, sizeof arguments, "%s -o /dev/full", verbs[i]);
        spec_child_run(&c, arguments);
        assert_int_equal(c.code, 2);
        if (strstr(c.line, "/dev/full: ") == NULL || strstr(c.line, "No space left") == NULL)
            fail_msg("%s: %s", arguments, c.line);
        spec_child_free(&c);
        spec_child_start(&c, NULL, "/dev/full", verbs[i]);
        spec_child_listen(&c, NULL);
        assert_int_equal(c.code, 2);
        if (strstr(c.line, begin) == NULL || strstr(c.line, "standard output: ") == NULL ||
            strstr(c.line, "No space left on device") == NULL)
            fail_msg("%s: %s", verbs[i], c.line);
        spec_child_free(&c);
    }
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        char arguments[256];
        spec_child c;
        snprintf(arguments, sizeof arguments, "%s /dev/full", options[i]);
        spec_child_run(&c, arguments);
        assert_int_equal(c.code, 2);
        if (strstr(c.line, "/dev/full: ") == NULL || strstr(c.line, "No space left") == NULL)
            fail_msg("%s: %s", arguments, c.line);
        spec_child_free(&c);
    }
    spec_child c;
    spec_child_start(&c, NULL, "/dev/full", "predict --help");
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "predict --help", 2,
                    "speclab predict: standard output: No space left on device");
    spec_child_free(&c);
}

TEST(a_closed_pipe_ends_the_run_as_other_tools_end)
{
    spec_child c;
    spec_needs_program();
    spec_child_start(&c, NULL, NULL, "run long.cfg --rounds 100000000"); /* takes seconds */
    spec_child_listen(&c, "\nalpha,");
    close(c.out);
    c.out = -1;
    spec_child_listen(&c, NULL);
    assert_int_equal(c.code, SPEC_CHILD_KILLED + SIGPIPE);
    assert_string_equal(c.line, "");
    spec_child_free(&c);
}

TEST(a_run_with_rows_replaces_the_file)
{
    spec_needs_program();
    spec_program_works("predict --K 1:9:1 -o old.csv");
    spec_program_works("predict --alpha 0.27 -o old.csv");
    spec_program_works("predict --alpha 0.27 -o other.csv");
    spec_files_same("old.csv", "other.csv");
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
