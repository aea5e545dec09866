/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab train as its users run it: a model from a text, then its drafts, heads and early exits;
 * kills and wrong input. SPECLAB names the program. */
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* A text that a small model learns: sentences of three words each. */
static void write_text(const char *name)
{
    static const char *const who[] = {"the cat", "a dog", "my bird", "one fox"},
                             *const does[] = {"sees", "likes", "finds"},
                             *const what[] = {"milk", "bread", "a tree", "the sun", "it"};
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    for (int i = 0; i < 900; i++)
        fprintf(file, "%s %s %s.%s", who[i * i % 4], does[i * 7 % 3], what[i * i * i % 5],
                i % 6 == 5 ? "\n" : " ");
    assert_int_equal(fclose(file), 0);
}

#define LM                                                                                         \
    "train lm --data text.txt --window 48 --batch 4 --dim 32 --layers 1 --judge-texts 4 "          \
    "--steps 200 --rate 0.01 "
#define LM2                                                                                        \
    "train lm --data text.txt --window 48 --batch 4 --dim 32 --layers 2 --judge-texts 4 "          \
    "--steps 100 --rate 0.01 "
#define DISTILL                                                                                    \
    "train distill --target lm.gguf --data own --own-texts 24 --batch 4 --dim 16 --layers 1 "      \
    "--judge-texts 4 --steps 60 --rate 0.01 "

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static double last_of(const char *text, int column)
{
    const char *line = text + strlen(text) - 1;
    while (line > text && line[-1] != '\n') line--;
    for (; column > 0; column--) line = strchr(line, ',') + 1;
    return atof(line);
}

TEST(a_model_and_its_draft_are_trained_and_used, SLOW)
{
    spec_child c;
    spec_needs_program();
    write_text("text.txt");
    spec_child_run(&c, LM "-o lm.gguf --format csv");
    assert_int_equal(c.code, 0);
    assert_true(begins_with(c.text, "# figure: training\nstep,loss,bits_per_token\n0,,"));
    assert_int_equal((int)last_of(c.text, 0), 200);
    if (!(last_of(c.text, 2) < 3.5)) fail_msg("%g bits per byte", last_of(c.text, 2));
    spec_child_free(&c);
    assert_int_not_equal(access("lm.gguf.state", F_OK), 0);
    spec_program_works("generate --target lm.gguf --plain --tokens 20 --prompt 'the'");

    spec_child_run(&c, DISTILL "-o draft.gguf --format csv --threads 1");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.text, "# figure: training\nstep,loss,bits_per_token,tokens_T1,"
                                   "alpha_1_T1,"));
    if (!(last_of(c.text, 3) > 1.3)) fail_msg("%g tokens per round", last_of(c.text, 3));
    spec_child_free(&c);
    spec_program_works("generate --target lm.gguf --draft draft.gguf -K 2 --tokens 20");
    spec_program_works(DISTILL "-o again.gguf --threads 3");
    spec_files_same("draft.gguf", "again.gguf");
    spec_program_works("train distill --target lm.gguf --data text.txt --draft draft.gguf --loss "
                       "tv --window 48 --batch 4 --judge-texts 3 --steps 3 -o more.gguf");
}

/* The same steps have a different loss, because the texts are not the target's. */
TEST(a_draft_is_trained_on_its_own_texts, SLOW)
{
    static const char *const data[] = {"own", "draft"};
    double loss[2];
    spec_needs_program();
    write_text("text.txt");
    spec_program_works(LM "-o lm.gguf");
    spec_program_works(DISTILL "-o draft.gguf");
    for (int i = 0; i < 2; i++) {
        char line[300];
        spec_child c;
        snprintf(
            line, sizeof line,
            "train distill --target lm.gguf --data %s --draft draft.gguf --own-texts 4 "
            "--window 48 --batch 4 --judge-texts 4 --steps 3 --format csv -o more.gguf --force",
            data[i]);
        spec_child_run(&c, line);
        assert_int_equal(c.code, 0);
        loss[i] = last_of(c.text, 1);
        spec_child_free(&c);
    }
    assert_true(loss[0] != loss[1]);
}

#define HEAD                                                                                       \
    " --target lm.gguf --data own --own-texts 24 --batch 4 --judge-texts 4 --window 48 -K 3 "      \
    "--rate 0.01 "

TEST(heads_of_all_kinds_are_trained_and_used, SLOW)
{
    static const char *const kinds[] = {"medusa", "hydra", "redrafter", "eagle",
                                        "eagle3", "mtp",   "parallel"};
    spec_needs_program();
    write_text("text.txt");
    spec_program_works(LM2 "-o lm.gguf");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char line[512];
        spec_child c;
        snprintf(line, sizeof line, "train %s" HEAD "--steps 20 -o head.gguf --threads 1 --force",
                 kinds[i]);
        spec_child_run(&c, line);
        assert_int_equal(c.code, 0);
        assert_non_null(strstr(c.text, "step,loss,bits_per_token,tokens_T1,alpha_1_T1,alpha_2_T1,"
                                       "alpha_3_T1,tree8_T1,tree60_T1,tokens_T0,"));
        assert_non_null(strstr(c.line, "speclab train: predicted speed-up: "));
        if (!(last_of(c.text, 3) > 1.05)) fail_msg("%s: %g", kinds[i], last_of(c.text, 3));
        spec_child_free(&c);
        snprintf(line, sizeof line, "train %s" HEAD "--steps 20 -o again.gguf --threads 3 --force",
                 kinds[i]);
        spec_program_works(line);
        spec_files_same("head.gguf", "again.gguf");
        snprintf(line, sizeof line,
                 "generate --target lm.gguf --draft %s:head.gguf -K 3 --tokens 20 --prompt the",
                 kinds[i]);
        spec_program_works(line);
        snprintf(line, sizeof line,
                 "train %s" HEAD "--steps 20 -o more.gguf --draft head.gguf --loss tv --force",
                 kinds[i]);
        spec_program_works(line);
    }
}

TEST(a_state_of_another_target_is_refused, SLOW)
{
    spec_child c;
    spec_needs_program();
    write_text("text.txt");
    spec_program_works(LM2 "-o lm.gguf");
    spec_child_start(&c, NULL, NULL,
                     "train eagle3" HEAD "-o head.gguf --steps 100000 --save-every 0.001");
    spec_await(access("head.gguf.state", F_OK) == 0);
    kill(c.pid, SIGKILL);
    spec_child_listen(&c, NULL);
    spec_child_free(&c);
    assert_int_equal(access("head.gguf.state", F_OK), 0);
    spec_program_works(LM2 "-o lm.gguf --seed 7 --force");
    spec_program_fails("train eagle3" HEAD "-o head.gguf --steps 100000 --resume", 2,
                       "speclab train: head.gguf.state: was made with target=");
}

#define LAYERSKIP                                                                                  \
    "train layerskip --target lm.gguf --data text.txt --batch 4 --judge-texts 4 --window 48 "      \
    "--steps 40 --rate 0.02 "

/* The learning rate is high, so that --bar decides which weights are written. */
#define LAYERSKIP_BAR                                                                              \
    "train layerskip --target lm.gguf --data text.txt --batch 4 --judge-texts 4 --window 48 "      \
    "--steps 20 --rate 1 --bar 0.01 "

TEST(early_exits_of_a_target_are_trained_and_used, SLOW)
{
    spec_child c;
    spec_needs_program();
    write_text("text.txt");
    spec_program_works(LM2 "-o lm.gguf");
    spec_child_run(&c, LAYERSKIP "-o skip.gguf --bar none --format csv --threads 1");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.text, "# figure: training\nstep,loss,bits_per_token,overlap,exit_T1,"
                                   "K_T1,tokens_T1,speedup_T1,alpha_exit1_T1,exit_T0,"));
    assert_non_null(strstr(c.line, "speclab train: the model is no longer the target: "));
    assert_non_null(strstr(c.line, "speclab train: predicted speed-up: "));
    assert_null(strstr(c.line, "--bar"));
    const double alpha = last_of(c.text, 8);
    if (!(alpha > 0.5)) fail_msg("alpha of exit 1: %g", alpha);
    spec_child_free(&c);
    spec_program_works(LAYERSKIP "-o again.gguf --bar none --threads 3");
    spec_files_same("skip.gguf", "again.gguf");
    spec_program_works("generate --target skip.gguf --draft layers?of=target&exit=1 -K 2 "
                       "--tokens 20 --prompt the");
}

TEST(weights_beyond_the_bar_are_not_written, SLOW)
{
    spec_child c;
    double written, target;
    spec_needs_program();
    write_text("text.txt");
    spec_program_works(LM2 "-o lm.gguf");
    spec_child_run(&c, LAYERSKIP_BAR "-o bar.gguf --format csv");
    assert_int_equal(c.code, 0);
    const char *says = strstr(c.line, "above --bar 0.01: bar.gguf has the weights of step "),
               *bits = strstr(c.line, "its cross-entropy ");
    assert_true(says != NULL && bits != NULL && bits > says);
    assert_int_equal(
        sscanf(bits, "its cross-entropy %lf bits per token instead of %lf", &written, &target), 2);
    assert_true(last_of(c.text, 2) > target + 0.01 && written <= target + 0.01);
    spec_child_free(&c);
}

/* It is killed again and again, and continues from the state it saved last until it is done. */
static void check_kills(const char *arguments)
{
    char line[512];
    spec_child whole;
    const double before = spec_children_seconds();
    snprintf(line, sizeof line, "%s-o whole.gguf --force", arguments);
    spec_child_run(&whole, line);
    assert_int_equal(whole.code, 0);
    unlink("parts.gguf");
    snprintf(line, sizeof line, "%s-o parts.gguf --resume --save-every 0.001", arguments);
    assert_true(spec_program_outlives_kills(line, spec_children_seconds() - before, whole.text) >
                2);
    spec_child_free(&whole);
    spec_files_same("whole.gguf", "parts.gguf");
}

TEST(a_killed_training_resumes_with_the_same_bytes, SLOW)
{
    spec_needs_program();
    write_text("text.txt");
    check_kills(LM);
    spec_program_works(LM2 "-o lm.gguf");
    check_kills(LAYERSKIP "--bar 0.05 ");
}

TEST(a_head_is_widened_with_its_kind_or_without)
{
    spec_needs_program();
    write_text("text.txt");
    spec_program_works(LM2 "-o two.gguf");
    spec_program_works("train medusa --target two.gguf --data own --own-texts 4 --judge-texts 4 "
                       "--batch 4 -K 3 --steps 2 -o medusa.gguf");
    spec_program_works("widen medusa:medusa.gguf --target two.gguf --by 4 -o given.gguf");
    spec_program_works("widen medusa.gguf --target two.gguf --by 4 -o alone.gguf");
    spec_files_same("given.gguf", "alone.gguf");
}

TEST(a_limit_that_one_step_exceeds_is_said)
{
    spec_child c;
    spec_needs_program();
    write_text("text.txt");
    spec_child_run(&c, "train lm --data text.txt --dim 16 --layers 1 --window 48 --minutes 1e-5 "
                       "-o short.gguf");
    assert_int_equal(c.code, 0);
    if (strstr(c.line, "speclab train: 1 step; --steps 1 instead of --minutes") == NULL ||
        strstr(c.line, " s instead of the 0.0006 s of --minutes: a step took ") == NULL ||
        strstr(c.line, ", and at least one step is made") == NULL)
        fail_msg("%s", c.line);
    spec_child_free(&c);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
