/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Monte Carlo rounds: one group after another, or groups that several instances share. */
#include "web/answers.h"

#include <stdlib.h>

/* ---- opening --------------------------------------------------------------------------------- */

static speclab_simulation_options options_of(web_question *question)
{
    return (speclab_simulation_options){.size = sizeof(speclab_simulation_options),
                                        .seed = web_question_count(question, "seed", 42),
                                        .rounds = web_question_count(question, "rounds", 1000000),
                                        .c = web_question_number(question, "c", 0.1)};
}

static int32_t opened(web_lab *web, int32_t status, int32_t K)
{
    if (status != SPECLAB_OK) return status;
    web->simulation_K = K;
    web_json_put_integer(&web->json, "groups",
                         (int64_t)speclab_simulation_groups(web->simulation));
    return SPECLAB_OK;
}

int32_t web_answer_simulate(web_lab *web, web_question *question)
{
    const speclab_pair pair = web_answers_pair(question);
    const speclab_simulation_options options = options_of(question);
    const int32_t status = web_answers_check(web, question);
    if (status != SPECLAB_OK) return status;
    speclab_simulation_close(web->simulation);
    return opened(web,
                  speclab_simulation_open(&web->simulation, web->lab, &pair, &options, web->error,
                                          sizeof web->error),
                  pair.K);
}

int32_t web_answer_simulate_acceptance(web_lab *web, web_question *question)
{
    const speclab_acceptance acceptance = {.size = sizeof acceptance,
                                           .K = web_question_integer(question, "K", 5),
                                           .alpha = web_question_number(question, "alpha", 0.8),
                                           .process = web_question_text(question, "process", NULL)};
    const speclab_simulation_options options = options_of(question);
    const int32_t status = web_answers_check(web, question);
    if (status != SPECLAB_OK) return status;
    speclab_simulation_close(web->simulation);
    return opened(web,
                  speclab_simulation_open_acceptance(&web->simulation, web->lab, &acceptance,
                                                     &options, web->error, sizeof web->error),
                  acceptance.K);
}

/* ---- running --------------------------------------------------------------------------------- */

static int32_t need_simulation(web_lab *web, web_question *question)
{
    const int32_t status = web_answers_check(web, question);
    if (status != SPECLAB_OK || web->simulation != NULL) return status;
    return web_answers_refuse(web, "no simulation is open");
}

static int32_t write_estimates(web_lab *web)
{
    web_json *json = &web->json;
    speclab_estimates e = {.size = sizeof e};
    const int32_t n = web->simulation_K + 1;
    uint64_t *accepted = calloc((size_t)n, sizeof *accepted);
    if (accepted == NULL) return SPECLAB_MEMORY;
    speclab_simulation_read(&e, web->simulation);
    speclab_simulation_accepted(accepted, n, web->simulation);
    web_json_key(json, "done");
    web_json_bool(json, e.done != 0);
    web_json_put_integer(json, "rounds", (int64_t)e.rounds);
    web_json_put_number(json, "emitted", e.emitted);
    web_json_put_number(json, "emitted_se", e.emitted_se);
    web_json_put_number(json, "first", e.first);
    web_json_put_number(json, "first_se", e.first_se);
    web_json_put_number(json, "speedup", e.speedup);
    web_json_put_number(json, "speedup_se", e.speedup_se);
    web_json_key(json, "accepted");
    web_json_counts(json, accepted, n);
    free(accepted);
    return SPECLAB_OK;
}

int32_t web_answer_next(web_lab *web, web_question *question)
{
    int32_t done, status = need_simulation(web, question);
    if (status == SPECLAB_OK)
        status = speclab_simulation_next(&done, web->simulation, web->error, sizeof web->error);
    return status == SPECLAB_OK ? write_estimates(web) : status;
}

int32_t web_answer_group(web_lab *web, web_question *question)
{
    char text[SPECLAB_GROUP_SIZE];
    const uint64_t number = web_question_count(question, "number", 0);
    int32_t status = need_simulation(web, question);
    if (status == SPECLAB_OK)
        status = speclab_simulation_group(text, sizeof text, web->simulation, number, web->error,
                                          sizeof web->error);
    if (status == SPECLAB_OK) web_json_put_string(&web->json, "sum", text);
    return status;
}

int32_t web_answer_add(web_lab *web, web_question *question)
{
    const char *sum = web_question_text(question, "sum", "");
    int32_t done, status = need_simulation(web, question);
    if (status == SPECLAB_OK)
        status = speclab_simulation_add(&done, web->simulation, sum, web->error, sizeof web->error);
    return status == SPECLAB_OK ? write_estimates(web) : status;
}
