#include "experiments/measures.h"

#include "experiments/trajectory.h"
#include "sim/output_law.h"

#include <math.h>

enum { ACCEPTANCE, ENUMERATED, OPTIMAL, N_VALUES };

/* Enumeration of one round of one draft token walks about V^2 branches of O(V) each: past this many steps it is left
 * out. */
#define ENUMERATION_STEPS 2e8

typedef struct {
    spec_decoder_config decoder;
    spec_rule rule;
    bool enumerate;
    uint64_t limit;
} accept_question;

static int visit(double *value, const spec_position *at, const void *self, spec_error *error)
{
    const accept_question *question = self;
    const spec_decoder_config *config = &question->decoder;
    value[ACCEPTANCE] = spec_closed_acceptance(config->rule, config->drafting, at->target, at->opt_draft, at->vocab);
    value[OPTIMAL] = spec_optimal_acceptance(&question->rule, config->drafting, at->target, at->opt_draft, at->vocab);
    value[ENUMERATED] = NAN;
    if (!question->enumerate) return GSL_SUCCESS;
    spec_output_law law = {0};
    int status = spec_output_law_init(&law, config, at->context, at->n_context, 1, question->limit, error);
    if (status == GSL_SUCCESS) value[ENUMERATED] = law.accepted;
    spec_output_law_free(&law);
    return status;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure, spec_error *error)
{
    accept_question question = {.limit = point->limit > 0 ? point->limit : SPEC_OUTPUT_LAW_LIMIT};
    spec_trajectory trajectory = {.visit = visit, .self = &question, .n_values = N_VALUES, .seed = point->seed,
                                  .threads = point->threads, .opt_stop = point->stop};
    double mean[N_VALUES], se[N_VALUES];
    int contexts, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_int(&contexts, point, measure, "contexts", 1, 1000000000, error));
    SPEC_TRY(spec_point_decoder(&question.decoder, point, measure, error));
    question.decoder.K = 1;
    SPEC_TRY(spec_rule_init(&question.rule, question.decoder.rule, error));
    trajectory.target = question.decoder.target;
    trajectory.opt_draft = question.decoder.opt_draft;
    trajectory.positions = (uint64_t)contexts;
    question.enumerate = pow(trajectory.target->vocab, 3) * contexts <= ENUMERATION_STEPS;
    SPEC_TRY(spec_trajectory_means(mean, se, &trajectory, error));

    spec_table_number(table, "acceptance", mean[ACCEPTANCE]);
    spec_table_number(table, "acceptance_se", se[ACCEPTANCE]);
    spec_table_number(table, "enumerated", mean[ENUMERATED]);
    spec_table_number(table, "optimal", mean[OPTIMAL]);
    spec_table_number(table, "ratio", mean[ACCEPTANCE] / mean[OPTIMAL]);
    if (!isnan(mean[ACCEPTANCE] + mean[ENUMERATED]))
        spec_table_text(table, "verdict", fabs(mean[ACCEPTANCE] - mean[ENUMERATED]) < 1e-12 ? "equal" : "NOT EQUAL");
done:
    return status;
}

static const char *const parameters[] = {"rule=token", "target", "draft", "drafting=chain", "contexts=1", NULL};
static const char *const columns[] = {"acceptance", "acceptance_se", "enumerated", "optimal", "ratio", "verdict", NULL};
static const char *const checked[] = {"verdict", NULL};

const spec_measure spec_measure_accept = {
    .name = "accept",
    .summary = "how often a rule accepts one draft token: closed form, enumeration, and the bound",
    .parameters = parameters,
    .columns = columns,
    .checked = checked,
    .run = run,
};
