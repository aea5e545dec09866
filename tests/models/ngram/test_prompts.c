/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks prompts: passages from all over the text, for any block size. */
#include "models/ngram/prompts.h"

#include "base/noise.h"
#include "tests/support/support.h"

#include <string.h>

/* The text has tokens 0, 1, 2, ..., so that the tokens of a prompt give its position. */
static void push_counting(spec_prompts *prompts, int begin, int end, int step)
{
    static int token[4096];
    for (int at = begin; at < end;) {
        int n = 0;
        for (; n < step && at < end; n++, at++) token[n] = at;
        spec_prompts_push(prompts, token, (size_t)n);
    }
}

/* Returns where piece i begins, from the hash alone. */
static uint64_t hashed_begin(const spec_prompts *prompts, uint64_t i)
{
    return i * prompts->stretch + spec_noise_mix(i + 0x9E3779B97F4A7C15u) %
                                      (prompts->stretch - SPEC_PROMPT_TOKENS + 1);
}

TEST(pieces_are_runs_of_the_text_spread_over_it)
{
    for (int total = 1; total < 2000000; total = total * 3 + 1) {
        spec_prompts prompts;
        spec_prompts_init(&prompts);
        push_counting(&prompts, 0, total, 4096);
        assert_in_range(prompts.n, 1, SPEC_PROMPTS_MAX);
        if (total > SPEC_PROMPTS_MAX * SPEC_PROMPT_TOKENS)
            assert_in_range(prompts.n, SPEC_PROMPTS_MAX / 2 - 1, SPEC_PROMPTS_MAX);
        for (int i = 0; i < prompts.n; i++) {
            if (i + 1 < prompts.n) assert_int_equal(prompts.length[i], SPEC_PROMPT_TOKENS);
            for (int j = 1; j < prompts.length[i]; j++)
                assert_int_equal(prompts.token[i][j], prompts.token[i][0] + j);
            assert_int_equal((uint64_t)prompts.token[i][0] / prompts.stretch, i);
            assert_true((uint64_t)prompts.token[i][0] >= hashed_begin(&prompts, (uint64_t)i) ||
                        i < SPEC_PROMPTS_MAX / 2);
        }
        assert_true(total - prompts.token[prompts.n - 1][0] <= (int)(2 * prompts.stretch));
    }
}

TEST(blocks_make_no_difference)
{
    static spec_prompts whole, parts;
    for (int step = 1; step < 300; step = step * 4 + 3) {
        spec_prompts_init(&whole);
        spec_prompts_init(&parts);
        push_counting(&whole, 0, 100000, 4096);
        push_counting(&parts, 0, 100000, step);
        assert_memory_equal(&whole, &parts, sizeof whole);
    }
}

TEST(a_piece_ends_where_its_text_ends)
{
    spec_prompts prompts;
    spec_prompts_init(&prompts);
    for (int text = 0; text < 300; text++) {
        push_counting(&prompts, 1000 * text, 1000 * text + 1 + 7 * text % 90, 11);
        spec_prompts_boundary(&prompts);
    }
    for (int i = 0; i < prompts.n; i++) {
        assert_in_range(prompts.length[i], 1, SPEC_PROMPT_TOKENS);
        for (int j = 1; j < prompts.length[i]; j++)
            assert_int_equal(prompts.token[i][j], prompts.token[i][0] + j);
    }
}

TEST(a_draw_is_a_function_of_its_number)
{
    spec_prompts prompts;
    int a[SPEC_PROMPT_TOKENS], b[SPEC_PROMPT_TOKENS], met[SPEC_PROMPTS_MAX] = {0}, different = 0;
    spec_prompts_init(&prompts);
    assert_int_equal(spec_prompts_draw(&prompts, 3, a, SPEC_PROMPT_TOKENS), 0);
    push_counting(&prompts, 0, 10000, 4096);
    for (unsigned long i = 0; i < 2000; i++) {
        assert_int_equal(spec_prompts_draw(&prompts, i, a, SPEC_PROMPT_TOKENS), SPEC_PROMPT_TOKENS);
        assert_int_equal(spec_prompts_draw(&prompts, i, b, 5), 5);
        assert_memory_equal(a, b, 5 * sizeof *a);
        int which = 0;
        while (prompts.token[which][0] != a[0]) which++;
        different += met[which]++ == 0;
    }
    assert_int_equal(different, prompts.n);
}
