#include "experiments/pair_theory.h"

#include "analysis/capped_geometric.h"
#include "analysis/modulated.h"
#include "experiments/measures.h"
#include "models/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The overlap that a perturb draft was built to have; NaN for other drafts. A draft that is transformed afterwards is
 * another kind. */
static double prescribed_overlap(const spec_model *draft)
{
    double alpha = NAN;
    spec_settings settings = {0};
    if (strcmp(draft->kind->name, "perturb") != 0 || spec_settings_init(&settings, draft->spec, NULL) != GSL_SUCCESS)
        return NAN;
    const char *text = spec_settings_text(&settings, "alpha");
    if (text == NULL || !spec_settings_parse_double(&alpha, text)) alpha = NAN;
    spec_settings_free(&settings);
    return alpha;
}

/* V^order, or 0 where that is more than is solved. */
static int contexts_of(int vocab, int order)
{
    int size = 1;
    for (int i = 0; i < order; i++) {
        if (size > SPEC_PAIR_CONTEXTS_MAX / vocab) return 0;
        size *= vocab;
    }
    return size;
}

typedef struct {
    const spec_decoder_config *config;
    spec_session target, draft;
    int order, size;
    double *target_row, *draft_row;  /* (V) */
    double *accept, *reject, *bonus; /* (size, size) */
} pair;

static void pair_free(pair *p)
{
    spec_session_free(&p->target);
    spec_session_free(&p->draft);
    free(p->target_row);
    free(p->draft_row);
    free(p->accept);
    free(p->reject);
    free(p->bonus);
}

static int pair_init(pair *p, const spec_decoder_config *config, int order, int size, spec_error *error)
{
    const size_t row = (size_t)config->target->vocab * sizeof(double), n = (size_t)size * (size_t)size;
    int status = GSL_SUCCESS;
    *p = (pair){.config = config, .order = order, .size = size};
    p->target_row = malloc(row);
    p->draft_row = malloc(row);
    p->accept = calloc(n, sizeof *p->accept);
    p->reject = calloc(n, sizeof *p->reject);
    p->bonus = calloc(n, sizeof *p->bonus);
    if (p->target_row == NULL || p->draft_row == NULL || p->accept == NULL || p->reject == NULL || p->bonus == NULL)
        return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_session_init(&p->target, config->target, error));
    SPEC_TRY(spec_session_init(&p->draft, config->opt_draft, error));
done:
    return status;
}

/* Fill the row of context `from`, whose last token is its least significant digit. Read off the rules' definitions, not
 * their code. */
static int fill_context(pair *p, int from, spec_error *error)
{
    const int vocab = p->config->target->vocab;
    int context[SPEC_ORDER_MAX];
    for (int i = p->order - 1, rest = from; i >= 0; i--, rest /= vocab) context[i] = rest % vocab;
    const double *target = spec_session_row(&p->target, context, (size_t)p->order, p->target_row, error);
    if (target == NULL) return GSL_EFAILED;
    const double *draft = spec_session_row(&p->draft, context, (size_t)p->order, p->draft_row, error);
    if (draft == NULL) return GSL_EFAILED;
    const bool match = strcmp(p->config->rule, "match") == 0, greedy = strcmp(p->config->drafting, "greedy") == 0;
    const int favourite = spec_row_argmax(draft, vocab);
    for (int x = 0; x < vocab; x++) {
        const double law = !greedy ? draft[x] : x == favourite ? 1.0 : 0.0; /* of the draft token */
        const double taken = match ? target[x] * law : fmin(target[x], law);
        const size_t to = (size_t)from * (size_t)p->size + (size_t)((from * vocab + x) % p->size);
        p->accept[to] += taken;
        p->reject[to] += match ? target[x] - taken : fmax(target[x] - law, 0.0);
        p->bonus[to] += target[x];
    }
    return GSL_SUCCESS;
}

static int solve_chain(double *ret_mean, const spec_decoder_config *config, int order, int size, spec_error *error)
{
    pair p = {0};
    double variance;
    int status = GSL_SUCCESS;
    SPEC_TRY(pair_init(&p, config, order, size, error));
    for (int s = 0; s < size; s++) SPEC_TRY(fill_context(&p, s, error));
    /* GSL_ESING: texts may settle in one of several sets of contexts, and there is no one mean. */
    if (spec_pair_chain(ret_mean, &variance, NULL, p.accept, p.reject, p.bonus, size, config->K) != GSL_SUCCESS)
        *ret_mean = NAN;
done:
    pair_free(&p);
    return status;
}

int spec_pair_theory_emitted(double *ret_mean, const spec_decoder_config *config, spec_error *error)
{
    const spec_model *target = config->target, *draft = config->opt_draft;
    const bool token = strcmp(config->rule, "token") == 0, chain = strcmp(config->drafting, "chain") == 0;
    *ret_mean = NAN;
    if (draft == NULL || strcmp(config->policy, "fixed") != 0 || (!token && strcmp(config->rule, "match") != 0) ||
        (!chain && strcmp(config->drafting, "greedy") != 0))
        return GSL_SUCCESS;
    const double overlap = token && chain ? prescribed_overlap(draft) : NAN;
    if (!isnan(overlap)) {
        *ret_mean = spec_capped_geometric_mean(overlap, config->K);
        return GSL_SUCCESS;
    }
    /* A text that ends begins anew, which the chain over contexts does not know. */
    if (target->order < 0 || draft->order < 0 || (target->end_of_text >= 0 && target->order + draft->order > 0))
        return GSL_SUCCESS;
    const int order = target->order > draft->order ? target->order : draft->order;
    const int size = contexts_of(target->vocab, order);
    return size == 0 ? GSL_SUCCESS : solve_chain(ret_mean, config, order, size, error);
}
