/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs `make bench-gpu` in the simulator, and checks its rows. Of times it only checks that there
 * are some. */
#include "tests/cli/result_table.h"
#include "tests/support/child.h"

#include "tests/support/simulated_card.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

static const char *text_of(const spec_table *table, size_t row, const char *column)
{
    const spec_cell *c = cell(table, row, column);
    return c->kind == SPEC_CELL_TEXT ? c->text : "";
}

TEST(everything_that_is_promised_has_a_row, SLOW)
{
    static const char *const promised[] = {"the card reads",
                                           "from kernel to kernel, recorded",
                                           "tiny bf16: pass of 1, share of reading",
                                           "tiny bf16: pass of 8 over pass of 1",
                                           "tiny q8_0: pass of 64 over pass of 1",
                                           "chain of 8, V = 1000, 8 accepted",
                                           "tiny q8_0: differ in passes of 5",
                                           "tiny bf16: logits from the CPU's"};
    static const char *const asked[] = {"",       "",      ">= 0.8", "<= 1.1",
                                        "<= 1.6", "<= 30", "<= 0",   "<= 0.02"};
    spec_table table;
    spec_program_works("-t card.csv");
    read_csv(&table, "card.csv");
    for (size_t i = 0; i < sizeof promised / sizeof promised[0]; i++) {
        size_t r = 0;
        while (r < table.n_rows && strcmp(text_of(&table, r, "what"), promised[i]) != 0) r++;
        if (r == table.n_rows) fail_msg("no row of '%s'", promised[i]);
        assert_string_equal(text_of(&table, r, "asked"), asked[i]);
        assert_true(strcmp(text_of(&table, r, "met"), "") != 0 || strcmp(asked[i], "") == 0);
        if (i >= 6) assert_string_equal(text_of(&table, r, "met"), "yes"); /* no goal: results */
    }
    for (size_t r = 0; r < table.n_rows; r++) {
        const double measured =
            spec_cell_number(spec_table_cell(&table, r, spec_table_column(&table, "measured")));
        assert_true(measured >= 0.0 && isfinite(measured));
        assert_string_equal(text_of(&table, r, "card"),
                            spec_card_is_real() ? text_of(&table, 0, "card") : "simulated card");
        assert_true(strncmp(text_of(&table, r, "driver"), "CUDA ", 5) == 0);
    }
    spec_table_free(&table);
}

TEST(without_a_card_one_line_says_why)
{
    spec_child c;
    spec_child_start(&c, "SPECLAB_LIBCUDA=/nowhere/libcuda.so", NULL, "-t card.csv");
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "-t card.csv", 2, "bench_gpu: ");
    spec_child_free(&c);
    spec_program_fails("--help", 2, "bench_gpu: usage: bench_gpu [-d DEVICE] [-t] [FILE.csv]");
    spec_program_fails("-d cpu card.csv", 2, "bench_gpu: cpu is no card");
    spec_program_fails("-d gpu:99 card.csv", 2, "bench_gpu: ");
    spec_program_fails("nowhere/card.csv", 2, "bench_gpu: nowhere/card.csv cannot be written");
}

static int set_up(void **state)
{
    setenv("SPECLAB", spec_simulator_path("../bench/gpu/bench_gpu"), 1);
    return spec_program_set_up(state);
}

SUITE(SIMULATOR, .setup = set_up, .teardown = spec_program_tear_down);
