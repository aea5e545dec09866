/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/synthetic/perturb.h"

#include "base/noise.h"
#include "models/model_kinds.h"
#include "models/row.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one row --------------------------------------------------------------------------------- */

static void draw_reference(double *reference, const double *target, int vocab, double noise,
                           uint64_t key)
{
    uint64_t state = key;
    gsl_rng rng = {.type = spec_noise_rng_type, .state = &state};
    for (int i = 0; i < vocab; i++)
        reference[i] = target[i] * exp(noise * gsl_ran_gaussian_ziggurat(&rng, 1.0));
    spec_row_normalise(reference, vocab);
}

/* Sets draft = v reference + (1-v) [least]. Returns its overlap, and the right-hand derivative of
 * the overlap at v. */
static double overlap_towards(double *draft, const double *target, const double *reference,
                              int vocab, int least, double v, double *ret_slope)
{
    double slope = 0.0;
    for (int i = 0; i < vocab; i++) {
        draft[i] = v * reference[i];
        if (i != least && draft[i] < target[i]) slope += reference[i];
    }
    draft[least] += 1.0 - v;
    if (draft[least] < target[least]) slope -= 1.0 - reference[least];
    *ret_slope = slope;
    return spec_row_overlap(target, draft, vocab);
}

/* The overlap is concave in v, at most alpha at v = 0 and at least alpha at v = 1, and piecewise
 * linear. So Newton's steps from v = 0 never pass the root, and the last one lands on it. */
static void walk_towards(double *draft, const double *target, const double *reference, int vocab,
                         int least, double alpha)
{
    enum { STEPS_MAX = 1000 };
    double v = 0.0, slope;
    for (int step = 0; step < STEPS_MAX; step++) {
        const double lacking =
            alpha - overlap_towards(draft, target, reference, vocab, least, v, &slope);
        const double next = fmin(v + lacking / slope, 1.0);
        if (!(lacking > 1e-16 && slope > 0.0 && next > v)) return;
        v = next;
    }
}

int spec_perturb_row(double *draft, const double *target, int vocab, double alpha, double noise,
                     uint64_t key, double *reference, spec_error *error)
{
    if (alpha == 1.0) {
        memcpy(draft, target, (size_t)vocab * sizeof draft[0]);
        return GSL_SUCCESS;
    }
    draw_reference(reference, target, vocab, noise, key);
    const double distance = 1.0 - spec_row_overlap(target, reference, vocab);
    if (1.0 - alpha <= distance) {
        const double w = (1.0 - alpha) / distance;
        for (int i = 0; i < vocab; i++) draft[i] = target[i] + w * (reference[i] - target[i]);
        return GSL_SUCCESS;
    }
    const int least = spec_row_argmin(target, vocab);
    if (alpha < target[least] - 1e-13) {
        return spec_fail(
            error, GSL_EDOM,
            "perturb: no row overlaps the target's by alpha=%.9g here: the least possible is %.9g",
            alpha, target[least]);
    }
    walk_towards(draft, target, reference, vocab, least, alpha);
    return GSL_SUCCESS;
}

/* ---- the model ------------------------------------------------------------------------------- */

typedef struct {
    spec_model head;
    const spec_model *target; /* not owned */
    double alpha, noise;
    uint64_t seed;
    int key_order; /* tokens on which the reference row depends */
} perturb;

typedef struct {
    spec_session target;
    double *target_row, *reference; /* (V) each */
} perturb_session;

static int open_perturb(spec_model **ret_model, spec_settings *settings,
                        const spec_model *opt_target, spec_context *opt_context, spec_error *error)
{
    (void)opt_context;
    static const char *const of[] = {"target", NULL};
    int status = GSL_SUCCESS, unused;
    double alpha, noise;
    uint64_t seed;
    SPEC_TRY(spec_settings_choice(&unused, settings, "of", 0, of, error));
    SPEC_TRY(spec_settings_double(&alpha, settings, "alpha", 0.8, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_double(&noise, settings, "noise", 1.0, 0.0, 50.0, error));
    SPEC_TRY(spec_settings_u64(&seed, settings, "seed", 1, error));
    if (alpha == 0.0)
        SPEC_TRY(
            spec_fail(error, GSL_EDOM, "perturb: alpha=0: an overlap is above 0, and at most 1"));

    perturb *model = calloc(1, sizeof *model);
    if (model == NULL) SPEC_TRY(spec_no_memory(error));
    model->head.vocab = opt_target->vocab;
    model->head.order = opt_target->order;
    model->head.ends = opt_target->ends;
    model->head.window = opt_target->window;
    model->head.one_hot = opt_target->one_hot && alpha == 1.0;
    model->target = opt_target;
    model->alpha = alpha;
    model->noise = noise;
    model->seed = spec_noise_mix(~seed); /* keeps the draws apart from those of a target with the
                                            same seed */
    model->key_order = opt_target->order >= 0 ? opt_target->order : SPEC_ORDER_MAX;
    *ret_model = &model->head;
done:
    return status;
}

static void close_perturb(spec_model *model)
{
    free(model);
}

static void free_session(const spec_model *model, void *data)
{
    (void)model;
    perturb_session *session = data;
    spec_session_free(&session->target);
    free(session->target_row);
    free(session->reference);
    free(session);
}

static int init_session(const spec_model *model, void **ret_session, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t vocab = (size_t)model->vocab;
    *ret_session = NULL;
    perturb_session *session = calloc(1, sizeof *session);
    if (session == NULL) return spec_no_memory(error);
    SPEC_TRY(spec_session_init(&session->target, ((const perturb *)model)->target, error));
    session->target_row = calloc(vocab, sizeof session->target_row[0]);
    session->reference = calloc(vocab, sizeof session->reference[0]);
    if (session->target_row == NULL || session->reference == NULL) SPEC_TRY(spec_no_memory(error));
    *ret_session = session;
done:
    if (status != GSL_SUCCESS) free_session(model, session);
    return status;
}

static const double *perturb_row(const spec_model *head, void *data, const int *context, size_t n,
                                 double *scratch, spec_error *error)
{
    const perturb *model = (const perturb *)head;
    perturb_session *session = data;
    const double *target =
        spec_session_row(&session->target, context, n, session->target_row, error);
    if (target == NULL) return NULL;
    const uint64_t key = spec_noise_key(model->seed, context, n, model->key_order);
    const int status = spec_perturb_row(scratch, target, head->vocab, model->alpha, model->noise,
                                        key, session->reference, error);
    return status == GSL_SUCCESS ? scratch : NULL;
}

/* A target that reads the whole text scores the tree in one pass. */
static int perturb_score(const spec_model *head, void *data, const spec_score_request *request,
                         spec_error *error)
{
    int status = GSL_SUCCESS;
    const perturb *model = (const perturb *)head;
    perturb_session *session = data;
    SPEC_TRY(spec_session_score(&session->target, request, error));
    for (int i = request->first; i <= request->n_nodes; i++) {
        int tail[SPEC_ORDER_MAX];
        const size_t length =
            spec_session_tail(tail, model->key_order, request->context, request->n_context,
                              request->token, request->opt_parent, i - 1);
        const uint64_t key = spec_noise_key(model->seed, tail, length, model->key_order);
        double *const draft = request->scratch + (size_t)i * (size_t)head->vocab;
        memcpy(session->target_row, request->ret_row[i], (size_t)head->vocab * sizeof draft[0]);
        SPEC_TRY(spec_perturb_row(draft, session->target_row, head->vocab, model->alpha,
                                  model->noise, key, session->reference, error));
        request->ret_row[i] = draft;
    }
done:
    return status;
}

const spec_model_kind spec_model_perturb = {
    .name = "perturb",
    .usage = "perturb?of=target&alpha=0.8&seed=1&noise=1",
    .summary = "a draft built from the target, whose overlap with it is alpha in every context",
    .reference = "",
    .needs_target = true,
    .open = open_perturb,
    .close = close_perturb,
    .row = perturb_row,
    .session_init = init_session,
    .session_free = free_session,
    .score = perturb_score,
};
