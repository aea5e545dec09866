/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/step/step_json.h"

#include <math.h>

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *reals(const double *opt_value, int n)
{
    if (opt_value == NULL) return json_null();
    json_t *array = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(array, real(opt_value[i]));
    return array;
}

static json_t *integers(const int *value, int n)
{
    json_t *array = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(array, json_integer(value[i]));
    return array;
}

static json_t *decision(const spec_told *told)
{
    const spec_decision *d = &told->decision;
    json_t *object = json_pack("{ss ss si si so si}", "role", spec_role_names[told->role], "kind",
                               d->accepts ? "accept" : "pick", "node", told->node, "after",
                               told->after, "coin", real(d->coin), "answer", d->answer);
    if (d->accepts) {
        json_object_set_new(object, "num", real(d->num));
        json_object_set_new(object, "den", real(d->den));
        json_object_set_new(object, "probability", real(d->num >= d->den ? 1.0 : d->num / d->den));
    } else {
        json_object_set_new(object, "weights", reals(d->weight, d->n));
    }
    return object;
}

json_t *spec_step_json_round(const spec_step_view *view)
{
    const spec_decoder *d = view->log->decoder;
    const spec_draft *draft = &d->draft;
    const spec_round *round = &d->round;
    json_t *nodes = json_array(), *rows = json_array(), *decisions = json_array();
    for (int i = 0; i < draft->n_nodes; i++)
        json_array_append_new(nodes, json_pack("{si si sb so}", "token", draft->token[i], "parent",
                                               draft->parent[i], "drawn", draft->sampled[i],
                                               "draft_row", reals(draft->row[i], draft->vocab)));
    for (int i = 0; i <= draft->n_nodes; i++)
        json_array_append_new(rows, reals(d->target_row[i], draft->vocab));
    for (int i = 0; i < view->log->n; i++)
        json_array_append_new(decisions, decision(&view->log->told[i]));
    return json_pack("{si so so so so so}", "context",
                     (int)(d->n_context - (size_t)round->n_emitted), "nodes", nodes, "target_rows",
                     rows, "decisions", decisions, "accepted",
                     integers(round->node, round->n_accepted), "tokens",
                     integers(round->token, round->n_emitted));
}

json_t *spec_step_json_law(const spec_output_law *law)
{
    return json_pack("{sI so so sf}", "branches", (json_int_t)law->branches, "output",
                     reals(law->law, (int)law->size), "target",
                     reals(law->target_law, (int)law->size), "tv", law->tv);
}
