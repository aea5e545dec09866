/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/drive.h"

#include "base/clock.h"
#include "base/int_math.h"
#include "base/stop_flag.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"
#include "tools/live/launched.h"
#include "tools/live/live_prompts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PROBED = 4 /* requests that test whether the server drafts as asked */ };

/* A text being received. */
typedef struct {
    spec_drive_request request;
    int number; /* number of the request in its block */
    double sent, first, last;
    bool ends;
} lane;

typedef struct {
    const spec_drive_plan *plan;
    spec_drive_result *result;
    const spec_live_stream *stream;
    spec_launched launched;
    char log[256];
    int running;      /* draft length of the launched server; -1: none */
    FILE *file;       /* of --capture */
    double done, all; /* requests */
    /* the block under way */
    spec_drive_block *block;
    lane lane[SPEC_HTTP_LANES];
    spec_live_sampling sampling;
    const char *name; /* what seeds depend on */
    int begun, wanted;
    bool draining; /* a lane has no more work */
    double start;
} run;

static bool is_stopped(const run *r)
{
    return spec_stop_is_set(r->plan->how.opt_stop);
}

const char *spec_drive_category(const json_t *prompts, int i)
{
    const char *name =
        json_string_value(json_object_get(json_array_get(prompts, (size_t)i), "category"));
    return name != NULL ? name : "";
}

void spec_drive_result_free(spec_drive_result *result)
{
    json_decref(result->prompts);
    result->prompts = NULL;
    spec_drive_blocks_free(&result->blocks);
}

/* ---- the requests of a block ----------------------------------------------------------------- */

static void progress(run *r, const char *what)
{
    r->plan->progress(r->plan->self, what, r->done, r->all);
}

static bool next_request(void *self, int i, spec_http_request *ret)
{
    run *r = self;
    lane *l = &r->lane[i];
    const int n_prompts = (int)json_array_size(r->result->prompts);
    const spec_live_server *server = &r->result->server;
    char name[64];
    if (r->begun >= r->wanted) {
        if (!r->draining) r->block->seconds = spec_clock_monotonic() - r->start;
        r->draining = true;
        return false;
    }
    *l = (lane){.number = r->begun++};
    l->request.prompt = l->number % n_prompts;
    snprintf(name, sizeof name, "%s %d %d %d", r->name, r->block->concurrency, r->block->pass,
             l->number);
    const uint64_t seed = spec_rng_named_seed(r->plan->seed, name);
    r->stream->ask(ret, server, spec_live_prompt(r->result->prompts, l->request.prompt),
                   server->dialect->sampling(&r->sampling, seed), seed,
                   r->plan->opt_launch == NULL ? r->block->K : -1);
    return true;
}

static void sent(void *self, int i, double at, bool again)
{
    run *r = self;
    lane *l = &r->lane[i];
    if (again) {
        r->block->refused++;
        if (!r->draining) r->block->tokens -= l->request.tokens;
    }
    *l = (lane){
        .request = {.prompt = l->request.prompt, .rounds = NAN, .drafted = NAN, .accepted = NAN},
        .number = l->number,
        .sent = at,
        .first = NAN,
        .last = NAN};
}

static int take_event(void *self, int i, const json_t *event, double at, spec_error *error)
{
    run *r = self;
    lane *l = &r->lane[i];
    spec_live_event said;
    if (event == NULL) { /* "[DONE]" */
        l->ends = true;
        return GSL_SUCCESS;
    }
    SPEC_PASS(spec_live_blame(&r->result->server, r->stream->read(&said, event, error), error));
    if (said.tokens > r->sampling.tokens)
        return spec_fail(error, GSL_EINVAL, "%.200s: a text of %d tokens, where %d were asked for",
                         r->result->server.url, said.tokens, r->sampling.tokens);
    if (said.tokens >= 0 && said.tokens < l->request.tokens)
        return spec_fail(error, GSL_EINVAL, "%.200s: the number of tokens falls from %d to %d",
                         r->result->server.url, l->request.tokens, said.tokens);
    if (said.tokens > l->request.tokens) {
        if (isnan(l->first)) {
            l->first = at;
            l->request.first = said.tokens;
        }
        l->last = at;
        if (!r->draining) r->block->tokens += said.tokens - l->request.tokens;
        l->request.tokens = said.tokens;
    }
    if (!isnan(said.rounds)) l->request.rounds = said.rounds;
    if (!isnan(said.drafted)) l->request.drafted = said.drafted;
    if (!isnan(said.accepted)) l->request.accepted = said.accepted;
    if (said.ends && !r->stream->marked_end) l->ends = true;
    return GSL_SUCCESS;
}

static int end_text(void *self, int i, const json_t *answer, spec_error *error)
{
    run *r = self;
    lane *l = &r->lane[i];
    (void)answer;
    if (!l->ends)
        return spec_fail(error, GSL_EFAILED, "%.200s: the stream ended before its last event",
                         r->result->server.url);
    if (r->stream->counts && isnan(l->request.accepted))
        return spec_fail(error, GSL_EINVAL, "%.200s: no event said that the text has ended",
                         r->result->server.url);
    if (r->stream->counts && isnan(l->request.drafted))
        l->request.drafted = fmax(r->block->K * l->request.rounds, l->request.accepted);
    l->request.ttft = l->first - l->sent;
    l->request.decode = l->last > l->first ? l->last - l->first : 0.0;
    l->request.latency = l->last - l->sent;
    r->block->request[r->block->n++] = l->request;
    r->done++;
    progress(r, NULL);
    return GSL_SUCCESS;
}

/* Runs the requests of a block, whose K, concurrency and pass are given. */
static int run_requests(run *r, spec_drive_block *block, int n, const char *name, spec_error *error)
{
    spec_http_work work = r->plan->how;
    r->block = block;
    r->name = name;
    r->begun = 0;
    r->wanted = n;
    r->draining = false;
    if ((block->request = calloc((size_t)n, sizeof *block->request)) == NULL)
        return spec_no_memory(error);
    work.lanes = spec_int_min(block->concurrency, n);
    work.next = next_request;
    work.sent = sent;
    work.event = take_event;
    work.take = end_text;
    work.self = r;
    r->start = spec_clock_monotonic();
    return spec_http_run(&work, error);
}

/* ---- what the server drafted ----------------------------------------------------------------- */

int spec_drive_check(const spec_drive_block *block, bool launched, spec_error *error)
{
    const spec_drive_sums sums = spec_drive_block_sums(block, NULL);
    const double seen = fmax(isnan(sums.drafted) ? 0.0 : sums.drafted,
                             isnan(sums.rounds) ? 0.0 : sums.rounds),
                 passes = block->counted || sums.rounds > 0.0 ? sums.rounds
                                                              : sums.tokens - sums.accepted;
    if (block->K == 0 && seen > 0.0)
        return spec_fail(
            error, GSL_ESANITY,
            "the baseline speculates: K = 0 was asked for, but the server %s %.0f %s in %d texts. "
            "%s",
            sums.drafted > 0.0 ? "drafted" : "verified", seen,
            sums.drafted > 0.0 ? "tokens" : "drafts", block->n,
            launched ? "The command of --launch must start it without speculation if {K} is 0"
                     : "It ignores the draft length of a request, as current versions of "
                       "llama-server do: start it for each K, with --launch './start.sh {K}'");
    if (block->K > 0 && !(seen > 0.0) && sums.tokens > 0.0)
        return spec_fail(
            error, GSL_ESANITY,
            "the server does not speculate: K = %d was asked for, but it drafted no token in %d "
            "texts. llama-server loads an ordinary draft model and does not use it unless "
            "--spec-type is given",
            block->K, block->n);
    if (block->K > 0 && sums.drafted > 1.1 * block->K * (passes + block->n))
        return spec_fail(error, GSL_ESANITY,
                         "K = %d was asked for, but drafts have %.1f tokens: the server ignores "
                         "the draft length",
                         block->K, sums.drafted / passes);
    return GSL_SUCCESS;
}

/* Tests the shortest and the longest draft length before the long run. */
static int probe(run *r, spec_error *error)
{
    int status = GSL_SUCCESS;
    for (int i = 0; i < 2; i++) {
        spec_drive_block block = {.K = i == 0 ? 0 : r->plan->K[r->plan->n_K - 1], .concurrency = 1};
        status = run_requests(r, &block, PROBED, "probe", error);
        if (status == GSL_SUCCESS && !is_stopped(r))
            status = spec_drive_check(&block, false, error);
        spec_drive_block_free(&block);
        r->done = 0.0;
        if (status != GSL_SUCCESS) break;
    }
    return status;
}

/* ---- a block --------------------------------------------------------------------------------- */

static int warm_up(run *r, int K, int level, spec_error *error)
{
    spec_drive_block block = {.K = K, .concurrency = level};
    const double done = r->done;
    if (r->plan->warm_up == 0) return GSL_SUCCESS;
    const int status = run_requests(r, &block, r->plan->warm_up * level, "warm-up", error);
    spec_drive_block_free(&block);
    r->done = done;
    return status;
}

static int measure(run *r, spec_drive_block *block, int n, spec_error *error)
{
    const spec_live_server *server = &r->result->server;
    spec_live_counts before, after;
    int status = GSL_SUCCESS;
    SPEC_TRY(warm_up(r, block->K, block->concurrency, error));
    if (!r->stream->counts) SPEC_TRY(spec_live_counts_ask(&before, server, &r->plan->how, error));
    SPEC_TRY(run_requests(r, block, n, "text", error));
    if (is_stopped(r)) return status;
    if (!r->stream->counts) {
        SPEC_TRY(spec_live_counts_ask(&after, server, &r->plan->how, error));
        if (is_stopped(r)) return status;
        if (!spec_live_counts_between(&block->counts, &before, &after))
            SPEC_TRY(spec_fail(error, GSL_EFAILED,
                               "%.200s: counters of /metrics fell: it was restarted", server->url));
        block->counted = true;
    }
    SPEC_TRY(spec_drive_check(block, r->plan->opt_launch != NULL, error));
done:
    return status;
}

/* ---- servers --------------------------------------------------------------------------------- */

static int open_server(run *r, const spec_http_work *how, spec_error *error)
{
    const spec_drive_plan *plan = r->plan;
    SPEC_PASS(spec_live_open(&r->result->server, plan->url, NULL, plan->opt_key, how, error));
    SPEC_PASS(spec_live_check_known(&r->result->server, "report drafts", error));
    r->stream = spec_live_stream_of(&r->result->server);
    if (plan->opt_launch == NULL && !r->stream->K_by_request)
        return spec_fail(error, GSL_EINVAL,
                         "%.200s: %s takes a draft length only when it starts: give --launch "
                         "'./start.sh {K}'",
                         r->result->server.url, r->stream->dialect);
    return GSL_SUCCESS;
}

/* Waits until the launched server answers. */
static int await(run *r, spec_error *error)
{
    const double until = spec_clock_monotonic() + r->plan->startup;
    const struct timespec pause = {.tv_nsec = 200000000};
    spec_http_work how = r->plan->how;
    how.tries = 1;
    how.timeout = 5.0;
    for (;;) {
        const int status = open_server(r, &how, error);
        if (status == GSL_ENOMEM || is_stopped(r)) return status;
        SPEC_PASS(spec_launched_check(&r->launched, error));
        if (status == GSL_SUCCESS) return status;
        if (spec_clock_monotonic() > until) {
            const spec_error why = *error;
            return spec_fail(error, GSL_EFAILED, "no answer %g s after its start: %.250s",
                             r->plan->startup, why.text);
        }
        nanosleep(&pause, NULL);
    }
}

static int launch(run *r, int K, spec_error *error)
{
    spec_http_work how = r->plan->how;
    if (r->running == K) return GSL_SUCCESS;
    spec_launched_stop(&r->launched);
    how.tries = 1;
    how.timeout = 2.0;
    const int status =
        spec_live_open(&r->result->server, r->plan->url, NULL, r->plan->opt_key, &how, error);
    if (status == GSL_EUNSUP || status == GSL_ENOMEM) return status;
    if (status == GSL_SUCCESS)
        return spec_fail(error, GSL_EINVAL,
                         "%.200s: a server answers already; stop it, since --launch starts its own",
                         r->plan->url);
    snprintf(r->log, sizeof r->log, "%.200s/K%d.log", r->plan->logs, K);
    progress(r, "starting the server");
    SPEC_PASS(spec_launched_start(&r->launched, r->plan->opt_launch, K, r->log, error));
    SPEC_PASS(await(r, error));
    r->running = K;
    return GSL_SUCCESS;
}

/* Adds the name of the log to a message about a launched server, or says that the server has
 * ended. */
static int blame_launched(run *r, int status, spec_error *error)
{
    const spec_error why = *error;
    if (status == GSL_SUCCESS || r->launched.watcher == 0 || status == GSL_ENOMEM) return status;
    const struct timespec pause = {.tv_nsec = 300000000}; /* it may be about to end */
    nanosleep(&pause, NULL);
    SPEC_PASS(spec_launched_check(&r->launched, error));
    return spec_fail(error, status, "%.400s; the server's log is %.100s", why.text, r->log);
}

/* ---- all blocks ------------------------------------------------------------------------------ */

static bool is_missing(const run *r, int K, int level, int pass)
{
    return spec_drive_blocks_find(&r->result->blocks, K, level, pass) == NULL;
}

static int keep(run *r, spec_drive_block *block, spec_error *error)
{
    if (r->file != NULL) SPEC_PASS(spec_drive_file_add(r->file, block, &r->result->server, error));
    return spec_drive_blocks_add(&r->result->blocks, block, error);
}

/* Measures all concurrencies at a draft length. */
static int visit(run *r, int K, int pass, spec_error *error)
{
    const spec_drive_plan *plan = r->plan;
    spec_drive_block block = {.request = NULL};
    char what[80];
    int status = GSL_SUCCESS;
    for (int i = 0; i < plan->n_levels && !is_stopped(r); i++) {
        const int at = pass % 2 == 0 ? i : plan->n_levels - 1 - i, level = plan->level[at];
        if (!is_missing(r, K, level, pass)) continue;
        if (plan->opt_launch != NULL) SPEC_TRY(launch(r, K, error));
        if (is_stopped(r)) break;
        snprintf(what, sizeof what, "K = %d, %d at a time, pass %d of %d", K, level, pass + 1,
                 plan->passes);
        progress(r, what);
        block = (spec_drive_block){.K = K, .concurrency = level, .pass = pass};
        SPEC_TRY(measure(r, &block, r->result->requests[at], error));
        /* The requests may have reached another server on this port, for example that of a second
         * run, because ours could not open it. */
        SPEC_TRY(spec_launched_check(&r->launched, error));
        if (!is_stopped(r)) SPEC_TRY(keep(r, &block, error));
        spec_drive_block_free(&block);
    }
done:
    spec_drive_block_free(&block);
    return blame_launched(r, status, error);
}

static int visit_all(run *r, spec_error *error)
{
    const spec_drive_plan *plan = r->plan;
    int status = GSL_SUCCESS;
    for (int pass = 0; pass < plan->passes; pass++)
        for (int i = 0; i < plan->n_K && !is_stopped(r); i++)
            SPEC_TRY(visit(r, plan->K[pass % 2 == 0 ? i : plan->n_K - 1 - i], pass, error));
    if (plan->passes % 2 == 1 && !is_stopped(r)) SPEC_TRY(visit(r, 0, plan->passes, error));
done:
    return status;
}

/* Returns a hash of the settings that blocks depend on. It leaves out draft lengths, concurrencies
 * and passes, so that a later run can add more of them. */
static uint64_t settings_of(const run *r)
{
    const spec_drive_plan *plan = r->plan;
    const spec_transform *t = &plan->sampling.transform;
    char text[256];
    uint64_t hash = plan->seed;
    for (size_t i = 0; i < json_array_size(r->result->prompts); i++)
        hash = spec_rng_named_seed(hash, spec_live_prompt(r->result->prompts, (int)i));
    snprintf(text, sizeof text, "%d %.17g %d %.17g %.17g %d %d", plan->sampling.tokens,
             t->temperature, t->top_k, t->top_p, t->min_p, plan->requests, plan->warm_up);
    hash = spec_rng_named_seed(hash, plan->url);
    if (plan->opt_launch != NULL) hash = spec_rng_named_seed(hash, plan->opt_launch);
    return spec_rng_named_seed(hash, text);
}

static int open_capture(run *r, spec_error *error)
{
    const spec_drive_plan *plan = r->plan;
    const char *path = plan->opt_capture;
    bool old;
    if (path == NULL) return GSL_SUCCESS;
    SPEC_PASS(spec_live_open_capture(&r->file, &old, path, plan->resume, plan->force, error));
    if (!old) return spec_drive_file_begin(r->file, settings_of(r), error);
    SPEC_PASS(spec_drive_file_read(&r->result->blocks, &r->result->server, r->file, path,
                                   settings_of(r), error));
    for (int i = 0; i < r->result->blocks.n; i++)
        for (int k = 0; k < r->result->blocks.block[i].n; k++)
            if (r->result->blocks.block[i].request[k].prompt >=
                (int)json_array_size(r->result->prompts))
                return spec_fail(error, GSL_EINVAL, "%.200s: it has more prompts than %.200s", path,
                                 plan->prompts);
    return GSL_SUCCESS;
}

static void count_requests(run *r)
{
    const spec_drive_plan *plan = r->plan;
    const int n = (int)json_array_size(r->result->prompts);
    const int visits = plan->passes * plan->n_K + plan->passes % 2;
    for (int i = 0; i < plan->n_levels; i++) {
        const int least = 2 * plan->level[i];
        r->result->requests[i] = plan->requests > 0 ? plan->requests : spec_int_max(n, least);
        r->all += visits * (double)r->result->requests[i];
    }
    for (int i = 0; i < r->result->blocks.n; i++) r->done += r->result->blocks.block[i].n;
}

int spec_drive(spec_drive_result *ret, const spec_drive_plan *plan, spec_error *error)
{
    run *r = calloc(1, sizeof *r);
    const double begun = spec_clock_monotonic();
    int status = GSL_SUCCESS;
    *ret = (spec_drive_result){.prompts = NULL};
    if (r == NULL) return spec_no_memory(error);
    *r = (run){.plan = plan, .result = ret, .running = -1, .sampling = plan->sampling};
    SPEC_TRY(spec_live_url_check(plan->url, error));
    SPEC_TRY(spec_live_prompts_read(&ret->prompts, plan->prompts, SPEC_DRIVE_REQUESTS,
                                    SPEC_LIVE_CATEGORIES, error));
    SPEC_TRY(open_capture(r, error));
    if (plan->opt_launch == NULL) {
        progress(r, "asking the server what it is");
        SPEC_TRY(open_server(r, &plan->how, error));
        SPEC_TRY(probe(r, error));
    }
    count_requests(r);
    SPEC_TRY(visit_all(r, error));
done:
    ret->stopped = is_stopped(r);
    ret->seconds = spec_clock_monotonic() - begun;
    spec_launched_stop(&r->launched);
    if (r->file != NULL) fclose(r->file);
    free(r);
    if (ret->stopped && status != GSL_ENOMEM) status = GSL_SUCCESS;
    return status;
}
