/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/scrape.h"

#include "speclab/no_memory.h"
#include "tools/advise/log_format.h"

#include <stdlib.h>
#include <string.h>

static double counted(double x)
{
    return x > 0.0 ? x : 0.0;
}

/* Adds the totals of an engine or model. */
static int add_total(void *self, const spec_observation *o, spec_error *error)
{
    spec_live_counts *sum = self;
    (void)error;
    sum->rounds += counted(o->rounds);
    sum->drafted += counted(o->drafted);
    sum->accepted += counted(o->accepted);
    if (o->depths > sum->depths) sum->depths = o->depths;
    for (int i = 0; i < o->depths; i++) sum->passed[i] += o->passed[i];
    return GSL_SUCCESS;
}

static const spec_log_format *format_of(const char *engine)
{
    if (strcmp(engine, "llamacpp") == 0) return &spec_reader_prometheus_llama;
    return strcmp(engine, "sglang") == 0 ? &spec_reader_prometheus_sglang
                                         : &spec_reader_prometheus_vllm;
}

int spec_live_counts_read(spec_live_counts *ret, const char *text, const char *engine,
                          spec_error *error)
{
    const spec_log_format *format = format_of(engine);
    const spec_observer observer = {add_total, ret};
    spec_log_learned learned = {.generation = -1};
    spec_log_record record = {.file = "/metrics", .K = -1, .observer = &observer, .bytes = ""};
    char *copy = strdup(text);
    void *state = calloc(1, format->state_size);
    int status = copy == NULL || state == NULL ? spec_no_memory(error) : GSL_SUCCESS, samples = 0;
    *ret = (spec_live_counts){.rounds = 0.0};
    for (char *rest = copy, *line; status == GSL_SUCCESS && (line = strsep(&rest, "\n")) != NULL;) {
        record.line++;
        if (!format->concerns(line, strlen(line))) continue;
        record.bytes = line;
        record.n = strlen(line);
        samples++;
        status = format->read(state, &learned, &record, error);
    }
    if (status == GSL_SUCCESS) status = format->end(state, &learned, &record, error);
    if (status == GSL_SUCCESS && samples == 0)
        status = spec_fail(error, GSL_EINVAL, "/metrics has no line that begins with %s:", engine);
    free(copy);
    free(state);
    return status;
}

int spec_live_counts_ask(spec_live_counts *ret, const spec_live_server *server,
                         const spec_http_work *how, spec_error *error)
{
    spec_http_request request = {.opt_key = server->opt_key, .text = true};
    json_t *answer = NULL;
    int status = GSL_SUCCESS;
    *ret = (spec_live_counts){.rounds = 0.0};
    snprintf(request.url, sizeof request.url, "%s/metrics", server->url);
    SPEC_TRY(spec_http_ask(&answer, &request, how, error));
    if (answer == NULL) return status; /* interrupted */
    status = spec_live_blame(
        server,
        spec_live_counts_read(ret, json_string_value(answer), server->dialect->owner, error),
        error);
done:
    json_decref(answer);
    return status;
}

bool spec_live_counts_between(spec_live_counts *ret, const spec_live_counts *from,
                              const spec_live_counts *to)
{
    *ret = *to;
    ret->rounds -= from->rounds;
    ret->drafted -= from->drafted;
    ret->accepted -= from->accepted;
    for (int i = 0; i < ret->depths; i++) ret->passed[i] -= from->passed[i];
    return ret->rounds >= 0.0 && ret->drafted >= 0.0 && ret->accepted >= 0.0;
}
