/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks chains drawn and verified on the GPU, or the simulated one. The reference is the host's
 * chance and token rule on the rows of the same logits, with the same uniform numbers. Tokens,
 * n_accepted and the number of uniform numbers agree. For rows of up to SAMPLING_WHOLE tokens there
 * is no exception, whatever the uniform numbers. */
#include "base/noise.h"
#include "models/gpu/sampling_gpu.h"
#include "models/transformer/kernels/vector.h"
#include "sim/verify/verify.h"
#include "tests/support/card_group.h"
#include "tests/support/sampled_rows.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { MOST = 16, MOST_VOCAB = 2600 };
#define NEXT_TO_ONE (1.0 - 0x1p-53)

/* ---- uniforms that are given ----------------------------------------------------------------- */

typedef struct {
    const double *uniform;
    int n, used;
} given;

static void given_set(void *state, unsigned long seed) { (void)state, (void)seed; }
static unsigned long given_get(void *state)
{
    (void)state;
    return 0;
}
static double given_double(void *state)
{
    given *g = state;
    assert_true(g->used < g->n);
    return g->uniform[g->used++];
}
static const gsl_rng_type given_type = {"given",   ~0ul,      0,           sizeof(given),
                                        given_set, given_get, given_double};

static int host_pick(const double *row, int vocab, double uniform)
{
    given g = {&uniform, 1, 0};
    gsl_rng rng = {&given_type, &g};
    spec_chance chance = spec_chance_sampled(&rng);
    return spec_chance_pick(&chance, row, vocab);
}

/* ---- a chain on both ------------------------------------------------------------------------- */

typedef struct {
    int n_accepted, token, used;
    double chance[MOST];
} outcome;

typedef struct {
    int vocab, n;
    spec_sampling_gpu *sampling;
    spec_transform target, draft;
    float *logits, *draft_logits; /* (MOST + 1, V), (MOST, V) */
    float *logits_there, *draft_there;
    void *law[MOST];
    double *row, *draft_row; /* as the host computes them */
    double *weight;
    int token[MOST];
} chain;

static void chain_init(chain *c, int vocab)
{
    const size_t n = (size_t)vocab * (MOST + 1);
    *c = (chain){.vocab = vocab};
    assert_works(spec_sampling_gpu_init(&c->sampling, stream, vocab, NULL, true, &error));
    c->logits = malloc(n * sizeof *c->logits);
    c->draft_logits = malloc(n * sizeof *c->draft_logits);
    c->row = malloc(n * sizeof *c->row);
    c->draft_row = malloc(n * sizeof *c->draft_row);
    c->weight = malloc((size_t)vocab * sizeof *c->weight);
    c->logits_there = allocated(n * sizeof *c->logits);
    c->draft_there = allocated(n * sizeof *c->logits);
    for (int i = 0; i < MOST; i++) c->law[i] = allocated(spec_sampling_gpu_law_bytes(vocab));
}

static void chain_free(chain *c)
{
    spec_sampling_gpu_free(c->sampling);
    spec_card_free(card, c->logits_there);
    spec_card_free(card, c->draft_there);
    for (int i = 0; i < MOST; i++) spec_card_free(card, c->law[i]);
    free(c->logits);
    free(c->draft_logits);
    free(c->row);
    free(c->draft_row);
    free(c->weight);
}

/* Uploads the logits of n + 1 target rows and n draft rows, and computes the host's rows of
 * them. */
static void chain_place(chain *c)
{
    const size_t vocab = (size_t)c->vocab;
    spec_card_put(card, c->logits_there, c->logits, vocab * ((size_t)c->n + 1) * sizeof *c->logits);
    spec_card_put(card, c->draft_there, c->draft_logits, vocab * (size_t)c->n * sizeof *c->logits);
    for (size_t i = 0; i <= (size_t)c->n; i++)
        sampled_row(c->row + i * vocab, c->logits + i * vocab, c->vocab, &c->target);
    for (size_t i = 0; i < (size_t)c->n; i++)
        sampled_row(c->draft_row + i * vocab, c->draft_logits + i * vocab, c->vocab, &c->draft);
}

/* Draws token i of the chain on the GPU, which keeps its law. */
static int device_draw(chain *c, int i, double uniform)
{
    const float *logits = c->draft_there + (size_t)i * (size_t)c->vocab;
    return sampled_token(c->sampling, c->law[i], logits, &c->draft, uniform);
}

static outcome device_verify(chain *c, const double *uniform)
{
    outcome out = {.token = -1};
    spec_chain_outcome verdict = {.chance = out.chance};
    const spec_chain_request request = {
        .token = c->token, .n = c->n, .law = c->law, .transform = &c->target, .uniform = uniform};
    assert_works(
        spec_sampling_gpu_verify(c->sampling, &verdict, c->logits_there, &request, &error));
    out.n_accepted = verdict.n_accepted;
    out.token = verdict.token;
    out.used = verdict.used;
    return out;
}

static outcome host_verify(chain *c, const double *uniform)
{
    outcome out = {0};
    int token[MOST + 1], node[MOST];
    const double *target[MOST + 1];
    OWNED(spec_draft) draft;
    assert_works(spec_draft_init(&draft, MOST, c->vocab, &error));
    spec_draft_reset(&draft);
    for (int i = 0; i <= c->n; i++) target[i] = c->row + (size_t)i * (size_t)c->vocab;
    for (int i = 0; i < c->n; i++)
        spec_draft_append(&draft, c->token[i], i - 1, c->draft_row + (size_t)i * (size_t)c->vocab,
                          true);
    given g = {uniform, c->n + 2, 0};
    gsl_rng rng = {&given_type, &g};
    spec_chance chance = spec_chance_sampled(&rng);
    spec_round round = {.token = token, .node = node};
    spec_verify_token.verify(&round, &spec_verify_token, &draft, target, c->weight, &chance);
    out.n_accepted = round.n_accepted;
    out.token = token[round.n_accepted];
    out.used = g.used;
    for (int i = 0; i < round.n_tested; i++) {
        const size_t at = (size_t)i * (size_t)c->vocab + (size_t)c->token[i];
        out.chance[i] = c->row[at] >= c->draft_row[at] ? 1.0 : c->row[at] / c->draft_row[at];
    }
    return out;
}

static void describe(const char *which, const spec_transform *t)
{
    printf("  %s: temperature %g, top_k %d, top_p %.17g, min_p %g, %s\n", which, t->temperature,
           t->top_k, t->top_p, t->min_p, t->chained ? "chained" : "joint");
}

static void same_outcome(chain *c, const double *uniform)
{
    const outcome here = host_verify(c, uniform), there = device_verify(c, uniform);
    bool same =
        here.n_accepted == there.n_accepted && here.token == there.token && here.used == there.used;
    for (int i = 0; i < c->n; i++) same = same && here.chance[i] == there.chance[i];
    if (same) return;
    printf("V = %d, a chain of %d\n", c->vocab, c->n);
    describe("target", &c->target);
    describe("draft", &c->draft);
    for (int i = 0; i < c->n; i++)
        printf("  token %d: chance %.17g, on the card %.17g\n", c->token[i], here.chance[i],
               there.chance[i]);
    for (int i = 0; i < c->n + 2; i++) printf("  uniform %.17g\n", uniform[i]);
    fail_msg("n_accepted %d, token %d, uniforms %d; on the card %d, %d, %d", here.n_accepted,
             here.token, here.used, there.n_accepted, there.token, there.used);
}

/* ---- chains at random ------------------------------------------------------------------------ */

static double some_uniform(uint64_t key, uint64_t i)
{
    const uint64_t w = spec_noise_word(key, i);
    if (w % 16 == 0) return 0.0;
    return w % 16 == 1 ? NEXT_TO_ONE : (double)(w >> 11) * 0x1p-53;
}

/* The draft's logits: the target's own, nearly the same, or others. */
static void fill_chain(chain *c, uint64_t key)
{
    const uint64_t w = spec_noise_mix(key + 77);
    const size_t vocab = (size_t)c->vocab;
    c->n = (int)(w % (MOST + 1));
    c->target = sampled_transform(c->vocab, key);
    c->draft = w >> 8 & 1 ? c->target : sampled_transform(c->vocab, key + 1000003);
    for (size_t i = 0; i <= (size_t)c->n; i++) {
        float *target = c->logits + i * vocab, *draft = c->draft_logits + i * vocab;
        const uint64_t own = spec_noise_word(key, i), row = spec_noise_mix(own);
        const sampled_family family = (sampled_family)((w >> 16) % SAMPLED_FAMILIES);
        sampled_logits(target, c->vocab, family, row);
        if (i == (size_t)c->n) break;
        const uint64_t kind = own % 4;
        sampled_logits(draft, c->vocab,
                       kind == 0 ? (sampled_family)(own / 4 % SAMPLED_FAMILIES) : family,
                       kind < 2 ? row + 1 : row);
        if (kind == 3)
            for (size_t j = own % 3; j < vocab; j += 3) draft[j] += 0.25f;
    }
    chain_place(c);
}

static void run_chains(const int *vocab, int n_vocab, uint64_t rounds, uint64_t salt)
{
    uint64_t accepted = 0, corrected = 0, drawn = 0, kept = 0;
    for (int v = 0; v < n_vocab; v++) {
        OWNED(chain) c;
        chain_init(&c, vocab[v]);
        for (uint64_t round = 0; round < rounds; round++) {
            const uint64_t key = spec_noise_mix(salt + round * 64 + (uint64_t)v);
            double uniform[MOST + 2];
            fill_chain(&c, key);
            for (int i = 0; i < c.n; i++) {
                const double u = some_uniform(key + 1, (uint64_t)i);
                c.token[i] = device_draw(&c, i, u);
                const int here = host_pick(c.draft_row + (size_t)i * (size_t)c.vocab, c.vocab, u);
                if (c.token[i] != here) {
                    describe("draft", &c.draft);
                    fail_msg("V = %d, uniform %.17g: token %d, not %d", c.vocab, u, c.token[i],
                             here);
                }
                drawn++;
            }
            for (int i = 0; i < c.n + 2; i++) uniform[i] = some_uniform(key + 2, (uint64_t)i);
            same_outcome(&c, uniform);
            const outcome out = host_verify(&c, uniform);
            accepted += (uint64_t)out.n_accepted;
            corrected += out.n_accepted < c.n;
            kept += out.n_accepted == c.n;
        }
    }
    printf("%llu tokens drawn, %llu accepted; %llu corrections, %llu bonus tokens\n",
           (unsigned long long)drawn, (unsigned long long)accepted, (unsigned long long)corrected,
           (unsigned long long)kept);
}

TEST(chains_of_small_vocabularies_come_out_as_on_the_host, SLOW | STATISTICS)
{
    static const int vocab[] = {1, 2, 3, 4, 5, 7, 12, 33, 127, 130};
    run_chains(vocab, 10, spec_test_samples(30), 1);
}

/* Corrections among more than 512 tokens take two uniform numbers; draws among more than 1024 are
 * made in parts. */
TEST(chains_of_larger_vocabularies_come_out_as_on_the_host, STATISTICS)
{
    static const int vocab[] = {511, 512, 513, 700, 1024, 1025, 1600, MOST_VOCAB};
    run_chains(vocab, 8, spec_test_samples(4), 2);
}

/* ---- borders --------------------------------------------------------------------------------- */

enum { BORDERS = 64 };

static int add_border(double *border, int n, double at)
{
    const double near[] = {nextafter(at, 0.0), at, nextafter(at, 1.0)};
    for (int i = 0; i < 3; i++)
        if (near[i] >= 0.0 && near[i] < 1.0 && n < BORDERS) border[n++] = near[i];
    return n;
}

/* Finds the thresholds of a cumulated weight: n values, or fewer. */
static int borders_of(double *border, const double *weight, int vocab)
{
    double total = 0.0, sum = 0.0;
    int n = add_border(border, 0, 0.0);
    n = add_border(border, n, NEXT_TO_ONE);
    for (int i = 0; i < vocab; i++) total += weight[i];
    for (int i = 0; i < vocab && total > 0.0; i++)
        n = add_border(border, n, (sum += weight[i]) / total);
    return n;
}

TEST(uniforms_at_each_border_fall_to_the_same_side, SLOW | STATISTICS)
{
    uint64_t cases = 0;
    for (int vocab = 1; vocab <= 6; vocab++) {
        chain c;
        chain_init(&c, vocab);
        for (uint64_t round = 0; round < spec_test_samples(2); round++) {
            double first[BORDERS], last[BORDERS], left[8];
            const uint64_t key = spec_noise_mix(round * 8 + (uint64_t)vocab + 5000);
            fill_chain(&c, key);
            c.n = 1;
            chain_place(&c);
            const int draws = borders_of(first, c.draft_row, vocab);
            for (int i = 0; i < draws; i++) {
                c.token[0] = device_draw(&c, 0, first[i]);
                assert_int_equal(c.token[0], host_pick(c.draft_row, vocab, first[i]));
                cases++;
            }
            for (int token = 0; token < vocab; token++) {
                if (!(c.draft_row[token] > 0.0)) continue;
                c.token[0] = token;
                int accepts = add_border(first, 0, fmin(c.row[token] / c.draft_row[token], 1.0));
                accepts = add_border(first, accepts, 0.0);
                for (int i = 0; i < vocab; i++) left[i] = fmax(c.row[i] - c.draft_row[i], 0.0);
                int draws_last = borders_of(last, left, vocab);
                draws_last += borders_of(last + draws_last, c.row + vocab, vocab) *
                              (draws_last <= BORDERS / 2);
                for (int i = 0; i < accepts; i++)
                    for (int j = 0; j < draws_last; j++) {
                        const double uniform[] = {first[i], last[j], last[(j + 1) % draws_last]};
                        same_outcome(&c, uniform);
                        cases++;
                    }
            }
        }
        chain_free(&c);
    }
    printf("%llu cases\n", (unsigned long long)cases);
}

/* Filters keep three tokens of equal weight in either row, and rounding makes each of the draft's
 * one unit larger. After a rejection the residual is 0, and the host draws from the target with one
 * uniform number. */
TEST(where_rounding_left_nothing_the_target_is_drawn_from)
{
    static const int vocab[] = {7, 600};
    for (int v = 0; v < 2; v++) {
        int found = 0;
        chain c;
        chain_init(&c, vocab[v]);
        c.n = 1;
        c.target = c.draft = SPEC_TRANSFORM_NONE;
        c.target.top_k = c.draft.top_k = 3;
        for (uint64_t key = 0; key < 60; key++) {
            sampled_logits(c.logits, 2 * c.vocab, SAMPLED_NORMAL, key);
            sampled_logits(c.draft_logits, c.vocab, SAMPLED_NORMAL, key + 1000);
            for (int i = 1; i <= 3; i++) c.logits[i] = c.draft_logits[i] = 9.0f;
            chain_place(&c);
            if (c.row[2] >= c.draft_row[2]) continue;
            for (int token = 1; token <= 3; token++) {
                c.token[0] = token;
                device_draw(&c, 0, 0.0);
                const double uniform[] = {NEXT_TO_ONE, 0.3 * token, 0.5};
                assert_int_equal(host_verify(&c, uniform).n_accepted, 0);
                assert_int_equal(host_verify(&c, uniform).used, 2);
                same_outcome(&c, uniform);
            }
            found++;
        }
        printf("V = %d: %d pairs of rows\n", c.vocab, found);
        assert_true(found > 0);
        chain_free(&c);
    }
}

/* ---- the law of the whole rule --------------------------------------------------------------- */

/* Returns the outcome of one uniform number, after the given ones. */
typedef enum { DRAWN, ACCEPTED, INSTEAD } decision;

typedef struct {
    chain *chain;
    decision decision;
    bool certain; /* for INSTEAD: the rejection took no uniform number */
} question;

static int answer_to(const question *q, double u)
{
    if (q->decision == DRAWN) return device_draw(q->chain, 0, u);
    const double uniform[] = {q->decision == ACCEPTED || q->certain ? u : NEXT_TO_ONE, u, 0.0};
    const outcome out = device_verify(q->chain, uniform);
    if (q->decision == ACCEPTED) return out.n_accepted;
    assert_int_equal(out.n_accepted, 0);
    return out.token;
}

/* Adds to share[a] the measure of the uniform numbers in [low,high) with answer a. If the ends of
 * an interval agree, all of it does, which holds for picks in the order of the ids. */
static void measure(double *share, const question *q, double low, int at_low, double high,
                    int at_high)
{
    if (at_low == at_high || high - low < 1e-9) {
        share[at_low] += (high - low) / 2.0;
        share[at_high] += (high - low) / 2.0;
        return;
    }
    const double middle = low + (high - low) / 2.0;
    const int at_middle = answer_to(q, middle);
    measure(share, q, low, at_low, middle, at_middle);
    measure(share, q, middle, at_middle, high, at_high);
}

static void measure_all(double *share, const question *q)
{
    enum { PARTS = 24 };
    int before = answer_to(q, 0.0);
    for (int i = 0; i < PARTS; i++) {
        const int after = answer_to(q, i < PARTS - 1 ? (i + 1.0) / PARTS : NEXT_TO_ONE);
        measure(share, q, (double)i / PARTS, before, (i + 1.0) / PARTS, after);
        before = after;
    }
}

static void law_of_the_rule(double *law, chain *c)
{
    double drawn[8] = {0.0};
    measure_all(drawn, &(question){c, DRAWN, false});
    for (int token = 0; token < c->vocab; token++) {
        if (!(drawn[token] > 0.0)) continue;
        c->token[0] = token;
        device_draw(c, 0, 0.0); /* keeps the law, whatever is drawn */
        double accepted[2] = {0.0}, instead[8] = {0.0};
        measure_all(accepted, &(question){c, ACCEPTED, false});
        if (accepted[0] > 0.0) measure_all(instead, &(question){c, INSTEAD, accepted[1] == 0.0});
        law[token] += drawn[token] * accepted[1];
        for (int i = 0; i < c->vocab; i++) law[i] += drawn[token] * accepted[0] * instead[i];
    }
}

TEST(the_rule_has_the_targets_law, SLOW | STATISTICS)
{
    for (int which = 0; which < (int)spec_test_samples(9); which++) {
        const int vocab = 3 + which % 3;
        double law[8] = {0.0}, off = 0.0;
        OWNED(chain) c;
        chain_init(&c, vocab);
        sampled_logits(c.logits, vocab, SAMPLED_NORMAL, (uint64_t)which);
        sampled_logits(c.logits + vocab, vocab, SAMPLED_NORMAL, 99);
        sampled_logits(c.draft_logits, vocab, SAMPLED_NORMAL, (uint64_t)which + 40);
        c.n = 1;
        c.target = c.draft = SPEC_TRANSFORM_NONE;
        c.target.temperature = 0.9;
        if (which % 2 == 1) c.target.top_k = 2;
        if (which % 4 == 2) c.draft.top_p = 0.8;
        chain_place(&c);
        law_of_the_rule(law, &c);
        for (int i = 0; i < vocab; i++) off += fabs(law[i] - c.row[i]) / 2.0;
        printf("V = %d: total variation %.2g\n", vocab, off);
        assert_true(off < 1e-7);
    }
}

TEST(blocks_of_sums_are_the_hosts)
{
    assert_int_equal(SAMPLING_PIECE, SPEC_RESIDUAL_BLOCK);
    assert_int_equal(SAMPLING_PIECE, SPEC_VECTOR_EXPS);
}

SUITE(SIMULATOR, .setup = open_card, .teardown = close_card);
