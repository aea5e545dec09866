/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/evidence/split.h"

#include "sim/chance/rng.h"
#include "speclab/no_memory.h"
#include "tools/validate/evidence/draft_paths.h"
#include "tools/validate/reproducer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ROUNDS, TEXTS: per batch. COLUMNS: per state. BEFORE_VOCAB: largest vocabulary whose texts are
 * split by the previous token. */
enum { ROUNDS = 512, TEXTS = 4, DRAFTED = SPEC_CAME_KINDS, COLUMNS, BEFORE_VOCAB = 16 };

struct spec_split {
    const spec_fixture *fixture;
    uint32_t scope;
    spec_evidence *evidence;         /* counts for the tests of dependence */
    size_t columns;
    uint64_t *count, *odd; /* (n_states, columns, V) over all batches, and over every second one */
    bool is_odd;                     /* the current batch is one of these */
    uint64_t hard[SPEC_HARD_KINDS];  /* batches, by the first hard rule they broke */
    uint64_t tokens;
};

static void count(spec_split *s, int state, size_t column, int token)
{
    const size_t V = (size_t)s->fixture->vocab;
    const size_t at = ((size_t)state * s->columns + column) * V + (size_t)token;
    s->count[at]++;
    s->odd[at] += s->is_odd;
}

/* Counts a round up to the first token that is outside the vocabulary or not in the draft. */
static void count_round(spec_split *s, const spec_round_batch *batch, int i)
{
    const spec_fixture *f = s->fixture;
    const size_t nodes = (size_t)batch->nodes;
    const int32_t *token = batch->token + (size_t)i * nodes;
    const int32_t *emitted = batch->emitted + (size_t)i * (nodes + 1);
    const int32_t *states = batch->state + (size_t)i * (nodes + 1);
    const int n_nodes = batch->n_nodes[i], n = batch->n_emitted[i];
    int state = states[0];
    spec_places places = SPEC_PLACES_ROOT;
    for (int k = 0; k < n_nodes && s->scope == SPEC_SCOPE_DRAFT; k++)
        if (token[k] >= 0 && token[k] < f->vocab)
            count(s, states[f->parent[k] + 1], DRAFTED, token[k]);
    for (int k = 0; k < n && n <= n_nodes + 1 && n <= f->levels && places != 0; k++) {
        if (emitted[k] < 0 || emitted[k] >= f->vocab) return;
        const bool drafts = spec_draft_paths_children(f, token, n_nodes, places) != 0;
        const bool accepted = k < batch->n_accepted[i];
        const spec_came came = accepted ? SPEC_CAME_DRAFT
                               : drafts ? SPEC_CAME_CORRECTION
                                        : SPEC_CAME_BONUS;
        count(s, state, (size_t)came, emitted[k]);
        s->tokens++;
        if (accepted) places = spec_draft_paths_next(f, token, n_nodes, places, emitted[k]);
        state = spec_fixture_next(f, state, emitted[k]);
    }
}

static void count_text(spec_split *s, int start, const int32_t *token, int n)
{
    const bool before = s->columns > 1;
    int state = start;
    for (int t = 0; t < n && token[t] >= 0 && token[t] < s->fixture->vocab; t++) {
        count(s, state, before && t > 0 ? (size_t)token[t - 1] : 0, token[t]);
        s->tokens++;
        state = spec_fixture_next(s->fixture, state, token[t]);
    }
}

static int ask_texts(spec_split *s, spec_evidence *part, spec_subject *subject, gsl_rng *rng,
                     spec_error *error)
{
    int32_t text[SPEC_FIXTURE_TEXT_MAX];
    spec_text_asked asked;
    int status = GSL_SUCCESS;
    for (int k = 0; k < TEXTS; k++) {
        SPEC_TRY(spec_subject_text(&asked, text, subject, k, rng, error));
        count_text(s, asked.start, text, asked.n);
        spec_evidence_add_text(part, asked.start, text, asked.n, rng);
    }
done:
    return status;
}

static int ask_rounds(spec_split *s, spec_evidence *part, spec_subject *subject, uint64_t b,
                      uint64_t seed, gsl_rng *rng, spec_error *error)
{
    spec_round_batch *batch = &subject->batch;
    spec_evidence_ask(part, batch, ROUNDS, b * ROUNDS, seed, rng);
    const int status = spec_subject_run(subject, ROUNDS, error);
    if (status != GSL_SUCCESS) return status;
    for (int i = 0; i < ROUNDS; i += 1 + s->fixture->repeats) count_round(s, batch, i);
    spec_evidence_add(part, batch, ROUNDS, b * ROUNDS, rng);
    return status;
}

int spec_split_ask(spec_split **ret, spec_subject *subject, const spec_fixture *fixture,
                   uint32_t scope, uint64_t draws, uint64_t seed, spec_error *error)
{
    const size_t cells = (size_t)fixture->n_states * (size_t)fixture->vocab;
    const bool texts = scope == SPEC_SCOPE_STREAM, before = fixture->vocab <= BEFORE_VOCAB;
    const size_t capacity = (size_t)(ROUNDS * fixture->levels + TEXTS * SPEC_FIXTURE_TEXT_MAX);
    spec_evidence *part = NULL;
    gsl_rng *rng = spec_rng_alloc();
    int status = GSL_SUCCESS;
    spec_split *s = *ret = calloc(1, sizeof *s);
    if (s == NULL || rng == NULL) SPEC_TRY(spec_no_memory(error));
    s->fixture = fixture;
    s->scope = scope;
    s->columns = !texts ? COLUMNS : before ? (size_t)fixture->vocab : 1;
    s->count = calloc(cells * s->columns, sizeof *s->count);
    s->odd = calloc(cells * s->columns, sizeof *s->odd);
    if (s->count == NULL || s->odd == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_evidence_init(&s->evidence, fixture, scope, error));
    SPEC_TRY(spec_evidence_fork(&part, s->evidence, capacity, error));
    SPEC_TRY(spec_subject_begin(subject, fixture, scope, ROUNDS, error));
    for (uint64_t b = 0; b * ROUNDS < draws && s->tokens < draws; b++) {
        spec_rng_stream(rng, seed, b);
        spec_evidence_clear(part);
        s->is_odd = b % 2 == 1;
        SPEC_TRY(texts ? ask_texts(s, part, subject, rng, error)
                       : ask_rounds(s, part, subject, b, seed, rng, error));
        const spec_exhibit *hard = spec_evidence_hard(part);
        s->hard[hard != NULL ? hard->hard : SPEC_HARD_NONE]++;
        spec_evidence_merge(s->evidence, part);
    }
done:
    spec_evidence_free(part);
    if (rng != NULL) gsl_rng_free(rng);
    if (status == GSL_SUCCESS) return status;
    spec_split_free(s);
    *ret = NULL;
    return status;
}

void spec_split_free(spec_split *split)
{
    if (split == NULL) return;
    spec_evidence_free(split->evidence);
    free(split->count);
    free(split->odd);
    free(split);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static double part_of(double n)
{
    return n > 0.0 ? n * log(n) : 0.0;
}

/* Adds the likelihood ratio statistic of two rows of counts. */
static void add_rows(spec_split_distance *d, const uint64_t *a, const uint64_t *b, size_t n)
{
    double sum_a = 0.0, sum_b = 0.0, g = 0.0, cells = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double x = (double)a[i], y = (double)b[i];
        sum_a += x;
        sum_b += y;
        cells += x + y > 0.0;
        g += part_of(x) + part_of(y) - part_of(x + y);
    }
    if (!(sum_a > 0.0 && sum_b > 0.0) || cells < 2.0) return;
    d->lost += 2.0 * (g - part_of(sum_a) - part_of(sum_b) + part_of(sum_a + sum_b));
    d->df += cells - 1.0;
}

static bool depends(const char *test)
{
    int k = 0;
    while (strcmp(spec_tests[k].name, test) != 0) k++;
    return spec_tests[k].about == SPEC_ABOUT_REQUESTS ||
           (spec_tests[k].about == SPEC_ABOUT_TEXTS && spec_tests[k].setting != 0);
}

/* Compares how often requests, or tokens of a text, agree. */
static void add_dependence(spec_split_distance *d, const spec_split *a, const spec_split *b)
{
    spec_finding mine[SPEC_TESTS_MAX], theirs[SPEC_TESTS_MAX];
    const int n = spec_evidence_findings(mine, a->evidence);
    (void)spec_evidence_findings(theirs, b->evidence); /* the same tests */
    for (int k = 0; k < n; k++) {
        const spec_finding *x = &mine[k], *y = &theirs[k];
        if (!depends(x->name) || !(x->n > 0.0 && y->n > 0.0)) continue;
        const double difference = (x->seen - x->expected) - (y->seen - y->expected);
        const double mean = 0.5 * (x->seen + y->seen), spread = mean * (1.0 - mean);
        if (!(spread > 0.0)) continue;
        d->lost += difference * difference / (spread * (1.0 / x->n + 1.0 / y->n));
        d->df += 1.0;
    }
}

static spec_split_distance compare_tokens(const spec_split *s, const uint64_t *a, const uint64_t *b)
{
    const size_t V = (size_t)s->fixture->vocab, rows = (size_t)s->fixture->n_states * s->columns;
    const bool texts = s->scope == SPEC_SCOPE_STREAM;
    spec_split_distance d = {0.0, 0.0};
    /* The source of an emitted token is part of the law that is compared; drafted tokens have their
     * own law. */
    for (size_t row = 0, width = 1; row < rows; row += width) {
        width = texts || row % s->columns == DRAFTED ? 1 : SPEC_CAME_KINDS;
        add_rows(&d, a + row * V, b + row * V, width * V);
    }
    return d;
}

double spec_split_dispersion(const spec_split *s, spec_error *error)
{
    const size_t n = (size_t)s->fixture->n_states * s->columns * (size_t)s->fixture->vocab;
    uint64_t *even = malloc(n * sizeof *even);
    if (even == NULL) {
        (void)spec_no_memory(error);
        return NAN;
    }
    for (size_t i = 0; i < n; i++) even[i] = s->count[i] - s->odd[i];
    const spec_split_distance d = compare_tokens(s, even, s->odd);
    free(even);
    return d.df > 0.0 ? fmax(d.lost / d.df, 1.0) : 1.0;
}

void spec_split_compare(spec_split_distance ret[SPEC_SPLIT_PARTS], const spec_split *a,
                        const spec_split *b)
{
    for (int part = 0; part < SPEC_SPLIT_PARTS; part++) ret[part] = (spec_split_distance){0.0, 0.0};
    ret[SPEC_SPLIT_TOKENS] = compare_tokens(a, a->count, b->count);
    add_rows(&ret[SPEC_SPLIT_RULES], a->hard, b->hard, SPEC_HARD_KINDS);
    add_dependence(&ret[SPEC_SPLIT_DEPENDENCE], a, b);
}
