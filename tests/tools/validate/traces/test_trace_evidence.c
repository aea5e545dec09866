/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/statistics/goodness.h"
#include "sim/chance/rng.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/tree_round.h"
#include "tools/validate/traces/trace_evidence.h"

#include <gsl/gsl_sort.h>
#include <string.h>

enum { V = 6, TEXTS = 4, ROWS = 24 };

/* The mistakes of a simulated engine. */
typedef enum {
    RIGHT,
    FROM_DRAFT,
    ALL_TARGET,
    ARGMAX,
    TOO_WARM,
    SHIFTED,
    SHARED_COIN,
    AFTER_REJECTION
} engine;

typedef struct {
    double target[ROWS][V], draft[ROWS][V];
} rows;

typedef struct {
    spec_trace_evidence *evidence;
    spec_trace_text text[TEXTS];
    gsl_rng *rng;
} trace;

static void make_rows(rows *ret)
{
    for (int r = 0; r < ROWS; r++) {
        double sum[2] = {0.0, 0.0};
        for (int i = 0; i < V; i++) {
            ret->target[r][i] = exp(1.3 * sin(1.0 + 5.1 * r + 2.3 * i));
            ret->draft[r][i] = ret->target[r][i] * exp(0.8 * cos(0.4 + 3.7 * r + 1.9 * i));
            sum[0] += ret->target[r][i];
            sum[1] += ret->draft[r][i];
        }
        for (int i = 0; i < V; i++) {
            ret->target[r][i] /= sum[0];
            ret->draft[r][i] /= sum[1];
        }
    }
}

static void begin(trace *t, int vocab, gsl_rng *rng)
{
    const spec_trace_head head = {.vocab = vocab, .precision = 0.0};
    t->rng = rng;
    assert_int_equal(spec_trace_evidence_init(&t->evidence, &head, rng, NULL), GSL_SUCCESS);
    for (int i = 0; i < TEXTS; i++)
        t->text[i] = (spec_trace_text){
            .key = (uint64_t)i + 1, .pit = -1.0f, .before = -1.0f, .place = -1, .accepted = -1};
}

static int draw(const double *row, double u)
{
    int token = 0;
    while (token < V - 1 && u >= row[token]) u -= row[token++];
    return token;
}

static spec_trace_record record_of(spec_trace_text *text, int token, const double *target,
                                   const double *draft, int n)
{
    return (spec_trace_record){.text = text,
                               .token = token,
                               .target_log = log(target[token]),
                               .draft_log = draft != NULL ? log(draft[token]) : NAN,
                               .n_cells = n,
                               .cell = token,
                               .whole = true,
                               .target = target,
                               .draft = draft,
                               .drafted = -1,
                               .accepted = -1,
                               .coin = NAN};
}

/* Emits n rounds of one draft token, verified rightly or wrongly, and its bonus, over several texts
 in turn. */
static void emit(trace *t, const rows *r, engine how, int n)
{
    double warm[V], coin = 0.0;
    bool rejected[TEXTS] = {false};
    for (int round = 0; round < n; round++) {
        const int which = (5 * round) % (ROWS - 1);
        spec_trace_text *text = &t->text[round % TEXTS];
        const double *target = r->target[which], *draft = r->draft[which];
        const double *from = how == FROM_DRAFT ? draft
                             : how == SHIFTED  ? r->target[which + 1]
                                               : target;
        spec_trace_record record;
        if (how == TOO_WARM) {
            double sum = 0.0;
            for (int i = 0; i < V; i++) sum += warm[i] = pow(target[i], 0.8);
            for (int i = 0; i < V; i++) warm[i] /= sum;
            from = warm;
        }
        int token = draw(draft, gsl_rng_uniform(t->rng));
        const int drafted = token;
        bool accepted = gsl_rng_uniform(t->rng) * draft[token] < target[token];
        if (how == ALL_TARGET) {
            if (!accepted) token = draw(target, gsl_rng_uniform(t->rng));
        } else if (how == ARGMAX) {
            for (int i = token = 0; i < V; i++)
                if (target[i] > target[token]) token = i;
            accepted = token == drafted;
        } else if (from != target || how == SHARED_COIN ||
                   (how == AFTER_REJECTION && rejected[round % TEXTS])) {
            if (how != SHARED_COIN || round % 2 == 0) coin = gsl_rng_uniform(t->rng);
            token = draw(from, how == AFTER_REJECTION ? 0.8 * coin : coin);
            accepted = token == drafted;
        } else if (!accepted) {
            double left[V], sum = 0.0;
            for (int i = 0; i < V; i++) sum += left[i] = fmax(target[i] - draft[i], 0.0);
            for (int i = 0; i < V; i++) left[i] /= sum;
            token = draw(left, gsl_rng_uniform(t->rng));
        }
        record = record_of(text, token, target, draft, V);
        record.drafted = drafted;
        record.accepted = accepted;
        spec_trace_evidence_add(t->evidence, &record, (uint64_t)round + 2);
        rejected[round % TEXTS] = !accepted;
        if (!accepted) continue;
        target = r->target[ROWS - 1];
        record = record_of(text, draw(target, gsl_rng_uniform(t->rng)), target, NULL, V);
        record.accepted = 0;
        spec_trace_evidence_add(t->evidence, &record, (uint64_t)round + 2);
    }
}

static const spec_finding *finding(spec_finding *all, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0) return &all[i];
    fail_msg("no test %s", name);
    return NULL;
}

/* ---- exact ----------------------------------------------------------------------------------- */

/* Over every text of four tokens, weighted by probability, the capital of each bet without random
 * numbers of its own has mean 1. Two kinds have less: bets on ratios if the draft has mass that the
 * target lacks, and bets on sure tokens if fewer than k tokens are above 1/(k+1). */
TEST(every_bet_is_fair_over_all_texts)
{
    enum { N = 3, LENGTH = 4 };
    static const double target[2][N] = {{0.61, 0.27, 0.12}, {0.35, 0.65, 0.0}};
    static const double draft[2][N] = {{0.2, 0.33, 0.47}, {0.45, 0.45, 0.1}};
    static const char *const names[] = {"draft-tilt",  "flat-tilt",   "temperature", "draft-more",
                                        "target-more", "target-mode", "draft-mode",  "first-token",
                                        "last-token",  "sure-tilt"};
    enum { NAMES = sizeof names / sizeof *names };
    double mean[NAMES] = {0.0};
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    for (int text = 0; text < 81; text++) {
        spec_finding all[SPEC_TESTS_MAX];
        double chance = 1.0;
        trace t;
        begin(&t, N, rng);
        for (int k = 0, rest = text; k < LENGTH; k++, rest /= N) {
            const int token = rest % N;
            chance *= target[k % 2][token];
            if (chance == 0.0) break;
            const spec_trace_record record =
                record_of(&t.text[0], token, target[k % 2], draft[k % 2], N);
            spec_trace_evidence_add(t.evidence, &record, 2);
        }
        if (chance > 0.0) {
            const int n = spec_trace_evidence_findings(all, t.evidence);
            for (int k = 0; k < NAMES; k++)
                mean[k] += chance * exp(finding(all, n, names[k])->log_e);
        }
        spec_trace_evidence_free(t.evidence);
    }
    /* What these two lose: for two of four tokens, a tenth and a third of the mass of the other
     * law. */
    double leaky[2] = {0.0, 0.0};
    static const double shares[] = {0.004, 0.03, 0.15, 0.5, 1.0};
    for (int j = 0; j < 5; j++) {
        leaky[0] += pow(1.0 - shares[j] * 0.1, 2) / 5;
        leaky[1] += pow(1.0 - shares[j] / 3.0, 2) / 5;
    }
    assert_near(mean[0], leaky[0], 1e-12);
    assert_near(mean[1], leaky[1], 1e-12);
    for (int k = 2; k < NAMES - 1; k++) assert_near(mean[k], 1.0, 1e-12);
    double sure = 0.0;
    for (int j = 0; j < 5; j++)
        for (int k = 1; k <= 4; k *= 2) {
            int above[2] = {0, 0};
            for (int i = 0; i < 2 * N; i++) above[i / N] += target[i / N][i % N] > 1.0 / (k + 1);
            assert_true(above[0] <= k && above[1] <= k);
            for (int i = 0; i < 2; i++) above[i] -= k;
            sure +=
                pow((1.0 + shares[j] * above[0] / k) * (1.0 + shares[j] * above[1] / k), 2) / 15;
        }
    assert_near(mean[NAMES - 1], sure, 1e-12);
    assert_true(sure < 1.0);
}

/* Returns the distance of a token's law from the target's, given that its round reached the place:
 * the largest difference over all places and earlier texts. */
static double place_distance(const tree_round *law, const table_model *target, int K)
{
    const int vocab = target->head.vocab;
    double worst = 0.0;
    for (int i = 0, texts = 1; i <= K; i++, texts *= vocab)
        for (int text = 0; text < texts; text++) {
            double came[4] = {0.0}, sum = 0.0;
            int before[TREE_ROUND_LENGTH];
            for (int k = i - 1, rest = text; k >= 0; k--, rest /= vocab) before[k] = rest % vocab;
            const double *row = table_model_row(target, before, (size_t)i);
            for (int n = i + 1, ends = 1; n <= K + 1; n++, ends *= vocab)
                for (int y = 0; y < vocab; y++)
                    for (int end = 0; end < ends; end++)
                        came[y] += law->prefix[n][(text * vocab + y) * ends + end];
            for (int y = 0; y < vocab; y++) sum += came[y];
            for (int y = 0; y < vocab; y++) worst = fmax(worst, fabs(came[y] - sum * row[y]));
        }
    return worst;
}

/* Rules whose rounds, continued by the target, follow its law; rules whose texts follow it but
 * whose rounds do not; and rules without it. */
TEST(a_place_may_be_given_where_completed_rounds_are_lossless_and_only_there)
{
    static const struct {
        const char *rule, *drafting;
        bool lossless;
    } cases[] = {{"token", "chain", true},
                 {"block", "chain", true},
                 {"match", "chain", true},
                 {"gumbel", "chain", true},
                 {"match", "tree?widths=2.1", true},
                 {"rrs", "tree?widths=2.1", true},
                 {"kseq", "tree?widths=2.1", true},
                 {"rrsw", "tree?widths=2.1&siblings=without", true},
                 {"traversal", "tree?widths=2.1&siblings=without", true},
                 {"block-greedy", "chain", false},
                 {"hsd", "chain", false},
                 {"resample-target", "chain", false}};
    uint64_t noise = 7;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double off = 0.0;
        for (int pair = 0; pair < 8 * PAIR_FAMILIES; pair++) {
            const int vocab = 2 + pair % 2, K = cases[c].drafting[0] == 'c' ? 1 + pair % 3 : 2;
            OWNED(table_model) target, draft;
            tree_round law;
            table_model_init(&target, vocab);
            table_model_init(&draft, vocab);
            table_pair_randomize(&target, &draft, (pair_family)(pair / 8), &noise);
            const spec_decoder_config config =
                tree_round_config(&target.head, &draft.head, cases[c].rule, cases[c].drafting, K);
            tree_round_enumerate(&law, &config);
            const double distance = place_distance(&law, &target, K),
                         tv = tree_round_tv(&law, &target, K + 1);
            if ((tv > 1e-9) != (distance > 1e-10))
                fail_msg("%s: TV %g, at places %g", cases[c].rule, tv, distance);
            off = fmax(off, distance);
        }
        if (cases[c].lossless)
            assert_within(off, 0.0, 1e-12);
        else
            assert_true(off > 0.01);
    }
}

/* ---- by chance ------------------------------------------------------------------------------- */

/* 300 right engines with 400 rounds each: p-values are uniform, and capitals rarely large. */
TEST(a_right_engine_has_uniform_p_values_and_small_capitals, STATISTICS)
{
    enum { RUNS = 300 };
    static double p[SPEC_TESTS_MAX][RUNS];
    int tenfold[SPEC_TESTS_MAX] = {0}, n = 0;
    double mean[SPEC_TESTS_MAX] = {0.0};
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    rows r;
    spec_finding all[SPEC_TESTS_MAX];
    make_rows(&r);
    spec_rng_stream(rng, spec_test_seed(), 0);
    for (int run = 0; run < RUNS; run++) {
        trace t;
        begin(&t, V, rng);
        emit(&t, &r, RIGHT, 400);
        n = spec_trace_evidence_findings(all, t.evidence);
        for (int k = 0; k < n; k++) {
            p[k][run] = all[k].p;
            tenfold[k] += all[k].log_e > log(10.0);
            mean[k] += isnan(all[k].log_e) ? 0.0 : exp(all[k].log_e) / RUNS;
        }
        spec_trace_evidence_free(t.evidence);
    }
    for (int k = 0; k < n; k++) {
        double d, uniform;
        assert_true(tenfold[k] <= 60); /* by Markov's inequality at most one in ten; 60 of 300 has
                                        * probability 1e-7 */
        assert_true(mean[k] < 3.0);
        if (isnan(p[k][0])) continue;
        gsl_sort(p[k], 1, RUNS);
        spec_goodness_ks_uniform(&d, &uniform, p[k], RUNS);
        if (uniform <= SPEC_TEST_P) print_error("%s: d %g, p %g\n", all[k].name, d, uniform);
        assert_true(uniform > SPEC_TEST_P);
    }
}

/* Returns the log capital of one test on the trace of a wrong engine. */
static double capital(engine how, const char *test, int rounds)
{
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    rows r;
    trace t;
    spec_finding all[SPEC_TESTS_MAX];
    make_rows(&r);
    spec_rng_stream(rng, spec_test_seed(), 1);
    begin(&t, V, rng);
    emit(&t, &r, how, rounds);
    const double log_e = finding(all, spec_trace_evidence_findings(all, t.evidence), test)->log_e;
    spec_trace_evidence_free(t.evidence);
    return log_e;
}

TEST(each_mistake_is_found_by_the_test_that_is_made_for_it)
{
    const double enough = log(1e8);
    assert_true(capital(FROM_DRAFT, "draft-tilt", 3000) > enough);
    assert_true(capital(FROM_DRAFT, "draft-more", 3000) > enough);
    assert_true(capital(ALL_TARGET, "draft-tilt", 6000) > enough);
    assert_true(capital(ALL_TARGET, "target-more", 6000) > enough);
    assert_true(capital(ARGMAX, "target-mode", 1000) > enough);
    assert_true(capital(ARGMAX, "temperature", 1000) > enough);
    assert_true(capital(TOO_WARM, "temperature", 10000) > enough);
    assert_true(capital(TOO_WARM, "flat-tilt", 10000) > enough);
    assert_true(capital(TOO_WARM, "pit-rank", 20000) > enough);
    assert_true(capital(SHIFTED, "pit-id", 5000) > enough);
    assert_true(capital(SHARED_COIN, "coins", 3000) > enough);
    assert_true(capital(AFTER_REJECTION, "rounds", 8000) > enough);
    assert_true(capital(SHARED_COIN, "pit-id", 3000) < enough); /* each token alone has the right
                                                                 * law */
}

/* A trace with log-probabilities only, and none of the draft: the mode has probability `mode`, and
 * the nine others share the rest; each power of the row is a temperature. Returns the capitals of
 * two tests after n tokens. */
static void sure_trace(double *ret_sure, double *ret_flat, double mode, double power, int n,
                       uint64_t seed, uint64_t stream)
{
    enum { N = 10 };
    const double other = (1.0 - mode) / (N - 1),
                 sum = pow(mode, power) + (N - 1) * pow(other, power);
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_finding all[SPEC_TESTS_MAX];
    trace t;
    spec_rng_stream(rng, seed, stream);
    begin(&t, N, rng);
    for (int i = 0; i < n; i++) {
        const bool is_mode = isinf(power) || gsl_rng_uniform(rng) < pow(mode, power) / sum;
        const spec_trace_record record = {.text = &t.text[0],
                                          .token = is_mode ? 0 : 1,
                                          .drafted = -1,
                                          .accepted = -1,
                                          .target_log = log(is_mode ? mode : other),
                                          .draft_log = NAN,
                                          .coin = NAN};
        spec_trace_evidence_add(t.evidence, &record, 2);
    }
    const int n_findings = spec_trace_evidence_findings(all, t.evidence);
    *ret_sure = finding(all, n_findings, "sure-tilt")->log_e;
    *ret_flat = finding(all, n_findings, "flat-tilt")->log_e;
    spec_trace_evidence_free(t.evidence);
}

/* The measurement in docs/formulas/statistics.md#traces; with two tests, a capital of 4e6 is a
 * FAIL. The last engine is right. */
TEST(log_probabilities_alone_show_that_tokens_are_too_sure)
{
    enum { RUNS = 50 };
    static const struct {
        double power;
        int tokens, found;
    } cold[] = {{INFINITY, 80, RUNS}, {1.25, 1000, RUNS}, {1.1, 4000, RUNS}, {1.0, 4000, 0}};
    const double enough = log(4e6);
    const uint64_t seed = spec_test_seed();
    for (size_t i = 0; i < sizeof cold / sizeof *cold; i++) {
        int found = 0;
        for (uint64_t run = 0; run < RUNS; run++) {
            double sure, flat;
            sure_trace(&sure, &flat, 0.75, cold[i].power, cold[i].tokens, seed, run);
            found += sure >= enough;
            assert_true(flat < enough);
        }
        assert_int_equal(found, cold[i].found);
    }
}

/* ---- power ----------------------------------------------------------------------------------- */

/* Sixty traces have a difference that is detected with probability .9; detecting it in fewer than
 * 42 has probability 4e-6. */
TEST(the_detectable_tv_is_detected)
{
    enum { TRACES = 60, TOKENS = 3000 };
    static const double even[2] = {0.5, 0.5}, target[2] = {0.73, 0.27}, draft[2] = {0.41, 0.59};
    const double needed = log(2e6 * 16);
    double tv = NAN, share = NAN;
    int found[2] = {0, 0};
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, spec_test_seed(), 2);
    for (int run = -1; run < TRACES; run++) { /* the first trace is that of a right engine */
        spec_finding all[SPEC_TESTS_MAX];
        trace t[2];
        for (int k = 0; k < 2; k++) begin(&t[k], 2, rng);
        for (int i = 0; i < TOKENS; i++) {
            const double off[2] = {run < 0 ? 0.0 : tv,
                                   run < 0 ? 0.0 : share * (draft[1] - target[1])};
            const spec_trace_record a =
                record_of(&t[0].text[0], gsl_rng_uniform(rng) < even[1] + off[0], even, NULL, 2);
            spec_trace_record b = record_of(
                &t[1].text[0], gsl_rng_uniform(rng) < target[1] + off[1], target, draft, 2);
            spec_trace_evidence_add(t[0].evidence, &a, 2);
            b.n_cells = 0; /* log-probabilities alone */
            b.draft = NULL;
            spec_trace_evidence_add(t[1].evidence, &b, 2);
        }
        if (run < 0) {
            tv = spec_trace_evidence_detectable(t[0].evidence, needed, 0.9);
            share = spec_trace_evidence_share(t[1].evidence, needed, 0.9);
            assert_true(tv > 0.03 && tv < 0.12);
            assert_true(share > 0.05 && share < 0.4);
            assert_nan(spec_trace_evidence_detectable(t[1].evidence, needed, 0.9));
        } else {
            int n = spec_trace_evidence_findings(all, t[0].evidence);
            found[0] += finding(all, n, "pit-id")->log_e >= needed;
            n = spec_trace_evidence_findings(all, t[1].evidence);
            found[1] += finding(all, n, "draft-tilt")->log_e >= needed;
        }
        for (int k = 0; k < 2; k++) spec_trace_evidence_free(t[k].evidence);
    }
    printf("tv %.3g found %d, share %.3g found %d of %d\n", tv, found[0], share, found[1], TRACES);
    assert_true(found[0] >= 42 && found[1] >= 42);
}

/* ---- hard rules ------------------------------------------------------------------------------ */

static spec_hard hard_of(spec_trace_record record)
{
    trace t;
    uint64_t line;
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    begin(&t, 3, rng);
    record.text = &t.text[0];
    spec_trace_evidence_add(t.evidence, &record, 17);
    const spec_hard hard = spec_trace_evidence_hard(t.evidence, &line);
    assert_int_equal(line, hard != SPEC_HARD_NONE ? 17 : 0);
    spec_trace_evidence_free(t.evidence);
    return hard;
}

TEST(each_hard_rule_is_reported)
{
    static const double target[3] = {0.4, 0.6, 0.0};
    const spec_trace_record good = record_of(NULL, 1, target, NULL, 3);
    spec_trace_record r = good;
    assert_int_equal(hard_of(r), SPEC_HARD_NONE);
    r.cell = r.token = 2;
    r.target_log = NAN;
    assert_int_equal(hard_of(r), SPEC_HARD_IMPOSSIBLE);
    r = good;
    r.n_cells = 0;
    r.target_log = -9999.0;
    assert_int_equal(hard_of(r), SPEC_HARD_IMPOSSIBLE);
    r = good;
    r.token = r.cell = -1;
    assert_int_equal(hard_of(r), SPEC_HARD_RANGE);
    r = good;
    r.accepted = 1;
    r.drafted = 0;
    assert_int_equal(hard_of(r), SPEC_HARD_PATH);
    r.drafted = 1;
    assert_int_equal(hard_of(r), SPEC_HARD_NONE);
}
