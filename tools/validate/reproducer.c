/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/reproducer.h"

#include "sim/chance/rng.h"
#include "speclab/no_memory.h"
#include "tools/validate/evidence/draft_paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const spec_came_names[] = {"accepted_draft", "correction", "bonus"};

/* Limits for asking again: rounds, texts, tokens shown of a text, and probabilities of rows. */
enum { AGAIN_ROUNDS = 1 << 16, AGAIN_TEXTS = 64, END_OF_TEXT = 8 };
#define AGAIN_CELLS 1e8

/* ---- the state and its tokens ---------------------------------------------------------------- */

static double excess_tv(const spec_fixture *f, const spec_evidence *evidence, int state)
{
    const double n = (double)spec_evidence_visits(evidence, state);
    double tv = 0.0, chance = 0.0;
    if (n == 0.0) return 0.0;
    for (int i = 0; i < f->vocab; i++) {
        const double law = f->target_law[(size_t)state * (size_t)f->vocab + (size_t)i];
        tv += 0.5 * fabs((double)spec_evidence_count(evidence, state, i) / n - law);
        chance += 0.5 * sqrt(2.0 * law * (1.0 - law) / (M_PI * n));
    }
    return tv > 3.0 * chance ? tv - chance : 0.0;
}

int spec_reproducer_state(const spec_fixture *fixture, const spec_evidence *evidence,
                          double *ret_tv)
{
    int worst = 0;
    *ret_tv = 0.0;
    for (int s = 0; s < fixture->n_states; s++) {
        const double tv = excess_tv(fixture, evidence, s);
        if (tv <= *ret_tv) continue;
        *ret_tv = tv;
        worst = s;
    }
    return worst;
}

static double surprise(double seen, double expected)
{
    return seen > 0.0 ? seen * log(seen / expected) : 0.0;
}

/* Returns how far a count is from its expectation, as the z-score of a normal law with the same
 * tail probability, so that a rare token that comes a few times is far off. */
static double deviation(const spec_fixture *f, const spec_evidence *evidence, int state, int token)
{
    const double law = f->target_law[(size_t)state * (size_t)f->vocab + (size_t)token];
    const double n = (double)spec_evidence_visits(evidence, state), expected = n * law;
    const double count = (double)spec_evidence_count(evidence, state, token);
    const double half = surprise(count, expected) + surprise(n - count, n - expected);
    return copysign(sqrt(2.0 * fmax(half, 0.0)), count - expected);
}

spec_reproducer_token spec_reproducer_furthest(const spec_fixture *fixture,
                                               const spec_evidence *evidence)
{
    spec_reproducer_token furthest = {0, 0, 0.0};
    for (int s = 0; s < fixture->n_states; s++)
        for (int x = 0; x < fixture->vocab; x++) {
            const double z = deviation(fixture, evidence, s, x);
            if (fabs(z) > fabs(furthest.deviation)) furthest = (spec_reproducer_token){s, x, z};
        }
    return furthest;
}

static double deviation_of(const spec_reproducer_case *found, int state, int token)
{
    return deviation(found->fixture, found->evidence, state, token);
}

static bool is_shown(const spec_reproducer *c, int token)
{
    for (int k = 0; k < c->n_shown; k++)
        if (c->token[k] == token) return true;
    return false;
}

/* A forbidden token is not counted in the evidence, so it is added here. */
static void show_token(spec_reproducer *c, const spec_reproducer_case *found, int opt_offender,
                       int token)
{
    const uint64_t count =
        spec_evidence_count(found->evidence, c->state, token) + (token == opt_offender);

    const size_t at = (size_t)c->state * (size_t)c->vocab + (size_t)token;
    const int k = c->n_shown++;
    c->token[k] = token;
    c->target[k] = c->expected[k] = found->fixture->target_law[at];
    c->draft[k] = found->fixture->draft_law[at];
    c->seen[k] = c->n > 0 ? (double)count / (double)c->n : 0.0;
}

static void show_tokens(spec_reproducer *c, const spec_reproducer_case *found, int opt_offender)
{
    const int most = c->vocab < SPEC_REPRODUCER_TOKENS ? c->vocab : SPEC_REPRODUCER_TOKENS;
    if (c->vocab <= SPEC_REPRODUCER_TOKENS) {
        for (int x = 0; x < c->vocab; x++) show_token(c, found, opt_offender, x);
        return;
    }
    if (opt_offender >= 0) show_token(c, found, opt_offender, opt_offender);
    while (c->n_shown < most) {
        double furthest = -1.0;
        int token = -1;
        for (int x = 0; x < c->vocab; x++) {
            const double z = fabs(deviation_of(found, c->state, x));
            if (z <= furthest || is_shown(c, x)) continue;
            furthest = z;
            token = x;
        }
        if (furthest == 0.0 && c->n_shown > 0) break; /* the rest: not expected, not seen */
        show_token(c, found, opt_offender, token);
    }
}

/* Returns the token with the largest excess. */
static int most_too_many(const spec_reproducer *c, const spec_reproducer_case *found)
{
    int most = 0;
    for (int x = 1; x < c->vocab; x++)
        if (deviation_of(found, c->state, x) > deviation_of(found, c->state, most)) most = x;
    return most;
}

/* Returns the state after which a round emitted a forbidden token, and that token; the root and -1
 * if the broken rule is not about a token. */
static int find_offence(const spec_reproducer_case *found, const spec_exhibit *hard, int *ret_token)
{
    const spec_fixture *f = found->fixture;
    int state = hard->state;
    *ret_token = -1;
    if (hard->hard != SPEC_HARD_IMPOSSIBLE) return state;
    for (int k = 0; k < hard->n_emitted; k++) {
        *ret_token = hard->emitted[k];
        if (f->target_law[(size_t)state * (size_t)f->vocab + (size_t)hard->emitted[k]] == 0.0)
            break;
        state = spec_fixture_next(f, state, hard->emitted[k]);
    }
    return state;
}

/* ---- asking again ---------------------------------------------------------------------------- */

typedef struct {
    spec_reproducer *c;
    const spec_fixture *fixture;
    int wanted;        /* token of the round to keep; -1: keep none */
    int kept;          /* how telling the kept round is */
    uint64_t *drafted; /* (V) */
    uint64_t *came;    /* (SPEC_CAME_KINDS, V) */
} again;

/* How telling a round is: any; with the token in question; with a correction that the token rule
 * never makes. */
enum { NONE, ANY, WANTED, ODD };

static int how_telling(const again *a, spec_came how, int token)
{
    const spec_fixture *f = a->fixture;
    const size_t at = (size_t)a->c->state * (size_t)f->vocab + (size_t)token;
    const bool odd =
        f->chain && f->drawn == SPEC_DRAWN_IID && f->target_law[at] <= f->draft_law[at];
    return how == SPEC_CAME_CORRECTION && odd ? ODD : token == a->wanted ? WANTED : ANY;
}

/* Counts the tokens that the sampler emitted after the state, by source. */
static void count_round(again *a, const spec_round_batch *batch, int i, uint64_t index)
{
    const spec_fixture *f = a->fixture;
    const size_t nodes = (size_t)batch->nodes, V = (size_t)f->vocab;
    const int32_t *token = batch->token + (size_t)i * nodes,
                  *emitted = batch->emitted + (size_t)i * (nodes + 1);
    const int n_nodes = batch->n_nodes[i], n = batch->n_emitted[i],
              n_accepted = batch->n_accepted[i];
    int state = batch->state[(size_t)i * (nodes + 1)];
    spec_places places = SPEC_PLACES_ROOT;
    a->c->again++;
    if (n < 1 || n > n_nodes + 1 || n > f->levels) return;
    for (int k = 0; k < n; k++) {
        if (emitted[k] < 0 || emitted[k] >= f->vocab) return;
        if (state == a->c->state) {
            const spec_places children = spec_draft_paths_children(f, token, n_nodes, places);
            const bool any = children != 0;
            const spec_came how = k < n_accepted ? SPEC_CAME_DRAFT
                                  : any          ? SPEC_CAME_CORRECTION
                                                 : SPEC_CAME_BONUS;
            a->c->n_drafted += any;
            a->c->n_bonus += !any;
            for (int j = 0; j < n_nodes; j++)
                if ((children >> (j + 1) & 1) && token[j] < f->vocab) a->drafted[token[j]]++;
            a->came[(size_t)how * V + (size_t)emitted[k]]++;
            if (a->wanted >= 0 && how_telling(a, how, emitted[k]) > a->kept) {
                a->kept = how_telling(a, how, emitted[k]);
                spec_evidence_exhibit(&a->c->round, batch, i, index);
            }
        }
        if (k < n_accepted) places = spec_draft_paths_next(f, token, n_nodes, places, emitted[k]);
        if (places == 0) return;
        state = spec_fixture_next(f, state, emitted[k]);
    }
}

static int ask_rounds(again *a, const spec_reproducer_case *found, spec_subject *subject,
                      gsl_rng *rng)
{
    const uint64_t rounds = (uint64_t)found->rounds;
    const double cells =
        (double)found->rounds * found->fixture->vocab * (found->fixture->n_nodes + 1);
    uint64_t most = AGAIN_ROUNDS / rounds;
    if ((double)most * cells > AGAIN_CELLS) most = (uint64_t)(AGAIN_CELLS / cells);
    most += most == 0;
    int status = GSL_SUCCESS;
    for (uint64_t b = found->batches > most ? found->batches - most : 0; b < found->batches; b++) {
        spec_rng_stream(rng, found->seed, b);
        spec_evidence_ask(found->evidence, &subject->batch, found->rounds, b * rounds, found->seed,
                          rng);
        SPEC_TRY(spec_subject_run(subject, found->rounds, NULL));
        for (int i = 0; i < found->rounds; i++)
            count_round(a, &subject->batch, i, b * rounds + (uint64_t)i);
    }
done:
    return status;
}

/* Keeps the end of a text, up to the token in question. */
static bool keep_text(again *a, const int32_t *text, int n, int start, uint64_t seed)
{
    int state = start;
    for (int t = 0; t < n; t++) {
        if (state == a->c->state && text[t] == a->wanted) {
            const int from = t >= END_OF_TEXT ? t - END_OF_TEXT + 1 : 0;
            spec_exhibit *round = &a->c->round;
            round->state = start;
            round->seed = seed;
            round->index = (uint64_t)t;
            round->n_emitted = t - from + 1;
            memcpy(round->emitted, text + from, (size_t)round->n_emitted * sizeof *text);
            return true;
        }
        if (text[t] < 0 || text[t] >= a->fixture->vocab) return false;
        state = spec_fixture_next(a->fixture, state, text[t]);
    }
    return false;
}

/* Asks for texts exactly as in the run: a text's random numbers depend on the texts before it. */
static int ask_texts(again *a, const spec_reproducer_case *found, spec_subject *subject,
                     gsl_rng *rng)
{
    const spec_fixture *f = found->fixture;
    const uint64_t most = AGAIN_TEXTS;
    int32_t *text = malloc(SPEC_FIXTURE_TEXT_MAX * sizeof *text);
    spec_evidence *scratch = NULL;
    int status = GSL_SUCCESS;
    if (text == NULL) return GSL_ENOMEM;
    SPEC_TRY(spec_evidence_init(&scratch, f, found->scope, NULL));
    for (uint64_t b = found->batches > most ? found->batches - most : 0;
         b < found->batches && a->kept == NONE; b++) {
        spec_rng_stream(rng, found->seed, b);
        for (int k = 0; k < found->texts && a->kept == NONE; k++) {
            spec_text_asked asked;
            SPEC_TRY(spec_subject_text(&asked, text, subject, k, rng, NULL));
            spec_evidence_add_text(scratch, asked.start, text, asked.n, rng);
            a->kept = keep_text(a, text, asked.n, asked.start, asked.seed) ? WANTED : NONE;
        }
    }
done:
    spec_evidence_free(scratch);
    free(text);
    return status;
}

/* Computes the counts that the token rule would give for as many draft and bonus tokens. Fixed
 * drafts count as one-hot. */
static void expect_split(spec_reproducer *c, const spec_fixture *f)
{
    const double drafted = (double)c->n_drafted, bonus = (double)c->n_bonus;
    for (int k = 0; k < c->n_shown; k++) {
        const double target = c->target[k], draft = c->draft[k];
        const bool fixed = f->drawn == SPEC_DRAWN_FIXED;
        c->draft_expected[k] = f->chain ? drafted * draft : NAN;
        c->token_rule[SPEC_CAME_DRAFT][k] =
            drafted * (fixed ? draft * target : fmin(target, draft));
        c->token_rule[SPEC_CAME_CORRECTION][k] =
            drafted * (fixed ? target * (1.0 - draft) : fmax(target - draft, 0.0));
        c->token_rule[SPEC_CAME_BONUS][k] = bonus * target;
        for (int j = 0; j < SPEC_CAME_KINDS && !f->chain; j++) c->token_rule[j][k] = NAN;
    }
}

static int keep_rows(spec_reproducer *c, const spec_fixture *f)
{
    const size_t V = (size_t)f->vocab, places = (size_t)c->round.n_nodes + 1;
    if (c->round.n_emitted == 0 || places * V > SPEC_REPRODUCER_ROWS) return GSL_SUCCESS;
    c->target_row = malloc(places * V * sizeof *c->target_row);
    c->draft_row = malloc(places * V * sizeof *c->draft_row);
    if (c->target_row == NULL || c->draft_row == NULL) return GSL_ENOMEM;
    for (size_t r = 0; r < places; r++) {
        memcpy(c->target_row + r * V, f->target + (size_t)c->round.node_state[r] * V,
               V * sizeof *f->target);
        memcpy(c->draft_row + r * V, f->draft + (size_t)c->round.node_state[r] * V,
               V * sizeof *f->draft);
    }
    return GSL_SUCCESS;
}

/* Names the test with the most capital. */
static void name_test(spec_reproducer *c, const spec_reproducer_case *found)
{
    double best = -INFINITY;
    for (int k = 0; k < found->n_findings; k++) {
        if (found->finding[k].log_e <= best) continue;
        best = found->finding[k].log_e;
        c->finding = found->finding[k];
    }
    c->test = c->finding.name;
}

int spec_reproducer_find(spec_reproducer *ret, const spec_reproducer_case *found,
                         spec_subject *subject, spec_error *error)
{
    const spec_fixture *f = found->fixture;
    const spec_exhibit *hard = spec_evidence_hard(found->evidence);
    const size_t V = (size_t)f->vocab;
    const bool texts = found->scope == SPEC_SCOPE_STREAM;
    gsl_rng *rng = spec_rng_alloc();
    again a = {.c = ret, .fixture = f, .drafted = calloc(V, sizeof *a.drafted),
               .came = calloc(V * SPEC_CAME_KINDS, sizeof *a.came)};
    int status = GSL_SUCCESS, offender = -1;
    *ret = (spec_reproducer){.kind = f->kind,
                             .scope = found->scope,
                             .vocab = f->vocab,
                             .drawn = f->drawn,
                             .levels = f->levels,
                             .batch = f->batch,
                             .sampling = f->sampling[0],
                             .test = "hard",
                             .finding.name = "hard"};
    memcpy(ret->parent, f->parent, sizeof ret->parent);
    if (rng == NULL || a.drafted == NULL || a.came == NULL) SPEC_TRY(spec_no_memory(error));
    ret->state = spec_reproducer_state(f, found->evidence, &ret->tv);
    if (ret->tv == 0.0) ret->state = spec_reproducer_furthest(f, found->evidence).state;
    if (hard != NULL) {
        ret->round = *hard;
        ret->state = find_offence(found, hard, &offender);
    } else {
        name_test(ret, found);
    }
    ret->n = spec_evidence_visits(found->evidence, ret->state) + (offender >= 0);
    show_tokens(ret, found, offender);
    a.wanted = hard == NULL ? most_too_many(ret, found) : texts ? hard->emitted[0] : -1;
    /* The verdict is final: if the sampler fails now, that does not change it. */
    status = spec_subject_begin(subject, f, found->scope, found->rounds, NULL);
    if (status == GSL_SUCCESS) status = (texts ? ask_texts : ask_rounds)(&a, found, subject, rng);
    if (status == GSL_ENOMEM) SPEC_TRY(spec_no_memory(error));
    status = GSL_SUCCESS;
    for (int k = 0; k < ret->n_shown; k++) {
        const size_t token = (size_t)ret->token[k];
        ret->drafted[k] = a.drafted[token];
        for (int j = 0; j < SPEC_CAME_KINDS; j++) ret->came[j][k] = a.came[(size_t)j * V + token];
    }
    expect_split(ret, f);
    if (!texts && keep_rows(ret, f) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
done:
    if (rng != NULL) gsl_rng_free(rng);
    free(a.drafted);
    free(a.came);
    if (status == GSL_SUCCESS) return status;
    spec_reproducer_free(ret);
    return spec_fail(error, status, "out of memory");
}

void spec_reproducer_free(spec_reproducer *reproducer)
{
    free(reproducer->target_row);
    free(reproducer->draft_row);
    *reproducer = (spec_reproducer){.kind = NULL};
}
