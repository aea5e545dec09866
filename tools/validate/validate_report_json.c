/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report for programs: all counts, and the reproducer with its inputs. */
#include "tools/validate/validate_report.h"

#include "base/json_memory.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Objects keep their order, so that the bytes are reproducible. JSON has no NaN or infinity, so
 * they become null and strings. */
static void put_number(json_t *object, const char *key, double x)
{
    json_object_set_new(object, key,
                        isnan(x)   ? json_null()
                        : isinf(x) ? json_string(x > 0 ? "inf" : "-inf")
                                   : json_real(x));
}

static void put_count(json_t *object, const char *key, uint64_t n)
{
    json_object_set_new(object, key, json_integer((json_int_t)n));
}

/* Writes a string, since many JSON readers cannot hold 64-bit integers. */
static void put_seed(json_t *object, const char *key, uint64_t n)
{
    char text[SPEC_VALIDATE_NUMBER];
    snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    json_object_set_new(object, key, json_string(text));
}

static void put_text(json_t *object, const char *key, const char *opt_text)
{
    char text[SPEC_VALIDATE_NAME];
    json_object_set_new(object, key,
                        opt_text == NULL ? json_null()
                                         : json_string(spec_validate_report_clean(text, opt_text)));
}

static void put_flag(json_t *object, const char *key, bool flag)
{
    json_object_set_new(object, key, json_boolean(flag));
}

static json_t *put_object(json_t *object, const char *key)
{
    json_t *inner = json_object();
    json_object_set_new(object, key, inner);
    return inner;
}

static json_t *put_array(json_t *object, const char *key)
{
    json_t *inner = json_array();
    json_object_set_new(object, key, inner);
    return inner;
}

static json_t *append_object(json_t *array)
{
    json_t *inner = json_object();
    json_array_append_new(array, inner);
    return inner;
}

static void put_ids(json_t *object, const char *key, const int32_t *id, int n)
{
    json_t *array = put_array(object, key);
    for (int i = 0; i < n; i++) json_array_append_new(array, json_integer(id[i]));
}

static void put_rows(json_t *object, const char *key, const float *row, int n_rows, int vocab)
{
    json_t *array = put_array(object, key);
    for (int r = 0; r < n_rows; r++) {
        json_t *inner = json_array();
        json_array_append_new(array, inner);
        for (int x = 0; x < vocab; x++)
            json_array_append_new(inner,
                                  json_real((double)row[(size_t)r * (size_t)vocab + (size_t)x]));
    }
}

static void put_scopes(json_t *object, const char *key, uint32_t scopes)
{
    json_t *array = put_array(object, key);
    for (uint32_t scope = SPEC_SCOPE_VERIFY; scope <= SPEC_SCOPE_STREAM; scope <<= 1)
        if (scopes & scope)
            json_array_append_new(array, json_string(spec_validate_report_scope(scope)));
}

/* ---- the parts ------------------------------------------------------------------------------- */

static void put_plan(json_t *root, const spec_validate_plan *plan)
{
    json_t *o = put_object(root, "plan");
    put_number(o, "false_alarm_rate", plan->false_alarm_rate);
    put_number(o, "eps", plan->eps > 0.0 ? plan->eps : NAN);
    put_number(o, "power", plan->power);
    if (plan->seconds > 0.0) put_number(o, "budget_seconds", plan->seconds);
    else put_count(o, "budget_draws", plan->draws);
    put_seed(o, "seed", plan->seed);
    if (plan->temperature > 0.0) put_number(o, "temperature", plan->temperature);
    put_flag(o, "dependent_requests", plan->dependent);
    put_text(o, "options", plan->limits.opt_options);
    put_text(o, "rows", plan->opt_rows);
    json_t *only = put_array(o, "only");
    for (int i = 0; plan->opt_only != NULL && plan->opt_only[i] != NULL; i++)
        json_array_append_new(only, json_string(plan->opt_only[i]));
    put_scopes(o, "scopes", plan->scopes);
}

static void put_finding(json_t *array, const spec_finding *finding)
{
    json_t *o = append_object(array);
    put_text(o, "test", finding->name);
    put_number(o, "log_e", finding->log_e);
    put_number(o, "statistic", finding->statistic);
    put_number(o, "df", finding->df);
    put_number(o, "p", finding->p);
    put_number(o, "n", finding->n);
    put_number(o, "seen", finding->seen);
    put_number(o, "expected", finding->expected);
}

/* If nothing is guaranteed, the number is null. */
static void put_detectable(json_t *object, const spec_detectable *d)
{
    put_number(object, "tv", d->tv < 1.0 ? d->tv : NAN);
    put_count(object, "draws", d->own);
    json_object_set_new(object, "state", d->state >= 0 ? json_integer(d->state) : json_null());
    put_count(object, "states", (uint64_t)d->states);
    put_count(object, "seldom", (uint64_t)d->seldom);
}

/* Lists the combinations of two values that were tested in each scope, and those that were not. */
static void put_pairs(json_t *root, const spec_validation *v)
{
    enum { MISSED = 1024 };
    json_t *array = put_array(root, "pairs");
    for (uint32_t scope = SPEC_SCOPE_VERIFY; scope <= SPEC_SCOPE_STREAM; scope <<= 1) {
        spec_design_pair missed[MISSED];
        if (!(v->about.scopes & scope) || v->trace) continue;
        const spec_design_count count = spec_validate_report_count(v, scope, missed, MISSED);
        json_t *o = append_object(array);
        put_text(o, "scope", spec_validate_report_scope(scope));
        put_count(o, "all", (uint64_t)count.all);
        put_count(o, "tested", (uint64_t)count.covered);
        json_t *left_out = put_array(o, "left_out");
        for (int i = 0; i < count.all - count.covered && i < MISSED; i++) {
            json_t *both = json_array();
            json_array_append_new(left_out, both);
            for (int k = 0; k < 2; k++)
                json_array_append_new(both,
                                      json_string(spec_design_dimensions[missed[i].dimension[k]]
                                                      .value[missed[i].value[k]]
                                                      .name));
        }
    }
}

static void put_power(json_t *root, const spec_validation *v)
{
    json_t *o = put_object(root, "power");
    for (spec_place place = 0; place < SPEC_PLACES && !v->trace; place++) {
        const spec_validate_power *power = &v->power[place];
        if (power->reached == 0) continue;
        json_t *p = put_object(o, spec_place_names[place]);
        put_number(p, "median_tv", power->median < 1.0 ? power->median : NAN);
        put_number(p, "worst_tv", power->worst);
        put_text(p, "worst_fixture",
                 power->worst_result >= 0 ? v->result[power->worst_result].kind->name : NULL);
        put_count(p, "covered", (uint64_t)power->covered);
        put_count(p, "reached", (uint64_t)power->reached);
    }
}

static void put_result(json_t *array, const spec_validate_result *result)
{
    json_t *o = append_object(array);
    put_text(o, "fixture", result->kind->name);
    put_text(o, "scope", spec_validate_report_scope(result->scope));
    put_text(o, "skipped", result->skipped);
    put_flag(o, "late", result->late);
    put_flag(o, "failed", result->failed);
    put_text(o, "hard", result->hard != SPEC_HARD_NONE ? spec_hard_reasons[result->hard] : NULL);
    put_count(o, "rounds", result->rounds);
    put_count(o, "draws", result->draws);
    put_number(o, "log_e", result->log_e);
    put_number(o, "p", result->p);
    json_t *detectable = put_object(o, "detectable");
    for (spec_place place = 0; place < SPEC_PLACES; place++)
        if (result->detectable[place].own > 0)
            put_detectable(put_object(detectable, spec_place_names[place]),
                           &result->detectable[place]);
    put_number(o, "tv", result->tv);
    put_number(o, "mean_n_accepted", result->accepted);
    json_t *findings = put_array(o, "findings");
    for (int k = 0; k < result->n_findings; k++) put_finding(findings, &result->finding[k]);
}

static void put_round(json_t *object, const spec_reproducer *c)
{
    const spec_exhibit *round = &c->round;
    json_t *o = put_object(object, c->scope == SPEC_SCOPE_STREAM ? "text" : "round");
    put_seed(o, "seed", round->seed);
    put_count(o, "index", round->index);
    put_ids(o, "emitted", round->emitted, spec_validate_report_emitted(c));
    if (c->scope == SPEC_SCOPE_STREAM) {
        put_count(o, "start_state", (uint64_t)round->state);
        return;
    }
    put_seed(o, "offset", round->offset);
    put_seed(o, "request", round->request);
    json_object_set_new(o, "n_emitted", json_integer(round->n_emitted));
    json_object_set_new(o, "n_accepted", json_integer(round->n_accepted));
    put_count(o, "vocab", (uint64_t)c->vocab);
    put_count(o, "n_nodes", (uint64_t)round->n_nodes);
    put_ids(o, "token", round->token, round->n_nodes);
    put_ids(o, "parent", c->parent, round->n_nodes);
    put_ids(o, "state", round->node_state, round->n_nodes + 1);
    put_text(o, "drawn",
             c->drawn == SPEC_DRAWN_FIXED ? "fixed"
             : c->drawn == SPEC_DRAWN_IID ? "iid"
                                          : "without");
    put_count(o, "batch", (uint64_t)c->batch);
    json_t *sampling = put_object(o, "sampling");
    put_number(sampling, "temperature", (double)c->sampling.temperature);
    put_count(sampling, "top_k", (uint64_t)c->sampling.top_k);
    put_number(sampling, "top_p", (double)c->sampling.top_p);
    put_number(sampling, "min_p", (double)c->sampling.min_p);
    if (c->target_row == NULL) return;
    put_rows(o, "target", c->target_row, round->n_nodes + 1, c->vocab);
    if (c->drawn != SPEC_DRAWN_FIXED)
        put_rows(o, "draft", c->draft_row, round->n_nodes + 1, c->vocab);
}

/* Returns false if out of memory outside Jansson. */
static bool put_reproducer(json_t *root, const spec_validation *v)
{
    const spec_reproducer *c = &v->reproducer;
    if (c->kind == NULL) {
        json_object_set_new(root, "reproducer", json_null());
        return true;
    }
    json_t *o = put_object(root, "reproducer");
    put_text(o, "fixture", c->kind->name);
    put_text(o, "scope", spec_validate_report_scope(c->scope));
    put_text(o, "test", c->test);
    put_text(o, "hard", c->round.hard != SPEC_HARD_NONE ? spec_hard_reasons[c->round.hard] : NULL);
    put_count(o, "state", (uint64_t)c->state);
    put_number(o, "tv", c->tv);
    put_count(o, "n", c->n);
    put_count(o, "rounds_again", c->again);
    json_t *tokens = put_array(o, "tokens");
    for (int k = 0; k < c->n_shown; k++) {
        json_t *token = append_object(tokens);
        put_count(token, "token", (uint64_t)c->token[k]);
        put_number(token, "target", c->target[k]);
        put_number(token, "draft", c->draft[k]);
        put_number(token, "seen", c->seen[k]);
        if (c->again == 0) continue;
        put_count(token, "drafted", c->drafted[k]);
        put_number(token, "drafted_expected", c->draft_expected[k]);
        for (int j = 0; j < SPEC_CAME_KINDS; j++) {
            char key[SPEC_VALIDATE_NUMBER];
            snprintf(key, sizeof key, "%s_token_rule", spec_came_names[j]);
            put_count(token, spec_came_names[j], c->came[j][k]);
            put_number(token, key, c->token_rule[j][k]);
        }
    }
    if (c->round.n_emitted != 0 || c->round.hard != SPEC_HARD_NONE) put_round(o, c);
    bool whole = true;
    for (int i = 0; i < v->n_results && v->plan.limits.opt_call == NULL; i++) {
        if (v->result[i].kind != c->kind || v->result[i].scope != c->scope) continue;
        char *command = spec_validate_report_command(v, &v->result[i]);
        whole = whole && command != NULL;
        json_object_set_new(o, "command", json_string(command));
        free(command);
    }
    return whole;
}

int spec_validate_report_json(const spec_validation *v, FILE *out, spec_error *error)
{
    char own[sizeof v->about.name + 1];
    spec_json_begin();
    json_t *root = json_object();
    put_text(root, "speclab", SPEC_VERSION);
    put_text(root, "verdict", spec_validate_verdicts[v->verdict]);
    put_text(root, "reason", v->reason);
    json_t *sampler = put_object(root, "sampler");
    snprintf(own, sizeof own, "%.*s", (int)sizeof v->about.name, v->about.name);
    put_text(sampler, "spec", v->subject);
    put_text(sampler, "name", own);
    put_scopes(sampler, "scopes", v->about.scopes);
    put_flag(sampler, "lossy", v->about.lossy != 0);
    put_text(sampler, "filters", v->about.filters);
    put_plan(root, &v->plan);
    put_count(root, "rounds", v->rounds);
    put_count(root, "draws", v->draws);
    if (v->plan.seconds > 0.0) put_number(root, "seconds", v->seconds);
    put_number(root, "log_e", v->log_e);
    put_number(root, "log_e_fail", -log(0.5 * v->plan.false_alarm_rate));
    put_number(root, "p", v->p);
    put_power(root, v);
    put_pairs(root, v);
    put_text(root, "together", v->together);
    if (spec_validate_report_is_together(v) && v->plan.limits.opt_call == NULL) {
        char *command = spec_validate_report_command(v, NULL);
        json_object_set_new(root, "together_command", json_string(command));
        free(command);
    }
    put_flag(root, "fresh", v->fresh);
    if (v->fresh) {
        json_t *first = put_object(root, "first_look");
        put_number(first, "log_e", v->first_log_e);
        put_number(first, "p", v->first_p);
    }
    if (v->each.asked) {
        json_t *each = put_object(root, "each_request");
        put_text(each, "verdict", spec_validate_verdicts[v->each.verdict]);
        put_text(each, "reason", v->each.reason);
        put_count(each, "draws", v->each.draws);
        put_number(each, "log_e", v->each.log_e);
        put_number(each, "p", v->each.p);
    }
    put_flag(root, "stopped", v->stopped);
    put_flag(root, "one_instance", v->alone);
    json_t *results = put_array(root, "results");
    for (int i = 0; i < v->n_results; i++) put_result(results, &v->result[i]);
    bool whole = put_reproducer(root, v);
    put_text(root, "order", v->order);
    json_t *needed = put_array(root, "needed");
    for (int i = 0; i < v->n_needed; i++)
        json_array_append_new(needed, json_string(v->needed[i]));
    put_text(root, "needed_why", v->needed_why[0] != '\0' ? v->needed_why : NULL);
    json_t *hints = put_array(root, "hints");
    for (int i = 0; i < v->n_hints; i++) {
        json_t *hint = append_object(hints);
        put_text(hint, "mistake", v->hint[i].name);
        put_text(hint, "where", v->hint[i].where);
        put_number(hint, "log_likelihood", v->hint[i].log_likelihood);
    }
    errno = 0;
    whole = whole && !spec_json_lost() &&
            json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) == 0 &&
            fputc('\n', out) != EOF && fflush(out) == 0;
    json_decref(root);
    if (whole) return GSL_SUCCESS;
    if (errno == 0 || spec_json_lost()) return spec_no_memory(error);
    return spec_fail(error, GSL_EFAILED, "%s", strerror(errno));
}
