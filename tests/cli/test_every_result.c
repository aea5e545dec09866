/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every result that a verb writes can be put into a report, and drawn without options. SPECLAB
 * names the program. */
#include "tests/support/child.h"
#include "tests/support/picture.h"
#include "tests/support/support.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define PAIR "--target zipf?V=20 --draft perturb?alpha=0.8 "
#define MODEL "random?dim=32&layers=2&heads=2&ffn=64&vocab=40&context=64&type=f32 "
#define TRAIN "train lm --data text.txt --window 48 --batch 2 --dim 16 --layers 1 --judge-texts 1 "

/* The command, the file that it writes (NULL: standard output), and whether it has numbers to draw.
 * Lists of names, or of single tokens, have none. */
static const struct {
    const char *command, *file;
    bool drawn;
} results[] = {
    {"predict --K 1:4", "predict.csv", true},
    {"predict --K 1:4", "predict.json", true},
    {"predict", "one_row.csv", true},
    {"predict --distribution --K 3", "law.csv", true},
    {"predict --guess 0.5 --K 1:3", "ahead.csv", true},
    {"sweep --K 1:3 --rounds 500", "sweep.csv", true},
    {"sweep --K 1:3 --rounds 500", "sweep.json", true},
    {"sweep " PAIR "--K 1:3 --rounds 200", "models.csv", true},
    {"sweep " PAIR "--K 1:3 --rounds 200", "models.json", true},
    {"sweep " PAIR "--ahead --K 1:2 --rounds 200", "sweep_ahead.csv", true},
    {"sweep --process geometric?length=2.5 --K 3:4 --rounds 500", "process.csv", true},
    {"sweep --K 1:3 --rounds 500 --shard 1/2", "first.csv", true},
    {"sweep --K 1:3 --rounds 500 --shard 2/2", "second.csv", true},
    {"merge first.csv second.csv", "merged.csv", true},
    {"run own.cfg", "run.csv", true},
    {"run own.cfg", "run.json", true},
    {"plan --accept 0.7,0.12", "plan.csv", true},
    {"plan --accept 0.7,0.12", "plan.json", true},
    {"plan --accept 0.7,0.12 --nodes 8", "tree.csv", true},
    {"prove --rule token,match", "prove.csv", true},
    {"accept", "accept.csv", true},
    {"accept --n 1:2 --drafting iid", "accept.json", true},
    {"step " PAIR "--format json", "step.json", false},
    {"generate " PAIR "--tokens 20 --format json", "generate.json", false},
    {"bench " PAIR "--K 1:2 --texts 4", "bench.csv", true},
    {"bench " PAIR "--K 1:2 --texts 4", "bench.json", true},
    {"serve --alpha 0.6 --rate 5:10:5 --K 0,2 --requests 50", "serve.csv", true},
    {"validate rule:token --budget 20k --only two-2", "validate.csv", true},
    {"validate rule:token --budget 20k --only two-2", "validate.json", true},
    {"validate rule:token --calibrate 3 --budget 5k --only two-2", "calibrate.csv", true},
    {"rows " PAIR "-n 60 -o pair.rows --format csv", NULL, true},
    {TRAIN "--steps 3 -o lm.gguf --format csv", NULL, true},
    {"tune --target " MODEL "--texts 1 --trials 3 --check 0", "tune.csv", true},
    {"quantize lm.gguf quantized.gguf --format csv", NULL, true},
    {"widen lm.gguf -o wide.gguf --format csv", NULL, true},
    {"list rules --format csv", NULL, false},
    {"list --format json", NULL, false},
};

static void write_inputs(void)
{
    char text[4000] = "";
    for (int i = 0; i < 80; i++)
        snprintf(text + strlen(text), 40, "the %d dog sees %d cats\n", i * i % 7, i % 5);
    spec_file_write("text.txt", text);
    spec_file_write("own.cfg", "measure = \"decode\"; grid = { target = \"zipf?V=9\"; draft = "
                               "[\"zipf?V=9&s=2\", \"uniform?V=9\"]; K = [1, 2]; }; rounds = 200;");
}

/* Writes the result; returns its name, or "out.csv". */
static const char *write_result(size_t i)
{
    spec_child c;
    char arguments[512];
    const char *file = results[i].file != NULL ? results[i].file : "out.csv";
    snprintf(arguments, sizeof arguments, "%s%s%s", results[i].command,
             results[i].file != NULL ? " -o " : "", results[i].file != NULL ? file : "");
    spec_child_run(&c, arguments);
    if (c.code != 0 && c.code != 3) fail_msg("%s: exit code %d: %s", arguments, c.code, c.line);
    if (results[i].file == NULL) spec_file_write(file, c.text);
    spec_child_free(&c);
    return file;
}

TEST(every_result_has_a_page_and_a_figure, SLOW)
{
    spec_needs_program();
    write_inputs();
    const bool draws = access("/usr/bin/gnuplot", X_OK) == 0;
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        spec_child c;
        char arguments[128];
        const char *file = write_result(i);
        snprintf(arguments, sizeof arguments, "report %s", file);
        spec_child_run(&c, arguments);
        if (c.code != 0 || strstr(c.text, "\n| ") == NULL || strstr(c.text, "names no") != NULL)
            fail_msg("%s: exit code %d: %s%.2000s", results[i].command, c.code, c.line, c.text);
        spec_child_free(&c);
        if (!draws) continue;
        snprintf(arguments, sizeof arguments, "plot %s -o drawn.svg --force", file);
        spec_child_run(&c, arguments);
        /* On a busy machine bench withholds the times that its figure draws. */
        if (strstr(c.line, "no row has the numbers that the figure 'bench' needs") != NULL) {
            spec_child_free(&c);
            continue;
        }
        if ((c.code == 0) != results[i].drawn) fail_msg("%s: %s", results[i].command, c.line);
        if (results[i].drawn)
            spec_picture_check("drawn.svg");
        else if (strstr(c.line, "no column of numbers to draw") == NULL)
            fail_msg("%s", c.line);
        spec_child_free(&c);
    }
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
