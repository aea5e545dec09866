/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the mean capital under the null, summed over all texts; each hard rule; counts and
 * completions; coins. */
#include "tests/support/support.h"
#include "tests/tools/validate/evidence_stand.h"
#include "tools/validate/fixtures/design.h"

#include "analysis/statistics/goodness.h"

/* ---- the null -------------------------------------------------------------------------------- */

/* Adds up all pairs of texts of four tokens, weighted by probability. Tests with random numbers of
 * their own are left out. */
TEST(the_mean_capital_over_all_texts_is_one)
{
    enum { LENGTH = 4, TEXTS = 1 << LENGTH };
    static const char *const names[] = {"counts",     "state",       "again",       "pairs",
                                        "draft-more", "tilt",        "target-more", "target-mode",
                                        "draft-mode", "first-token", "last-token"};
    enum { NAMES = sizeof names / sizeof *names };
    double mean[NAMES] = {0.0}, all = 0.0;
    for (int code = 0; code < TEXTS * TEXTS; code++) {
        OWNED(stand) s;
        spec_finding finding[SPEC_TESTS_MAX];
        double chance = 1.0;
        open_stand(&s, "two-2", SPEC_SCOPE_STREAM);
        for (int t = 0; t < 2; t++) {
            int32_t text[LENGTH];
            int at = 0;
            for (int k = 0; k < LENGTH; k++) {
                text[k] = code >> (t * LENGTH + k) & 1;
                chance *= law_of(&s, at)[text[k]];
                at = spec_fixture_next(&s.fixture, at, text[k]);
            }
            spec_evidence_clear(s.fork);
            spec_evidence_add_text(s.fork, 0, text, LENGTH, s.rng);
            spec_evidence_merge(s.evidence, s.fork);
        }
        const int n = spec_evidence_findings(finding, s.evidence);
        for (int k = 0; k < NAMES; k++)
            mean[k] += chance * exp(finding_of(finding, n, names[k])->log_e);
        all += chance;
    }
    assert_near(all, 1.0, 1e-12);
    for (int k = 0; k < NAMES; k++) assert_near(mean[k], 1.0, 1e-11);
}

/* The joint law of draft and emitted tokens under the token rule. */
TEST(the_mean_capital_of_kept_drafts_is_one)
{
    OWNED(stand) s;
    open_stand(&s, "plain-4", SPEC_SCOPE_VERIFY);
    const double *target = law_of(&s, 0), *draft = s.fixture.draft_law;
    double mean = 0.0, rest = 0.0, all = 0.0;
    for (int y = 0; y < 4; y++) rest += fmax(target[y] - draft[y], 0.0);
    for (int x = 0; x < 4; x++)
        for (int y = 0; y < 4; y++) {
            const double kept = fmin(1.0, target[x] / draft[x]);
            const double chance =
                draft[x] *
                ((x == y ? kept : 0.0) + (1.0 - kept) * fmax(target[y] - draft[y], 0.0) / rest);
            spec_finding finding[SPEC_TESTS_MAX];
            memset(s.evidence->kept, 0, (size_t)s.fixture.n_states * sizeof *s.evidence->kept);
            s.evidence->kept[0][draft[x] > target[x]][draft[y] > target[y]] = 1;
            const int n = spec_evidence_findings(finding, s.evidence);
            mean += chance * exp(finding_of(finding, n, "kept")->log_e);
            all += chance;
        }
    assert_near(all, 1.0, 1e-12);
    assert_near(mean, 1.0, 1e-12);
}

/* ---- hard rules ------------------------------------------------------------------------------ */

TEST(each_broken_rule_is_named)
{
    for (int hard = SPEC_HARD_IMPOSSIBLE; hard < SPEC_HARD_KINDS; hard++) {
        const char *fixture = hard == SPEC_HARD_REPEAT ? "repeats-4" : "target-zeros-8";
        OWNED(stand) s;
        open_stand(&s, fixture, SPEC_SCOPE_VERIFY);
        ask(&s, 4, 0);
        for (int i = 0; i < 4; i++) emit(&s, i, best_of(&s, i, NULL));
        const double *law = law_of(&s, root(&s, 3));
        int never = 0, other = 0;
        while (never < s.fixture.vocab - 1 && law[never] > 0.0) never++;
        while (law[other] == 0.0 || other == best_of(&s, 3, NULL)) other++;
        int32_t *emitted = s.batch.emitted + (size_t)3 * (size_t)(s.batch.nodes + 1);
        if (hard == SPEC_HARD_IMPOSSIBLE) emitted[0] = never;
        if (hard == SPEC_HARD_RANGE) emitted[0] = s.fixture.vocab;
        if (hard == SPEC_HARD_COUNTS) s.batch.n_accepted[3] = 1;
        if (hard == SPEC_HARD_PATH) {
            s.batch.n_emitted[3] = 2;
            s.batch.n_accepted[3] = 1;
            emitted[0] = drafted_by(&s, 3) != best_of(&s, 3, NULL) ? best_of(&s, 3, NULL) : other;
            emitted[1] = 0;
            const double *after =
                law_of(&s, spec_fixture_next(&s.fixture, root(&s, 3), emitted[0]));
            while (after[emitted[1]] == 0.0) emitted[1]++;
        }
        if (hard == SPEC_HARD_INPUT) s.batch.fault[3] = SPEC_FAULT_INPUT;
        if (hard == SPEC_HARD_OVERRUN) s.batch.fault[3] = SPEC_FAULT_OVERRUN;
        if (hard == SPEC_HARD_UNTOUCHED) s.batch.fault[3] = SPEC_FAULT_UNTOUCHED;
        if (hard == SPEC_HARD_REPEAT) emitted[0] = other;
        if (hard == SPEC_HARD_COUNTERS) spec_evidence_blame(s.evidence, SPEC_HARD_COUNTERS);
        take(&s, 4, 0);
        const spec_exhibit *shown = spec_evidence_hard(s.evidence);
        assert_non_null(shown);
        assert_int_equal(shown->hard, hard);
        assert_true(strlen(spec_hard_reasons[hard]) > 10);
        if (hard == SPEC_HARD_COUNTERS) {
            assert_int_equal(spec_evidence_tokens(s.evidence), 4);
        } else {
            assert_int_equal(shown->index, 3);
            assert_int_equal(spec_evidence_tokens(s.evidence),
                             hard == SPEC_HARD_REPEAT ? 2 : 3); /* not counted as a text */
        }
        assert_int_equal(spec_evidence_rounds(s.evidence), 4);
    }
}

TEST(drafts_of_the_sampler_are_tested)
{
    OWNED(stand) s;
    open_stand(&s, "blind-3", SPEC_SCOPE_DRAFT);
    ask(&s, 2, 0);
    for (int i = 0; i < 2; i++) emit(&s, i, best_of(&s, i, NULL));
    s.batch.token[s.batch.nodes] = 3;
    take(&s, 2, 0);
    assert_int_equal(spec_evidence_hard(s.evidence)->hard, SPEC_HARD_RANGE);
    assert_int_equal(spec_evidence_hard(s.evidence)->index, 1);
}

/* ---- counting -------------------------------------------------------------------------------- */

/* The sampler emits one token, and speclab draws the rest of each block: the rest follows the law,
 * and counts only for tests of blocks. */
TEST(completions_count_for_blocks_only, STATISTICS)
{
    OWNED(stand) s;
    spec_goodness g;
    open_stand(&s, "plain-4", SPEC_SCOPE_VERIFY);
    for (uint64_t b = 0; b < 24; b++) {
        ask(&s, ROUNDS, b);
        for (int i = 0; i < ROUNDS; i++) emit(&s, i, 2);
        take(&s, ROUNDS, b);
    }
    assert_int_equal(s.evidence->laws->block, 4);
    for (int at = 0; at < s.fixture.n_states; at++) {
        const uint64_t *block = s.evidence->tables.block + (size_t)(at / 4) * 256;
        uint64_t after[4] = {0};
        if (at % s.fixture.levels != 0) {
            assert_int_equal(spec_evidence_visits(s.evidence, at), 0);
            continue;
        }
        assert_int_equal(spec_evidence_count(s.evidence, at, 2),
                         spec_evidence_visits(s.evidence, at));
        for (size_t code = 0; code < 256; code++) after[code / 16 % 4] += block[code];
        assert_int_equal(after[0] + after[1] + after[2] + after[3],
                         spec_evidence_visits(s.evidence, at));
        assert_int_equal(
            spec_goodness_g(&g, after, law_of(&s, spec_fixture_next(&s.fixture, at, 2)), 4, 5, 0),
            GSL_SUCCESS);
        assert_true(g.p > SPEC_TEST_P && g.df == 3);
    }
    assert_int_equal(spec_evidence_tokens(s.evidence), 24 * ROUNDS);
    assert_same(spec_evidence_accepted(s.evidence), 0.0);
}

/* Round 0 drafts and emits these tokens, and accepts all but the last. */
static void answer(stand *s, int n_nodes, const int32_t *token, int n_emitted,
                   const int32_t *emitted)
{
    memcpy(s->batch.token, token, (size_t)n_nodes * sizeof *token);
    memcpy(s->batch.emitted, emitted, (size_t)n_emitted * sizeof *emitted);
    s->batch.n_nodes[0] = n_nodes;
    s->batch.n_emitted[0] = n_emitted;
    s->batch.n_accepted[0] = n_emitted - 1;
}

TEST(a_round_gives_the_places_of_its_tokens)
{
    enum {
        FIRST = 1 << SPEC_PLACE_FIRST,
        LATER = 1 << SPEC_PLACE_LATER,
        CORRECTION = 1 << SPEC_PLACE_CORRECTION,
        BONUS = 1 << SPEC_PLACE_BONUS
    };
    OWNED(stand) s;
    const spec_fixture *f = &s.fixture;
    const spec_round_batch *b = &s.batch;
    open_stand(&s, "plain-4", SPEC_SCOPE_VERIFY);
    answer(&s, 3, (int32_t[]){2, 0, 1}, 1, (int32_t[]){3});
    assert_int_equal(spec_evidence_places(f, b, 0, 0), FIRST | CORRECTION);
    answer(&s, 3, (int32_t[]){2, 0, 1}, 3, (int32_t[]){2, 0, 0});
    assert_int_equal(spec_evidence_places(f, b, 0, 0), FIRST);
    assert_int_equal(spec_evidence_places(f, b, 0, 1), LATER);
    assert_int_equal(spec_evidence_places(f, b, 0, 2), LATER | CORRECTION);
    answer(&s, 3, (int32_t[]){2, 0, 1}, 4, (int32_t[]){2, 0, 1, 1});
    assert_int_equal(spec_evidence_places(f, b, 0, 3), LATER | BONUS);
    /* no draft token follows the padding */
    answer(&s, 3, (int32_t[]){2, -1, -1}, 2, (int32_t[]){2, 1});
    assert_int_equal(spec_evidence_places(f, b, 0, 1), LATER | BONUS);
    answer(&s, 0, (int32_t[]){0}, 1, (int32_t[]){2});
    assert_int_equal(spec_evidence_places(f, b, 0, 0), FIRST | BONUS);
    stand_free(&s);
    /* Nodes 0 and 1 are children of the root, 2 and 3 of node 0; node 1 is a leaf. */
    open_stand(&s, "sparse-iid-4", SPEC_SCOPE_VERIFY);
    answer(&s, 4, (int32_t[]){2, 1, 0, 3}, 2, (int32_t[]){2, 2});
    assert_int_equal(spec_evidence_places(f, b, 0, 1), LATER | CORRECTION);
    answer(&s, 4, (int32_t[]){2, 1, 0, 3}, 2, (int32_t[]){1, 2});
    assert_int_equal(spec_evidence_places(f, b, 0, 1), LATER | BONUS);
    answer(&s, 4, (int32_t[]){1, 1, 0, 3}, 2, (int32_t[]){1, 2}); /* either node 0 or node 1 */
    assert_int_equal(spec_evidence_places(f, b, 0, 1), LATER);
    answer(&s, 4, (int32_t[]){1, 1, 0, 3}, 3, (int32_t[]){1, 3, 2});
    assert_int_equal(spec_evidence_places(f, b, 0, 2), LATER | BONUS);
}

/* The counts by place add up to the number of tokens. */
TEST(tokens_are_counted_by_place)
{
    OWNED(stand) s;
    uint64_t own[SPEC_PLACES] = {0};
    open_stand(&s, "plain-4", SPEC_SCOPE_VERIFY);
    ask(&s, 2, 0);
    for (int i = 0; i < 2; i++) emit(&s, i, best_of(&s, i, NULL));
    s.batch.emitted[0] = drafted_by(&s, 0);
    s.batch.emitted[1] = 3;
    s.batch.n_emitted[0] = 2;
    s.batch.n_accepted[0] = 1;
    take(&s, 2, 0);
    assert_null(spec_evidence_hard(s.evidence));
    for (int at = 0; at < s.fixture.n_states; at++) {
        uint64_t all = 0;
        for (spec_place place = 0; place < SPEC_PLACES; place++)
            own[place] += spec_evidence_own(s.evidence, at, place);
        for (spec_place place = 0; place <= SPEC_PLACE_TEXT; place++)
            all += spec_evidence_own(s.evidence, at, place);
        assert_int_equal(all, spec_evidence_visits(s.evidence, at));
    }
    assert_int_equal(own[SPEC_PLACE_FIRST], 2);
    assert_int_equal(own[SPEC_PLACE_LATER], 1);
    assert_int_equal(own[SPEC_PLACE_CORRECTION], 2);
    assert_int_equal(own[SPEC_PLACE_BONUS] + own[SPEC_PLACE_TEXT], 0);
    assert_int_equal(spec_evidence_tokens(s.evidence), 3);
}

/* A text of five tokens, by hand. */
TEST(tokens_and_pairs_are_counted_where_they_came)
{
    static const int32_t text[5] = {1, 3, 0, 0, 2};
    OWNED(stand) s;
    open_stand(&s, "plain-4", SPEC_SCOPE_STREAM);
    spec_evidence_clear(s.fork);
    spec_evidence_add_text(s.fork, 4, text, 5, s.rng);
    spec_evidence_merge(s.evidence, s.fork);
    int at = 4;
    uint64_t pairs = 0, blocks = 0;
    for (int k = 0; k < 5; k++) {
        assert_int_equal(spec_evidence_count(s.evidence, at, text[k]), 1);
        assert_int_equal(spec_evidence_visits(s.evidence, at), 1);
        const size_t pair = ((size_t)at * 4 + (size_t)text[k]) * 4;
        if (k < 4) assert_int_equal(s.evidence->tables.pair[pair + (size_t)text[k + 1]], 1);
        at = spec_fixture_next(&s.fixture, at, text[k]);
    }
    for (size_t i = 0; i < s.evidence->laws->cells * 4; i++) pairs += s.evidence->tables.pair[i];
    for (size_t i = 0; i < 3 * s.evidence->laws->block_cells; i++)
        blocks += s.evidence->tables.block[i];
    assert_int_equal(pairs, 4);
    assert_int_equal(s.evidence->laws->block, 4);
    assert_int_equal(blocks, 1); /* a block has four tokens; the fifth token begins the next one */
    assert_int_equal(s.evidence->tables.block[256 + 64 * 1 + 16 * 3], 1);
}

TEST(nothing_seen_says_nothing)
{
    for (int i = 0; spec_fixture_at(i) != NULL; i++)
        for (uint32_t scope = SPEC_SCOPE_VERIFY; scope <= SPEC_SCOPE_STREAM; scope <<= 1) {
            stand s;
            spec_finding finding[SPEC_TESTS_MAX];
            if (!(spec_fixture_at(i)->scopes & scope)) continue;
            open_stand(&s, spec_fixture_at(i)->name, scope);
            const int n = spec_evidence_findings(finding, s.evidence);
            for (int k = 0; k < n; k++) {
                assert_within(finding[k].log_e, 0.0, 1e-12);
                assert_same(finding[k].p, 1.0);
                assert_same(finding[k].df, 0.0);
            }
            assert_true(n > 10 && n < SPEC_TESTS_MAX);
            stand_free(&s);
        }
}

/* Ordinary coins are uniform; coins of edge rounds are at an edge half of the time, and those
 * rounds are not counted. */
TEST(coins_are_uniform_or_at_edges)
{
    OWNED(stand) s;
    int zeros = 0, last = 0, ordinary = 0;
    double sum = 0.0;
    open_stand(&s, "plain-4", SPEC_SCOPE_VERIFY);
    spec_round_batch_lay(&s.batch, s.memory, ROUNDS, s.fixture.n_nodes, 3);
    ask(&s, ROUNDS, 0);
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < 3; k++) {
            const float coin = s.batch.coin[i * 3 + k];
            assert_true(coin >= 0.0f && coin < 1.0f);
            if (i % SPEC_EDGE_ROUNDS == 0) {
                zeros += coin == 0.0f;
                last += coin == 1.0f - 0x1p-24f;
            } else {
                sum += coin;
                ordinary++;
            }
        }
    assert_true(zeros > 5 && last > 5); /* each expected 24 times */
    assert_within(sum / ordinary, 0.5, 5.0 / sqrt(12.0 * ordinary));
    for (int i = 0; i < ROUNDS; i++) emit(&s, i, best_of(&s, i, NULL));
    take(&s, ROUNDS, 0);
    assert_int_equal(spec_evidence_rounds(s.evidence), ROUNDS);
    assert_int_equal(spec_evidence_tokens(s.evidence), ROUNDS - ROUNDS / SPEC_EDGE_ROUNDS);
}

/* The lowest bits agree in the seeds of two neighbouring groups and in the offsets and requests of
 * neighbouring rounds, but no two rounds agree in everything. */
TEST(wide_numbers_differ_in_high_bits)
{
    uint64_t bits = 0;
    OWNED(stand) s;
    open_stand(&s, "wide-4", SPEC_SCOPE_VERIFY);
    ask(&s, ROUNDS, 0);
    for (int i = 0; i < ROUNDS; i++) {
        const spec_round_batch *b = &s.batch;
        const int group = i / SPEC_SEED_ROUNDS;
        assert_int_equal(b->offset[i] & 0xff, 0);
        assert_true(b->offset[i] >> 53 == 0 &&
                    b->request[i] >> 53 == 0); /* JSON's numbers are doubles */
        if (i % 2 == 1) assert_int_equal(b->request[i] ^ b->request[i - 1], 1ull << 32);
        if (group % 2 == 1) {
            const uint64_t other = b->seed[i] ^ b->seed[i - SPEC_SEED_ROUNDS];
            assert_true(other >> 16 != 0 && other >> 53 == 0 && (other & (other - 1)) == 0);
            bits |= other;
        }
        for (int k = 0; k < i; k++) {
            assert_true(b->request[i] != b->request[k]);
            assert_true(b->seed[i] != b->seed[k] || b->offset[i] != b->offset[k]);
        }
    }
    assert_int_equal(bits >> 16, 0xffffffff); /* of 37 bits, 32 groups */
}

/* The first fixture of the design in a scope that has such seeds or texts. */
static const char *designed(uint32_t scope, spec_seeds seeds, spec_texts texts)
{
    const spec_fixture_kind *kind;
    for (int i = 0; (kind = spec_design_fixture(i)) != NULL; i++) {
        const spec_recipe *recipe = (const spec_recipe *)kind;
        if (kind->scopes & scope && recipe->seeds == seeds && recipe->texts == texts)
            return kind->name;
    }
    fail_msg("no such fixture");
    return NULL;
}

TEST(consecutive_seeds_differ_by_one)
{
    OWNED(stand) s;
    open_stand(&s, designed(SPEC_SCOPE_VERIFY, SPEC_SEEDS_CONSECUTIVE, SPEC_TEXTS_USUAL),
               SPEC_SCOPE_VERIFY);
    ask(&s, ROUNDS, 0);
    for (int i = SPEC_SEED_ROUNDS; i < ROUNDS; i++) {
        assert_int_equal(s.batch.seed[i], s.batch.seed[i - SPEC_SEED_ROUNDS] + 1);
        assert_int_equal(s.batch.offset[i], i % SPEC_SEED_ROUNDS);
    }
}

TEST(brief_texts_have_their_lengths_in_turn)
{
    static const int lengths[] = {1, 2, 3, 17, 1};
    OWNED(stand) s;
    open_stand(&s, "brief-3-4", SPEC_SCOPE_STREAM);
    for (int k = 0; k < 5; k++) assert_int_equal(spec_fixture_text(&s.fixture, k), lengths[k]);
    stand_free(&s);
    open_stand(&s, "text-5-3", SPEC_SCOPE_STREAM);
    for (int k = 0; k < 5; k++)
        assert_int_equal(spec_fixture_text(&s.fixture, k), SPEC_FIXTURE_TEXT);
    stand_free(&s);
    open_stand(&s, designed(SPEC_SCOPE_STREAM, SPEC_SEEDS_HASHED, SPEC_TEXTS_LONG),
               SPEC_SCOPE_STREAM);
    assert_true(spec_fixture_text(&s.fixture, 0) > 2 * SPEC_FIXTURE_TEXT);
}

/* Draws by the guide table follow the same law as by the sums themselves, for numbers on and beside
 * every step. */
TEST(draws_invert_the_cumulative_law, STATISTICS)
{
    OWNED(stand) s;
    open_stand(&s, "draft-zeros-8", SPEC_SCOPE_VERIFY);
    uint64_t count[8] = {0};
    const int at = s.fixture.levels;
    for (int i = 0; i < 40000; i++)
        count[spec_evidence_laws_draw(s.evidence->laws, &s.evidence->laws->draft, at, s.rng)]++;
    spec_goodness g;
    assert_int_equal(spec_goodness_g(&g, count, s.fixture.draft_law + (size_t)at * 8, 8, 5, 0),
                     GSL_SUCCESS);
    assert_true(g.p > SPEC_TEST_P && g.df > 0);
}
