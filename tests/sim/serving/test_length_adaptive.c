/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks lengths that follow what was accepted: traces computed by hand from the definitions. */
#include "tests/sim/serving/length_run.h"
#include "tests/support/support.h"

#include <stdlib.h>

static const char *const cost = "step=7ms,token=21us";

/* Runs `steps` steps of n requests that accept `accepted` of K tokens each (at most K), with K as
 * chosen. */
static void run_steps(length_run *run, int n, int steps, int K, int accepted)
{
    int32_t each[64];
    for (int s = 0; s < steps; s++) {
        assert_int_equal(length_run_choose(run, NULL, n), K);
        for (int i = 0; i < n; i++) each[i] = accepted;
        length_run_observe(run, NULL, n, each, 1.0);
    }
}

/* ---- SGLang ---------------------------------------------------------------------------------- */

/* Slot 1 has the candidates 1 3 5 7. The average a starts at K - 1 = 2, with a <- 0.8 a + 0.2 n.
 * Decisions come after batches 15, 20, 25, ...: up if a is above K - 0.5, down if it is at or below
 * (next lower) - 0.75. */
TEST(sglang_moves_by_its_average)
{
    OWNED(length_run) run;
    length_run_init(&run, "sglang", cost, NULL, 64);
    assert_false(spec_length_reads(run.choice));
    assert_int_equal(spec_length_K_max(run.choice), 7);
    run_steps(&run, 1, 15, 3, 3); /* a = 3 - 0.8^15 = 2.965 > 2.5: 5 */
    run_steps(&run, 1, 5, 5, 5);  /* a = 5 - 2.035 0.8^5 = 4.333 < 4.5 */
    run_steps(&run, 1, 5, 5, 5);  /* a = 4.781 > 4.5: 7 */
    run_steps(&run, 1, 5, 7, 0);  /* a = 1.567: below 4.25 and 2.25, above 0.25: 3 */
    run_steps(&run, 1, 5, 3, 0);  /* a = 0.513 */
    run_steps(&run, 1, 5, 3, 0);  /* a = 0.168 <= 0.25: 1 */
    run_steps(&run, 1, 5, 1, 1);  /* a = 0.727 > 0.5: 3; 2.5 is above it */
    run_steps(&run, 1, 1, 3, 0);
}

/* Slot 8 has the candidates 0 1 3 and no hysteresis. At K = 0 the average rests, and 1 is tried
 * after five batches. The slots of batches 1..7, 32..63 and 64 are independent of it. */
TEST(sglang_turns_off_and_tries_again)
{
    OWNED(length_run) run;
    length_run_init(&run, "sglang", cost, NULL, 64);
    run_steps(&run, 8, 15, 3, 0); /* a = 2 0.8^15 = 0.070: below 0.5 and 0.5: 0 */
    run_steps(&run, 31, 5, 0, 0); /* still in the same slot */
    run_steps(&run, 8, 5, 1, 1);  /* a = 1 - 0.930 0.8^5 = 0.695 > 0.5: 3 */
    run_steps(&run, 8, 1, 3, 3);
    run_steps(&run, 7, 1, 3, 3);   /* slot 1 */
    run_steps(&run, 32, 15, 1, 0); /* slot 32 has 0 1 and begins at 1; a = 0 */
    run_steps(&run, 32, 5, 0, 0);
    run_steps(&run, 32, 1, 1, 0);
    run_steps(&run, 64, 40, 0, 0); /* slot 64 has no other candidate */
    run_steps(&run, 8, 1, 3, 3);
}

TEST(sglang_has_a_ceiling_and_a_neutral_start)
{
    OWNED(length_run) run;
    /* After two batches a = 3 0.8^2 = 1.92, which is not at or below 1.25, so 4 stays; ceil(1.92) =
     2 caps the length. */
    length_run_init(&run, "sglang?slots=1:0.2.4/8:0.3&K=4&warm=1&interval=1&ceiling=1", cost, NULL,
                    64);
    run_steps(&run, 1, 2, 4, 0);
    run_steps(&run, 1, 1, 2, 2);
    /* Slot 8 begins with K = 3, the middle one. a = 2 0.8^2 = 1.28 is above 0.5; ceil(a) = 2 caps
     * the length. */
    run_steps(&run, 8, 2, 3, 0);
    run_steps(&run, 8, 1, 0, 0);
    run_steps(&run, 8, 1, 3, 3); /* tried at once: interval 1; a = 1.624 */
    run_steps(&run, 8, 1, 0, 0);
    length_run_free(&run);
    /* From K = 0 the average begins at -1, and at the first try it is as neutral as elsewhere. */
    length_run_init(&run, "sglang?slots=1:0.2&K=0&warm=1&interval=1&down=0", cost, NULL, 64);
    run_steps(&run, 1, 2, 0, 0);
    run_steps(&run, 1, 3, 2, 0); /* a = 0.8, 0.64, 0.512 */
    run_steps(&run, 1, 1, 2, 0); /* a = 0.41 <= 0.5 */
    run_steps(&run, 1, 1, 0, 0);
}

/* ---- heuristic ------------------------------------------------------------------------------- */

TEST(the_heuristic_follows_each_request)
{
    OWNED(length_run) run;
    length_run_init(&run, "heuristic?K=3&cap=6", cost, NULL, 3);
    static const int32_t accepted[4][3] = {{3, 2, 0}, {5, 0, 1}, {4, 0, 0}, {4, 1, 1}},
                         next[4][3] = {{5, 2, 2}, {6, 1, 1}, {5, 1, 1}, {4, 3, 3}};
    assert_int_equal(length_run_choose(&run, NULL, 3), 3);
    for (int s = 0; s < 4; s++) {
        length_run_observe(&run, NULL, 3, accepted[s], 1.0);
        assert_int_equal(length_run_choose(&run, NULL, 3), -1);
        for (int i = 0; i < 3; i++) assert_int_equal(run.K[i], next[s][i]);
    }
    /* If an engine drafted less than requested, the draft was not fully accepted. */
    const int32_t two[3] = {2, 2, 2};
    for (int i = 0; i < 3; i++) run.K[i] = 2;
    length_run_observe(&run, NULL, 3, two, 1.0);
    length_run_choose(&run, NULL, 3);
    assert_int_equal(run.K[0], 3);
    assert_int_equal(run.K[2], 2);
    spec_length_enter(run.choice, run.state, 1);
    length_run_choose(&run, NULL, 3);
    assert_int_equal(run.K[1], 3);
}

/* ---- schedules and TensorRT-LLM's gate ------------------------------------------------------- */

TEST(schedules_carry_forward)
{
    static const struct {
        const char *spec;
        int n, K;
    } known[] = {
        {"schedule:[[1,32,5],[65,128,2]]", 1, 5},    {"schedule:[[1,32,5],[65,128,2]]", 32, 5},
        {"schedule:[[1,32,5],[65,128,2]]", 64, 5},   {"schedule:[[1,32,5],[65,128,2]]", 65, 2},
        {"schedule:[[1,32,5],[65,128,2]]", 4000, 2}, {"schedule:[[1,1,0],[2,9,7]]", 1, 0},
        {"schedule:[[1,1,0],[2,9,7]]", 2, 7},        {"trt?K=6", 4000, 6},
        {"trt?schedule=1:4/4:2/8:0", 3, 4},          {"trt?schedule=1:4/4:2/8:0", 4, 2},
        {"trt?schedule=1:4/4:2/8:0", 9, 0},          {"trt?schedule=1:4/4:2&sizes=upto", 1, 4},
        {"trt?schedule=1:4/4:2&sizes=upto", 2, 2},   {"trt?schedule=1:4/4:2&sizes=upto", 4, 2},
        {"trt?schedule=1:4/4:2&sizes=upto", 5, 0}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        OWNED(length_run) run;
        length_run_init(&run, known[i].spec, cost, NULL, 1);
        const spec_step_batch batch = {.n = known[i].n};
        assert_int_equal(spec_length_choose(run.choice, run.state, &batch, NULL), known[i].K);
        assert_false(spec_length_reads(run.choice));
        assert_false(spec_length_learns(run.choice));
    }
}

/* The ranges begin at 1, 5 and 9; a batch in the last one returns to the middle one below 9 - 2,
 * and to the first one below 5 - 2. */
TEST(a_hysteresis_delays_the_way_back)
{
    static const int n[] = {4, 5, 4, 3, 2, 9, 8, 7, 6, 3, 2, 20, 1},
                     K[] = {5, 3, 3, 3, 5, 0, 0, 0, 3, 3, 5, 0, 5};
    OWNED(length_run) run;
    length_run_init(&run, "schedule:[[1,4,5],[5,8,3],[9,64,0]]?hysteresis=2", cost, NULL, 64);
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        assert_int_equal(length_run_choose(&run, NULL, n[i]), K[i]);
}

TEST(contexts_choose_the_K_of_their_own_request)
{
    static const int32_t context[5] = {0, 3999, 4000, 15999, 16000}, K[5] = {5, 5, 3, 3, 0};
    OWNED(length_run) run;
    length_run_init(&run, "context", cost, NULL, 5);
    assert_true(spec_length_reads_context(run.choice) && !spec_length_reads(run.choice));
    assert_false(spec_length_learns(run.choice));
    assert_int_equal(spec_length_K_max(run.choice), 5);
    const spec_step_batch all = {.n = 5, .context = context},
                          same = {.n = 2, .context = context + 2};
    assert_int_equal(spec_length_choose(run.choice, run.state, &all, run.K), -1);
    assert_memory_equal(run.K, K, sizeof K);
    assert_int_equal(spec_length_choose(run.choice, run.state, &same, run.K), 3);
}

TEST(the_gate_closes_for_good)
{
    OWNED(length_run) run;
    length_run_init(&run, "trt?schedule=1:4/3:0&window=3&threshold=0.4", cost, NULL, 4);
    assert_true(spec_length_learns(run.choice));
    run_steps(&run, 2, 2, 4, 1); /* .25 twice: the window is not full yet */
    run_steps(&run, 3, 5, 0, 0); /* steps without drafts do not count */
    run_steps(&run, 2, 1, 4, 3); /* mean (.25 + .25 + .75)/3 = .417 */
    run_steps(&run, 2, 1, 4, 1); /* (.25 + .75 + .25)/3 */
    run_steps(&run, 2, 1, 4, 0); /* (.75 + .25 + 0)/3 = .333: off */
    run_steps(&run, 2, 50, 0, 0);
}

/* ---- bandit ---------------------------------------------------------------------------------- */

/* The best K emits the most tokens per second; each octave of batch sizes learns by itself. */
TEST(the_bandit_ends_at_the_best_arm)
{
    static const double seconds[5] = {1.0, 1.3, 1.5, 2.1, 2.6};
    static const int emitted[5] = {10, 18, 24, 28, 30}; /* per second 10 13.8 16 13.3 11.5 */
    OWNED(length_run) run;
    length_run_init(&run, "bandit?K_max=4&explore=0.1", cost, NULL, 32);
    int pulls[5] = {0};
    for (int s = 0; s < 1000; s++) {
        int32_t accepted[10] = {0};
        const int K = length_run_choose(&run, NULL, 10);
        for (int i = 0; i < emitted[K] - 10; i++) accepted[i % 10]++;
        pulls[K]++;
        if (s < 5) assert_int_equal(K, s);
        length_run_observe(&run, NULL, 10, accepted, seconds[K]);
    }
    assert_true(pulls[2] > 700);
    for (int K = 0; K < 5; K++) assert_true(pulls[K] >= 1);
    assert_int_equal(length_run_choose(&run, NULL, 16), 0); /* nothing known there */
}
