/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Common noise. A token picked from a row has the row's law over seeds, texts and positions. Two
 * rows are coupled as in the rules that draw by chance. With a fixed seed a text does not depend on
 * its drafts. */
#include "sim/chance/rng.h"
#include "sim/output_law.h"
#include "tests/support/battery.h"
#include "tests/support/near.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"

#include <string.h>

static const spec_noise_kind kinds[] = {SPEC_NOISE_RACES, SPEC_NOISE_DARTS};
static const char *const names[] = {"gumbel", "minhash"};
static const double target[] = {0.27, 0.33, 0.0, 0.15, 0.25},
                    drafts[] = {0.4, 0.05, 0.1, 0.25, 0.2};
enum { V = 5 };

/* ---- picks ----------------------------------------------------------------------------------- */

/* 20,000 picks over seeds alone, texts alone and positions alone: a standard error of .003 per
 * token. */
TEST(picks_have_the_rows_law_over_seeds_texts_and_places, STATISTICS)
{
    const uint64_t first = spec_test_seed(), samples = spec_test_samples(20000);
    for (int k = 0; k < 2; k++)
        for (int over = 0; over < 3; over++) {
            uint64_t counts[V] = {0}, counted[V];
            double law[V];
            size_t cells = 0;
            for (uint64_t i = 0; i < samples; i++) {
                spec_shared_noise noise = {.kind = kinds[k], .seed = first, .text = 3, .place = 5};
                if (over == 0) noise.seed += i;
                if (over == 1) noise.text += i;
                if (over == 2) noise.place += i;
                const uint64_t place = noise.place;
                counts[spec_shared_noise_pick(&noise, target, V)]++;
                assert_true(noise.place == place + 1);
            }
            assert_true(counts[2] == 0); /* the row is 0 there */
            for (int x = 0; x < V; x++) {
                if (!(target[x] > 0.0)) continue;
                counted[cells] = counts[x];
                law[cells++] = target[x];
            }
            assert_false(spec_battery_rejects(spec_battery_chi_square(counted, law, cells)));
        }
}

/* Picks that should be independent: of seeds, texts and positions that differ by one, and of the
 * two kinds. Noise that ignored one of these would give equal picks. */
TEST(neighbours_and_kinds_have_noise_of_their_own, STATISTICS)
{
    const uint64_t first = spec_test_seed(), samples = spec_test_samples(20000);
    double law[V * V];
    for (int i = 0; i < V * V; i++) law[i] = drafts[i / V] * drafts[i % V];
    for (int other = 0; other < 4; other++) {
        uint64_t counts[V * V] = {0};
        for (uint64_t i = 0; i < samples; i++) {
            spec_shared_noise one = {
                .kind = SPEC_NOISE_RACES, .seed = first, .text = 7 * i, .place = 11 * i};
            spec_shared_noise two = one;
            if (other == 0) two.seed++;
            if (other == 1) two.text++;
            if (other == 2) two.place++;
            if (other == 3) two.kind = SPEC_NOISE_DARTS;
            const int x = spec_shared_noise_pick(&one, drafts, V),
                      y = spec_shared_noise_pick(&two, drafts, V);
            counts[x * V + y]++;
        }
        assert_false(spec_battery_rejects(spec_battery_chi_square(counts, law, V * V)));
    }
}

/* Returns the probability that both take x. */
static double agreement(int kind, const double *a, const double *b, int vocab)
{
    double sum = 0.0, either = 0.0;
    for (int i = 0; i < vocab; i++) either += fmax(a[i], b[i]);
    for (int i = 0; i < vocab; i++) {
        double largest = 0.0;
        for (int j = 0; j < vocab && a[i] > 0.0 && b[i] > 0.0; j++)
            largest += fmax(a[j] / a[i], b[j] / b[i]);
        if (kind == 1) sum += fmin(a[i], b[i]) * (1.0 + fabs(a[i] - b[i])) / either;
        if (kind == 0 && largest > 0.0) sum += 1.0 / largest;
    }
    return sum;
}

TEST(a_row_of_one_token_gives_it_and_large_vocabularies_are_served)
{
    enum { LARGE = 32000 };
    static double row[LARGE];
    for (int k = 0; k < 2; k++) {
        spec_shared_noise noise = {.kind = kinds[k], .seed = 27};
        memset(row, 0, sizeof row);
        row[LARGE - 1] = 1.0;
        for (int i = 0; i < 3; i++)
            assert_int_equal(spec_shared_noise_pick(&noise, row, LARGE), LARGE - 1);
        row[0] = 1.0;
        row[LARGE - 1] = 0.0;
        assert_int_equal(spec_shared_noise_pick(&noise, row, LARGE), 0);
    }
    /* Even if clocks overflow, one of them is the first. */
    spec_shared_noise noise = {.kind = SPEC_NOISE_RACES, .seed = 27};
    assert_int_equal(spec_shared_noise_pick(&noise, (const double[]){0.0, 5e-324, 5e-324}, 3), 1);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* The first of a list is the pick. Pairs of arrivals are independent draws, and pairs of tokens are
 * draws without replacement. If clocks rang again after equal times, a token would come twice with
 * probability d/(2 - d) instead of d^2, .25 instead of .16 for the first. */
TEST(lists_begin_with_the_pick_and_have_the_law_of_siblings, STATISTICS)
{
    const uint64_t first = spec_test_seed(), samples = spec_test_samples(20000);
    for (int again = 0; again < 2; again++) {
        uint64_t counts[V * V] = {0}, counted[V * V];
        double law[V * V];
        size_t cells = 0;
        for (uint64_t i = 0; i < samples; i++) {
            spec_shared_noise noise = {.kind = SPEC_NOISE_RACES, .seed = first, .place = i};
            int token[7];
            double at[7];
            const int n = spec_shared_noise_list(token, again == 1 ? 7 : 4, &noise, again == 1,
                                                 drafts, V, at);
            assert_int_equal(n, again == 1 ? 7 : 4);
            for (int k = 1; k < n; k++) assert_true(at[k - 1] <= at[k]);
            assert_int_equal(spec_shared_noise_pick(&noise, drafts, V), token[0]);
            counts[token[0] * V + token[1]]++;
        }
        for (int i = 0; i < V * V; i++) {
            const double a = drafts[i / V], b = drafts[i % V];
            const double chance = again == 1 ? a * b : i / V == i % V ? 0.0 : a * b / (1.0 - a);
            if (!(chance > 0.0)) assert_true(counts[i] == 0);
            if (!(chance > 0.0)) continue;
            counted[cells] = counts[i];
            law[cells++] = chance;
        }
        assert_false(spec_battery_rejects(spec_battery_chi_square(counted, law, cells)));
    }
}

TEST(a_list_of_all_tokens_has_each_of_positive_weight_once)
{
    const spec_shared_noise noise = {.kind = SPEC_NOISE_RACES, .seed = 27};
    int token[V];
    double at[V];
    bool seen[V] = {false};
    assert_int_equal(spec_shared_noise_list(token, V, &noise, false, target, V, at), 4);
    for (int i = 0; i < 4; i++) seen[token[i]] = true;
    for (int x = 0; x < V; x++) assert_int_equal(seen[x], target[x] > 0.0);
    const double one[] = {0.0, 1.0};
    assert_int_equal(spec_shared_noise_list(token, V, &noise, true, one, 2, at), V);
    for (int i = 0; i < V; i++) assert_int_equal(token[i], 1);
}

/* ---- texts ----------------------------------------------------------------------------------- */

enum { TOKENS = 400 };

static void decode(int *ret_text, const spec_decoder_config *config, uint64_t text,
                   uint64_t rng_seed, bool plain)
{
    static const int prompt[] = {1, 0, 2};
    OWNED(spec_decoder) decoder;
    OWNED_RNG *rng = spec_test_rng(spec_rng_pcg64dxsm, rng_seed);
    spec_chance chance = spec_chance_sampled(rng);
    size_t n;
    double time;
    stage_open_decoder(&decoder, config);
    decoder.text = text;
    assert_int_equal(spec_decoder_reset(&decoder, prompt, 3, NULL), GSL_SUCCESS);
    /* Reads the list in parts, each cut in the middle of a round. */
    for (size_t from = 0; from < TOKENS; from += 50) {
        if (plain)
            assert_int_equal(
                spec_decode_plain(&decoder, 50, ret_text + from, &n, &chance, &time, NULL),
                GSL_SUCCESS);
        else
            assert_int_equal(spec_decode(&decoder, 50, ret_text + from, &n, &chance, NULL, NULL),
                             GSL_SUCCESS);
        assert_int_equal(n, 50);
    }
}

/* Tries fourteen ways to draft, each with another model or none, on contexts of two tokens. Another
 * seed or text number gives another text. */
TEST(a_text_is_one_for_its_seed_whatever_drafted_it)
{
    static const struct {
        const char *drafting, *policy;
        int K;
    } ways[] = {{"gumbel?seed=7", "fixed", 4},
                {"minhash?seed=7", "fixed", 4},
                {"gumbel?seed=8", "fixed", 3},
                {"chain", "fixed", 4},
                {"greedy", "fixed", 2},
                {"lookup", "fixed", 5},
                {"tree?n=2", "fixed", 3},
                {"tree?widths=3.2&siblings=without", "fixed", 2},
                {"chain", "confidence?threshold=0.4", 5},
                {"gumbel?seed=7", "confidence-drop?threshold=0.4", 5},
                {"minhash?seed=7", "heuristic", 5},
                {"tree?n=3&seed=7", "fixed", 2},
                {"tree?widths=3.1.2&siblings=without&seed=7", "fixed", 3},
                {"tree?children=2.1.0.2&seed=8", "fixed", 3},
                {"chain", "fixed", 0}};
    static const char *const rules[] = {"gumbel?seed=7", "minhash?seed=7"};
    const uint64_t seed = spec_test_seed();
    for (int r = 0; r < 2; r++) {
        int expected[TOKENS], text[TOKENS];
        OWNED(stage) s;
        stage_init(&s, 4, PAIR_PLAIN, seed);
        s.config.rule = rules[r];
        decode(expected, &s.config, 3, 1, true);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            OWNED(stage) t;
            stage_init(&t, 4, w % 3 == 0 ? PAIR_PLAIN : PAIR_MIXED, seed + w);
            s.config.opt_draft = &t.draft.head;
            s.config.drafting = ways[w].drafting;
            s.config.policy = ways[w].policy;
            s.config.K = ways[w].K;
            decode(text, &s.config, 3, 100 + w, false);
            for (int i = 0; i < TOKENS; i++)
                if (text[i] != expected[i])
                    fail_msg("%s %s: token %d", rules[r], ways[w].drafting, i);
        }
        s.config.opt_draft = &s.draft.head;
        s.config.K = 3;
        decode(text, &s.config, 4, 1, false);
        assert_memory_not_equal(text, expected, sizeof text);
        s.config.rule = r == 0 ? "gumbel?seed=8" : "minhash?seed=8";
        decode(text, &s.config, 3, 1, false);
        assert_memory_not_equal(text, expected, sizeof text);
    }
}

/* Three tokens of three, drafted three by three and again after each rejection, over 20,000 seeds
 * or text numbers: there are 27 texts, each expected 740 times on average. Noise that ignored the
 * position would repeat one token where rows agree. */
TEST(over_the_seeds_texts_have_the_targets_law, STATISTICS)
{
    const uint64_t seed = spec_test_seed(), samples = spec_test_samples(20000);
    for (int c = 0; c < 4; c++) {
        OWNED(stage) s;
        OWNED(spec_decoder) decoder;
        char spec[64];
        uint64_t counts[27] = {0};
        double law[27];
        stage_init(&s, 3, PAIR_LEVELS, seed);
        s.config.K = 3;
        s.config.rule = s.config.drafting = spec;
        snprintf(spec, sizeof spec, "%s?seed=0", names[c % 2]);
        stage_open_decoder(&decoder, &s.config);
        for (uint64_t i = 0; i < samples; i++) {
            int text[3];
            size_t n;
            if (c < 2)
                decoder.text = seed + i;
            else
                decoder.rule.noise.seed = decoder.drafter.noise.seed = seed + i;
            assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
            assert_int_equal(spec_decode(&decoder, 3, text, &n, &s.chance, NULL, NULL),
                             GSL_SUCCESS);
            counts[text[0] * 9 + text[1] * 3 + text[2]]++;
        }
        for (int i = 0; i < 27; i++) {
            const int text[3] = {i / 9, i / 3 % 3, i % 3};
            law[i] = 1.0;
            for (size_t n = 0; n < 3; n++) law[i] *= table_model_row(&s.target, text, n)[text[n]];
        }
        assert_false(spec_battery_rejects(spec_battery_chi_square(counts, law, 27)));
    }
}

/* 30,000 rounds of four tokens: positions that were drafted in vain before are accepted as often as
 * new ones. Drafts with another seed, or drawn by chance, are accepted as by match. For these rows
 * the three probabilities are .62, .57 and .26, with standard errors of .002. */
TEST(drafts_are_accepted_as_often_as_rows_agree, STATISTICS)
{
    static const char *const draftings[2][3] = {{"gumbel?seed=7", "gumbel?seed=8", "chain"},
                                                {"minhash?seed=7", "minhash?seed=8", "chain"}};
    const uint64_t seed = spec_test_seed(), rounds = spec_test_samples(30000);
    double match = 0.0;
    for (int i = 0; i < V; i++) match += target[i] * drafts[i];
    for (int c = 0; c < 6; c++) {
        OWNED(stage) s;
        OWNED(spec_decoder) decoder;
        spec_tally tally = {0};
        uint64_t tested = 0, passed = 0;
        stage_init(&s, V, PAIR_PLAIN, seed);
        table_model_fill(&s.target, target);
        table_model_fill(&s.draft, drafts);
        s.config.K = 4;
        s.config.rule = draftings[c / 3][0];
        s.config.drafting = draftings[c / 3][c % 3];
        stage_open_decoder(&decoder, &s.config);
        for (uint64_t i = 0; i < rounds; i++) {
            if (i % 1000 == 0) {
                decoder.text = seed + i;
                assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
            }
            assert_int_equal(spec_decoder_round(&decoder, &s.chance, &tally, NULL), GSL_SUCCESS);
        }
        for (int k = 0; k < 4; k++) {
            tested += tally.tested[k];
            passed += tally.passed[k];
        }
        const double expected = c % 3 == 0 ? agreement(c / 3, target, drafts, V) : match;
        assert_within((double)passed / (double)tested, expected,
                      4.9 * sqrt(expected * (1.0 - expected) / (double)tested)); /* p = 1e-6 */
    }
}

/* Returns the share of rounds whose first token is among n siblings of the same seed; rounds have
 * one level, at different positions. Siblings drawn by chance, or with another seed, are accepted
 * as by match.
 */
TEST(siblings_of_the_race_are_accepted_as_often_as_the_formula_says, STATISTICS)
{
    const uint64_t rounds = spec_test_samples(30000);
    const int sizes[] = {1, 2, 4};
    for (int c = 0; c < 9; c++) {
        static const char *const draftings[] = {"tree?n=%d&seed=7", "tree?n=%d&seed=8",
                                                "tree?n=%d&siblings=without&seed=7"};
        const int n = sizes[c % 3];
        OWNED(stage) s;
        OWNED(spec_decoder) decoder;
        char drafting[64];
        spec_tally tally = {0};
        double expected = 0.0;
        stage_init(&s, V, PAIR_PLAIN, spec_test_seed());
        table_model_fill(&s.target, target);
        table_model_fill(&s.draft, drafts);
        snprintf(drafting, sizeof drafting, draftings[c / 3], n);
        s.config.K = 1;
        s.config.rule = "gumbel?seed=7";
        s.config.drafting = drafting;
        stage_open_decoder(&decoder, &s.config);
        for (uint64_t i = 0; i < rounds; i++) {
            if (i % 1000 == 0) {
                decoder.text = i;
                assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
            }
            assert_int_equal(spec_decoder_round(&decoder, &s.chance, &tally, NULL), GSL_SUCCESS);
        }
        for (int x = 0; x < V; x++) {
            double either = 0.0;
            for (int y = 0; y < V && target[x] > 0.0; y++)
                either += fmax(target[y], drafts[y] * target[x] / drafts[x]);
            const double a = c / 3 == 1 ? drafts[x] : target[x] > 0.0 ? 1.0 / either : 0.0;
            expected += target[x] * (1.0 - pow(1.0 - a, n));
        }
        const double share = (double)tally.accepted / (double)rounds,
                     error = 4.9 * sqrt(expected * (1.0 - expected) / (double)rounds);
        print_message("%-34s %.4f, expected %.4f\n", drafting, share, expected);
        if (c / 3 < 2 || n == 1)
            assert_within(share, expected, error);
        else
            assert_true(share > expected + error); /* no arrival is spent on a token twice */
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refuses(const char *rule, const char *drafting, bool enumerated, const char *part)
{
    OWNED(stage) s;
    spec_decoder decoder = {0};
    spec_output_law law;
    spec_error error = {""};
    stage_init(&s, 3, PAIR_PLAIN, 1);
    s.config.rule = rule;
    s.config.drafting = drafting;
    s.config.K = 1;
    const int status = enumerated ? spec_output_law_init(&law, &s.config, NULL, 0, 1, 0, &error)
                                  : spec_decoder_init(&decoder, &s.config, &error);
    assert_int_equal(status, GSL_EINVAL);
    if (strstr(error.text, part) == NULL) fail_msg("'%s' does not say '%s'", error.text, part);
}

TEST(what_cannot_work_is_refused)
{
    refuses("token", "gumbel?seed=7", false, "rule 'token' has no seed");
    refuses("gumbel", "gumbel?seed=7", false, "rule 'gumbel' has no seed");
    refuses("gumbel?seed=none", "gumbel?seed=7", false, "rule 'gumbel?seed=none' has no seed");
    refuses("gumbel?seed=7", "gumbel?seed=none", false,
            "needs the seed of its rule: gumbel?seed=7");
    refuses("gumbel?seed=x", "chain", false, "seed");
    refuses("gumbel?seed=7", "tree?siblings=top&seed=7", false, "iid or without");
    refuses("rrs", "tree?n=2&seed=7", false, "rule 'rrs' has no seed");
    refuses("minhash?seed=7", "minhash?seed=-1", false, "seed");
    refuses("gumbel", "tree?n=2", false, "does not support the iid siblings");
    refuses("gumbel?seed=7", "chain", true, "'gumbel' gives the distribution over all seeds");
    refuses("minhash?seed=7", "minhash?seed=7", true,
            "'minhash' gives the distribution over all seeds");
}
