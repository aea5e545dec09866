/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For files of rows, compares the exact mean of a run by the chain over places, by enumeration, and
 * by simulation. */
#include "experiments/measures/place_theory.h"

#include "models/rows/rows.h"

#include "tests/experiments/measures/run_measure.h"
#include "tests/models/rows/rows_pair.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

static const char path[] = "test_place_theory.tmp";

enum { N = 60, V = 4 };

static int set_up(void **state)
{
    if (spec_folder_enter(state) != 0) return -1;
    OWNED(opened) target = open_model("cases?V=4&order=2&seed=11", NULL);
    OWNED(opened) draft = open_model("cases?V=4&order=2&side=draft&seed=11", NULL);
    rows_pair_write(path, &target, &draft, N, 1, 0.0);
    return 0;
}

static int tear_down(void **state)
{
    return spec_folder_leave(state);
}

/* Follows rounds from a place by enumerating the decoder's rounds: the law of the next place, and
 * the mean of n_emitted. */
static double enumerated(spec_decoder *decoder, const double *start, int burn_in, int rounds)
{
    static const int nothing[3 * N] = {0};
    double law[N], next[N], sum = 0.0;
    memcpy(law, start, sizeof law);
    for (int r = 0; r < burn_in + rounds; r++) {
        memset(next, 0, sizeof next);
        for (int s = 0; s < N; s++) {
            spec_enumeration walk;
            if (law[s] == 0.0) continue;
            assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
            do {
                /* A context that begins with no prompt is at the place of its length. */
                assert_works(spec_decoder_reset(decoder, nothing, (size_t)s, &error));
                assert_works(spec_decoder_round(decoder, &walk.chance, NULL, &error));
                const double p = law[s] * spec_enumeration_probability(&walk);
                next[(s + decoder->round.n_emitted) % N] += p;
                if (r >= burn_in) sum += p * decoder->round.n_emitted;
            } while (spec_enumeration_next(&walk));
            spec_enumeration_free(&walk);
        }
        memcpy(law, next, sizeof law);
    }
    return sum / rounds;
}

static void assert_theory(const char *rule, const char *drafting, const char *more, int K)
{
    char target_spec[64], draft_spec[64];
    snprintf(target_spec, sizeof target_spec, "rows:%s?side=target%s", path, more);
    snprintf(draft_spec, sizeof draft_spec, "rows:%s?side=draft%s", path, more);
    opened target = open_model(target_spec, NULL), draft = open_model(draft_spec, NULL);
    spec_decoding_config config = {.decoder = SPEC_DECODER_DEFAULT, .burn_in = 2};
    spec_decoder decoder;
    double mean, start[N];
    config.decoder.target = target.model;
    config.decoder.opt_draft = draft.model;
    config.decoder.rule = rule;
    config.decoder.drafting = drafting;
    config.decoder.K = K;
    assert_works(spec_place_theory_emitted(&mean, &config, 3, &error));
    assert_works(spec_decoder_init(&decoder, &config.decoder, &error));
    uint64_t begin;
    assert_non_null(spec_rows_of(target.model, &begin));
    spec_rows_starts(start, target.model);
    if (begin >
        0) { /* contexts of the enumeration begin there, so its places are smaller by `begin` */
        start[begin] = 0.0;
        start[0] = 1.0;
    }
    assert_near(mean, enumerated(&decoder, start, 2, 3), 1e-13);
    spec_decoder_free(&decoder);
    opened_free(&draft);
    opened_free(&target);
}

TEST(theory_is_what_enumeration_of_the_rounds_gives)
{
    for (int K = 0; K <= 3; K++) assert_theory("token", "chain", "", K);
    assert_theory("match", "chain", "", 2);
    assert_theory("greedy", "chain", "", 2);
    assert_theory("token", "greedy", "", 2);
    assert_theory("match", "greedy", "", 3);
    assert_theory("greedy", "greedy", "", 3);
    assert_theory("token", "chain", "&temperature=0.6", 2);
    assert_theory("token", "chain", "&begin=57", 3);
}

TEST(other_pairs_rules_and_drafts_have_none)
{
    static const char *const pairs[][5] = {
        {"rows:test_place_theory.tmp", "rows:test_place_theory.tmp?side=draft", "block", "chain",
         "fixed"},
        {"rows:test_place_theory.tmp", "rows:test_place_theory.tmp?side=draft", "rrs", "tree?n=2",
         "fixed"},
        {"rows:test_place_theory.tmp", "rows:test_place_theory.tmp?side=draft", "token", "chain",
         "heuristic"},
        {"rows:test_place_theory.tmp", "rows:test_place_theory.tmp?side=draft&begin=0", "token",
         "chain", "fixed"},
        {"rows:test_place_theory.tmp", "rows:test_place_theory.tmp?side=draft&at=3", "token",
         "chain", "fixed"},
        {"rows:test_place_theory.tmp?at=3", "rows:test_place_theory.tmp?side=draft", "token",
         "chain", "fixed"},
        {"rows:test_place_theory.tmp", "uniform?V=4", "token", "chain", "fixed"},
        {"uniform?V=4", "rows:test_place_theory.tmp?side=draft", "token", "chain", "fixed"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        opened target = open_model(pairs[i][0], NULL), draft = open_model(pairs[i][1], NULL);
        spec_decoding_config config = {.decoder = SPEC_DECODER_DEFAULT};
        double mean = 0.0;
        config.decoder.target = target.model;
        config.decoder.opt_draft = draft.model;
        config.decoder.rule = pairs[i][2];
        config.decoder.drafting = pairs[i][3];
        config.decoder.policy = pairs[i][4];
        assert_works(spec_place_theory_emitted(&mean, &config, 10, &error));
        assert_nan(mean);
        config.decoder.rule = "token"; /* a text may exceed the longest text of the engine */
        config.decoder.drafting = "chain";
        config.decoder.policy = "fixed";
        config.decoder.K = 15;
        assert_works(spec_place_theory_emitted(&mean, &config, 1024, &error));
        assert_nan(mean);
        opened_free(&draft);
        opened_free(&target);
    }
}

/* The stationary mean of the iid formula differs from these by .02 or more, 10 standard errors. */
TEST(simulation_agrees)
{
    OWNED(spec_result) result;
    run(&result, "decode", 30000,
        "target = \"rows:test_place_theory.tmp\"; draft = "
        "\"rows:test_place_theory.tmp?side=draft\"; "
        "drafting = [\"chain\", \"greedy\"]; K = [1, 4]; rule = [\"token\", \"match\"];");
    assert_all_hold(&result, 8);
}

/* alpha (i) of a file is the mean over all its places, without an error. */
TEST(alpha_of_a_file_is_exact)
{
    OWNED(spec_result) result;
    spec_rows_file file;
    double row[2][V], sum = 0.0;
    assert_works(spec_rows_file_open(&file, path, &error));
    for (uint64_t p = 0; p < N; p++) {
        for (int s = 0; s < 2; s++) assert_works(spec_rows_file_row(row[s], &file, p, s, &error));
        sum += spec_row_overlap(row[0], row[1], V);
    }
    spec_rows_file_close(&file);
    run(&result, "decode", 1000,
        "target = \"rows:test_place_theory.tmp\"; draft = "
        "\"rows:test_place_theory.tmp?side=draft\"; K = 2;");
    assert_near(number(&result, 0, "alpha_mean"), sum / N, 1e-9);
    assert_same(number(&result, 0, "alpha_mean_se"), 0.0);
}

/* Each place of a file counts once; elsewhere there are as many as requested. */
TEST(overlaps_are_counted_in_bins)
{
    OWNED(spec_result) result;
    spec_rows_file file;
    double row[2][V], count[8] = {0.0}, below = 0.0, sum = 0.0;
    assert_works(spec_rows_file_open(&file, path, &error));
    for (uint64_t p = 0; p < N; p++) {
        for (int s = 0; s < 2; s++) assert_works(spec_rows_file_row(row[s], &file, p, s, &error));
        const double beta = spec_row_overlap(row[0], row[1], V);
        count[(int)(8 * beta)] += 1.0;
        sum += beta;
    }
    spec_rows_file_close(&file);
    run(&result, "betas", 1,
        "target = \"rows:test_place_theory.tmp\"; draft = "
        "\"rows:test_place_theory.tmp?side=draft\"; bins = 8;");
    assert_int_equal(result.table.n_rows, 8);
    for (size_t i = 0; i < 8; i++) {
        below += count[i] / N;
        assert_near(number(&result, i, "beta"), (double)(i + 1) / 8, 1e-15);
        assert_near(number(&result, i, "share"), count[i] / N, 1e-9);
        assert_near(number(&result, i, "below"), below, 1e-9);
        assert_near(number(&result, i, "alpha_mean"), sum / N, 1e-9);
    }
    spec_result_free(&result);
    run(&result, "betas", 1,
        "target = \"uniform?V=4\"; draft = \"uniform?V=4\"; bins = 3; positions = 100;");
    assert_near(number(&result, 2, "share"), 1.0, 1e-12);
    assert_same(number(&result, 1, "below"), 0.0);
}

SUITE(.setup = set_up, .teardown = tear_down);
