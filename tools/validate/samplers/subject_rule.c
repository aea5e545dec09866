/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rule:NAME: a verification rule of speclab, called through the plug-in interface. In scopes DV and
 * S it draws chains token by token, as the strategy `chain` does. */
#include "tools/validate/samplers/sampler_host.h"

#include "models/row.h"
#include "models/transform.h"
#include "sim/chance/rng.h"
#include "sim/verify/verify.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    char *spec;
    spec_rule rule;              /* opened for these sizes */
    int vocab, nodes;
    spec_draft draft;
    spec_round round;
    double *target_store;        /* (nodes+1, V) */
    const double **target;       /* (nodes+1) */
    double *weight;              /* (V) */
    int *order;                  /* (V) */
    int32_t *text;               /* workspace of generate */
    size_t text_capacity;
    gsl_rng *rng;
    spec_chance chance;
    spec_error error;
} sampler;

static void forget_sizes(sampler *s)
{
    spec_rule_free(&s->rule);
    spec_draft_free(&s->draft);
    free(s->target_store);
    free(s->target);
    free(s->weight);
    free(s->order);
    free(s->round.token);
    free(s->round.node);
    s->target_store = s->weight = NULL;
    s->target = NULL;
    s->order = s->round.token = s->round.node = NULL;
    s->vocab = 0;
}

static int fit_sizes(sampler *s, int vocab, int nodes)
{
    int status = GSL_SUCCESS;
    const size_t V = (size_t)vocab, places = (size_t)nodes + 1;
    if (s->vocab == vocab && s->nodes >= nodes) return status;
    forget_sizes(s);
    SPEC_TRY(spec_rule_init(&s->rule, s->spec, &s->error));
    SPEC_TRY(spec_rule_open(&s->rule, vocab, nodes, &s->error));
    SPEC_TRY(spec_draft_init(&s->draft, nodes, vocab, &s->error));
    s->target_store = malloc(places * V * sizeof *s->target_store);
    s->target = malloc(places * sizeof *s->target);
    s->weight = malloc(V * sizeof *s->weight);
    s->order = malloc(V * sizeof *s->order);
    s->round.token = malloc(places * sizeof *s->round.token);
    s->round.node = malloc(places * sizeof *s->round.node);
    if (s->target_store == NULL || s->target == NULL || s->weight == NULL || s->order == NULL ||
        s->round.token == NULL || s->round.node == NULL)
        SPEC_TRY(spec_fail(&s->error, GSL_ENOMEM, "out of memory"));
    s->vocab = vocab;
    s->nodes = nodes;
done:
    if (status != GSL_SUCCESS) forget_sizes(s);
    return status;
}

static int open_sampler(void **ret_self, const char *opt_options)
{
    sampler *s = calloc(1, sizeof *s);
    *ret_self = s;
    if (s == NULL) return GSL_ENOMEM;
    s->spec = strdup(opt_options);
    s->rng = spec_rng_alloc();
    s->chance = spec_chance_sampled(s->rng);
    return s->spec != NULL && s->rng != NULL ? GSL_SUCCESS : GSL_ENOMEM;
}

static void close_sampler(void *self)
{
    sampler *s = self;
    if (s == NULL) return;
    forget_sizes(s);
    free(s->text);
    free(s->spec);
    if (s->rng != NULL) gsl_rng_free(s->rng);
    free(s);
}

static const char *error_of(void *self)
{
    const sampler *s = self;
    return s != NULL && s->error.text[0] != '\0' ? s->error.text : NULL;
}

/* Reads a row as double, with the sampling parameters applied. */
static void read_row(sampler *s, double *row, const float *given, const spec_sampling *sampling)
{
    const spec_transform transform = spec_fixture_parameters(sampling);
    for (int i = 0; i < s->vocab; i++) row[i] = (double)given[i];
    if (!spec_transform_is_none(&transform))
        spec_transform_apply(row, s->vocab, &transform, s->order);
}

static spec_siblings siblings_of(uint32_t drawn)
{
    return drawn == SPEC_DRAWN_FIXED     ? SPEC_SIBLINGS_TOP
           : drawn == SPEC_DRAWN_WITHOUT ? SPEC_SIBLINGS_WITHOUT
                                         : SPEC_SIBLINGS_IID;
}

/* Returns the draft row of a node. Siblings share a row, which the first of them reads. */
static const double *row_at(sampler *s, const spec_step *step, int parent, int node)
{
    for (int i = 0; i < node && step->parent != NULL; i++)
        if (step->parent[i] == parent) return s->draft.row[i];
    double *row = spec_draft_slot(&s->draft);
    read_row(s, row, step->draft + (size_t)(parent + 1) * (size_t)s->vocab, &step->sampling);
    return row;
}

/* greedy-softmax is only wrong for argmax drafts, so it drafts the argmax. */
static bool is_greedy(const sampler *s)
{
    return s->rule.verify == spec_verify_greedy_softmax.verify;
}

static int draw(sampler *s, const double *row)
{
    return is_greedy(s) ? spec_row_argmax(row, s->vocab)
                        : spec_chance_pick(&s->chance, row, s->vocab);
}

static void verify_step(sampler *s, spec_step *step)
{
    int n = 0;
    spec_rng_stream(s->rng, step->seed, step->offset);
    spec_draft_reset(&s->draft);
    s->draft.siblings = step->parent != NULL ? siblings_of(step->drawn) : SPEC_SIBLINGS_IID;
    for (; n < step->n_nodes && (step->token == NULL || step->token[n] >= 0); n++) {
        const int parent = step->parent != NULL ? step->parent[n] : n - 1;
        const double *row = step->draft != NULL ? row_at(s, step, parent, n) : NULL;
        const int token = step->token != NULL ? step->token[n] : draw(s, row);
        if (step->ret_draft != NULL) step->ret_draft[n] = token;
        spec_draft_append(&s->draft, token, parent, row,
                          step->token != NULL ? step->draft != NULL : !is_greedy(s));
    }
    for (int r = 0; r <= n; r++) {
        double *row = s->target_store + (size_t)r * (size_t)s->vocab;
        read_row(s, row, step->target + (size_t)r * (size_t)s->vocab, &step->sampling);
        s->target[r] = row;
    }
    s->rule.verify(&s->round, &s->rule, &s->draft, s->target, s->weight, &s->chance);
    for (int i = 0; i < s->round.n_emitted; i++) step->ret_token[i] = s->round.token[i];
    *step->ret_n_emitted = s->round.n_emitted;
    *step->ret_n_accepted = s->round.n_accepted;
}

static int step_sampler(void *self, spec_step *steps, int32_t n_steps)
{
    sampler *s = self;
    for (int i = 0; i < n_steps; i++) {
        const int status =
            fit_sizes(s, steps[i].vocab, steps[i].n_nodes > s->nodes ? steps[i].n_nodes : s->nodes);
        if (status != GSL_SUCCESS) return status;
        verify_step(s, &steps[i]);
    }
    return GSL_SUCCESS;
}

/* `text` is the context of the models; its memory grows to the longest text. */
static int generate(void *self, const spec_models *models, const int32_t *context,
                    int64_t n_context, int32_t K, spec_sampling sampling, uint64_t seed,
                    int32_t *ret_token, int64_t n_tokens)
{
    sampler *s = self;
    int64_t n = n_context;
    const size_t V = (size_t)models->vocab;
    const size_t capacity = (size_t)(n_context + n_tokens + K + 1);
    if (capacity > s->text_capacity) {
        int32_t *longer = realloc(s->text, capacity * sizeof *longer);
        if (longer == NULL) return GSL_ENOMEM;
        s->text = longer;
        s->text_capacity = capacity;
    }
    int32_t *text = s->text;
    const int status = fit_sizes(s, models->vocab, K);
    if (status != GSL_SUCCESS) return status;
    if (n_context > 0) memcpy(text, context, (size_t)n_context * sizeof *text);
    spec_rule_reset(&s->rule);
    spec_rng_stream(s->rng, seed, 0);
    while (n < n_context + n_tokens) {
        spec_draft_reset(&s->draft);
        for (int k = 0; k < K; k++) {
            double *row = spec_draft_slot(&s->draft);
            read_row(s, row, models->draft(models->self, text, n + k), &sampling);
            text[n + k] = draw(s, row);
            spec_draft_append(&s->draft, text[n + k], k - 1, row, !is_greedy(s));
        }
        for (int k = 0; k <= K; k++) {
            read_row(s, s->target_store + (size_t)k * V, models->target(models->self, text, n + k),
                     &sampling);
            s->target[k] = s->target_store + (size_t)k * V;
        }
        s->rule.verify(&s->round, &s->rule, &s->draft, s->target, s->weight, &s->chance);
        for (int i = 0; i < s->round.n_emitted; i++) text[n++] = s->round.token[i];
    }
    memcpy(ret_token, text + n_context, (size_t)n_tokens * sizeof *text);
    return GSL_SUCCESS;
}

static const spec_sampler_api api = {.open = open_sampler,
                                     .step = step_sampler,
                                     .close = close_sampler,
                                     .generate = generate,
                                     .error = error_of};

static void describe(spec_sampler_about *about, const spec_rule *rule)
{
    *about = (spec_sampler_about){.size = sizeof *about, .sampling = 1, .padding = 1, .seeded = 1};
    snprintf(about->name, sizeof about->name, "%s", rule->name);
    /* A rule that carries state into the next round needs whole texts: its rounds cannot be run
     * separately. */
    about->scopes = rule->reset != NULL ? SPEC_SCOPE_STREAM
                                        : SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT | SPEC_SCOPE_STREAM;
    if (rule->siblings & SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_IID)) about->trees |= SPEC_DRAWN_IID;
    if (rule->siblings & SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_WITHOUT))
        about->trees |= SPEC_DRAWN_WITHOUT;
    if (rule->siblings & SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_TOP)) about->trees |= SPEC_DRAWN_FIXED;
    about->lossy = rule->claim == SPEC_LOSSY || rule->claim == SPEC_LOSSLESS_ARGMAX;
}

/* ---- the subject ----------------------------------------------------------------------------- */

static int open_subject(spec_subject *subject, const char *path, spec_error *error)
{
    spec_rule rule;
    const int status = spec_rule_init(&rule, path, error);
    if (status != GSL_SUCCESS) return status;
    describe(&subject->about, &rule);
    return spec_sampler_host_subject_open(subject, &api, path, error);
}

const spec_subject_kind spec_subject_rule = {
    .name = "rule",
    .usage = "rule:NAME",
    .summary = "a verification rule of speclab's own",
    .open = open_subject,
    .begin = spec_sampler_host_subject_begin,
    .run = spec_sampler_host_subject_run,
    .generate = spec_sampler_host_subject_generate,
    .counters = spec_sampler_host_subject_counters,
    .close = spec_sampler_host_subject_close,
};
