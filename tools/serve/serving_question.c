/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/serving_question.h"

#include "base/quantity.h"
#include "experiments/measures/measures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Number of slots of an engine without a limit on its batch. */
enum { SLOTS_NO_LIMIT = 1 << 16, TOKENS_MAX = 1 << 30 };

/* Long requests are the longest ones, which together have this share of E[L^2]. Intervals need this
 * many of them: docs/formulas/serving.md#heavy-tails. */
static const double longest_share = 0.05, longest_needed = 10.0;

/* Default lengths, if neither a distribution nor the rows of a file give them. */
#define PROMPT "512"
#define OUTPUT "256"

const spec_assumption spec_serving_question_assumes[] = {
    {"draft_cost", "none", "drafting takes no time", NULL, NULL},
    {"alpha", NULL, NULL, NULL, "accepted process"},
    {"prompt", PROMPT, NULL, NULL, "trace accepted"},
    {"output", OUTPUT, NULL, NULL, "trace accepted"},
    {"arrivals", NULL, NULL, "rate", NULL},
    {"spread", NULL, NULL, NULL, "accepted process"},
    {"place", NULL, NULL, "draft_cost", NULL},
    {"draft_cache", NULL, NULL, "draft_cost", NULL},
    {"max_batch", NULL, NULL, NULL, "slots"},
    {"budget", NULL, NULL, NULL, NULL},
    {"chunk", NULL, NULL, NULL, NULL},
    {"blocks", NULL, "0: no limit, here and before", NULL, "memory"},
    {NULL, NULL, NULL, NULL, NULL},
};

typedef struct {
    spec_serving_question *question;
    const spec_point *point;
    const spec_measure *measure;
    spec_error *error;
} reader;

static const char *text(const reader *in, const char *name)
{
    return spec_point_text(in->point, in->measure, name);
}

static bool is_given(const reader *in, const char *name)
{
    return text(in, name)[0] != '\0';
}

static int blame(const reader *in, int status, const char *name)
{
    return spec_point_blame(status, name, in->error);
}

static int number(const reader *in, double *ret, const char *name, double low, double high)
{
    return spec_point_double(ret, in->point, in->measure, name, low, high, in->error);
}

static int count(const reader *in, int *ret, const char *name, int low)
{
    return spec_point_int(ret, in->point, in->measure, name, low, TOKENS_MAX, in->error);
}

/* ---- requests -------------------------------------------------------------------------------- */

static int read_load(reader *in)
{
    spec_serving_question *question = in->question;
    const bool rate = is_given(in, "rate"), slots = is_given(in, "slots"),
               trace = is_given(in, "trace");
    double speed;
    int n_slots, status = GSL_SUCCESS;
    question->rate = NAN;
    SPEC_TRY(number(in, &speed, "speed", 1e-6, 1e6));
    question->requests.speed = speed;
    if (rate && slots)
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                           "slots: a closed loop has no rate of arrivals; give slots or rate"));
    if (!rate && !slots && !trace)
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                           "rate: give requests/s, or slots (always full), or a trace to replay"));
    if (speed != 1.0 && (rate || slots))
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                           "speed: only a replayed trace has a speed; leave out %s",
                           rate ? "rate" : "slots"));
    if (rate) {
        question->load = SPEC_SERVING_OPEN;
        SPEC_TRY(number(in, &question->rate, "rate", 1e-9, 1e9));
        SPEC_TRY(blame(in,
                       spec_arrivals_init(&question->requests.arrivals, text(in, "arrivals"),
                                          question->rate, in->error),
                       "arrivals"));
    } else if (slots) {
        question->load = SPEC_SERVING_CLOSED;
        SPEC_TRY(count(in, &n_slots, "slots", 1));
        question->plan.closed = true;
        question->plan.slots = n_slots;
    } else {
        question->load = SPEC_SERVING_REPLAY;
        question->requests.arrivals.kind = SPEC_ARRIVALS_TRACE;
    }
done:
    return status;
}

/* Reads a given distribution, or takes the lengths of a file's rows, or a default. */
static int read_law(reader *in, spec_length_law *law, const char *name, int least,
                    const char *opt_default)
{
    const char *spec = is_given(in, name) ? text(in, name) : opt_default;
    if (spec == NULL) return GSL_SUCCESS; /* zeroed: the lengths come from the rows */
    return blame(in, spec_length_law_init(law, spec, least, in->error), name);
}

/* Reads acceptance by depth or by context, which then applies to all requests. Methods that choose
 * lengths by alpha use accepted over tested draft tokens, or the alpha of the context. */
static int read_process(reader *in)
{
    spec_serving_question *question = in->question;
    spec_process *process = &question->process;
    double accepted = 0.0, tested = 0.0;
    int status = GSL_SUCCESS;
    SPEC_TRY(number(in, &question->alpha, "alpha", 0.0, 1.0));
    SPEC_TRY(blame(
        in, spec_acceptance_process_init(process, text(in, "process"), question->alpha, in->error),
        "process"));
    if (process->kind == SPEC_PROCESS_IID) goto done;
    if (process->kind != SPEC_PROCESS_RATES && process->kind != SPEC_PROCESS_CONTEXT)
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                           "process: '%.60s' is not iid, rates?of=0.8/0.5, profile:FILE or "
                           "context?of=0.8@0/0.7@4000, which serve takes",
                           text(in, "process")));
    if (is_given(in, "accepted"))
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                           "process: accepted lengths take the place of a process; give only one"));
    if (strcmp(text(in, "spread"), "one") != 0)
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                           "spread: with a process all requests have the same acceptance; give "
                           "only one of the two"));
    if (process->kind == SPEC_PROCESS_CONTEXT) {
        question->alpha = process->context.value[0];
        question->plan.opt_alpha = &process->context;
        goto done;
    }
    for (int i = 0; i < process->n_rates; i++) {
        question->chance[i] = (float)process->rate[i];
        tested += i > 0 ? process->rate[i - 1] : 1.0;
        accepted += process->rate[i];
    }
    question->alpha = accepted / tested;
    question->plan.n_rates = process->n_rates;
    question->plan.rate = question->chance;
done:
    return status;
}

static int check_lengths(reader *in)
{
    const spec_serving_choices *choices = &in->question->choices;
    int status = GSL_SUCCESS;
    /* acceptance by context applies at any depth */
    if (in->question->process.kind == SPEC_PROCESS_CONTEXT) return status;
    for (int i = 0; i < choices->n && status == GSL_SUCCESS; i++)
        status =
            spec_acceptance_process_check(&in->question->process, choices->way[i].K, in->error);
    return blame(in, status, "process");
}

static int read_requests(reader *in)
{
    spec_serving_question *question = in->question;
    const bool rows = is_given(in, "trace") || is_given(in, "accepted");
    int status = GSL_SUCCESS;
    SPEC_TRY(read_process(in));
    SPEC_TRY(read_load(in));
    SPEC_TRY(read_law(in, &question->requests.prompt, "prompt", 0, rows ? NULL : PROMPT));
    SPEC_TRY(read_law(in, &question->requests.output, "output", 1, rows ? NULL : OUTPUT));
    SPEC_TRY(blame(in,
                   spec_alpha_law_init(&question->requests.alpha, text(in, "spread"),
                                       question->alpha, in->error),
                   "spread"));
    SPEC_TRY(number(in, &question->plan.stay, "rounds_correlation", 0.0, 1.0));
    if (question->plan.stay == 1.0)
        SPEC_TRY(spec_fail(in->error, GSL_EDOM, "rounds_correlation: 1 is not within [0, 1)"));
done:
    return status;
}

/* Loads the files of requests, and sets what follows from them. */
static int load_files(reader *in)
{
    spec_serving_question *question = in->question;
    spec_requests *requests = &question->requests;
    double longest;
    int status = GSL_SUCCESS;
    if (is_given(in, "trace")) {
        SPEC_TRY(blame(in, spec_request_trace_load(&question->trace, text(in, "trace"), in->error),
                       "trace"));
        requests->opt_trace = &question->trace;
    }
    if (is_given(in, "accepted")) {
        SPEC_TRY(blame(
            in, spec_accepted_lengths_load(&question->accepted, text(in, "accepted"), in->error),
            "accepted"));
        requests->opt_accepted = &question->accepted;
        question->plan.opt_accepted = &question->accepted;
    }
    SPEC_TRY(spec_requests_check(requests, in->error));
    question->plan.requests = spec_requests_source(requests);
    question->by_length = spec_requests_by_length(requests);
    SPEC_TRY(spec_requests_longest(&longest, requests, longest_share, in->error));
    if (question->load == SPEC_SERVING_OPEN && !isnan(longest))
        question->enough = (uint64_t)ceil(longest_needed / longest / SPEC_REPLICATIONS);
    if (question->load != SPEC_SERVING_REPLAY) goto done;

    const uint64_t n = (uint64_t)question->trace.n;
    const double span = question->trace.arrival[n - 1] / requests->speed;
    question->rate = n > 1 && span > 0.0 ? (double)(n - 1) / span : NAN;
    if (question->warm >= n)
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL, "warm: the trace has %llu requests",
                           (unsigned long long)n));
    question->measured = n - question->warm;
done:
    return status;
}

/* ---- the engine ------------------------------------------------------------------------------ */

/* Reads same, separate, ahead?guess=0.8&miss=ride or halves. */
static int read_place(reader *in)
{
    static const char *const names[] = {"same", "separate", "ahead", "halves", NULL};
    static const char *const misses[] = {"wait", "ride", NULL};
    spec_serving_plan *plan = &in->question->plan;
    spec_settings settings = {0};
    int place = 0, rides, status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_init(&settings, text(in, "place"), in->error));
    while (names[place] != NULL && strcmp(names[place], settings.name) != 0) place++;
    if (names[place] == NULL)
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL, "'%.60s' is not same, separate, ahead or halves",
                           settings.name));
    plan->place = (spec_draft_place)place;
    const bool ahead = plan->place == SPEC_DRAFT_AHEAD;
    SPEC_TRY(spec_settings_check(&settings, ahead ? "ahead?guess=1&miss=wait" : names[place], NULL,
                                 in->error));
    SPEC_TRY(spec_settings_double(&plan->guess, &settings, "guess", 1.0, 0.0, 1.0, in->error));
    SPEC_TRY(spec_settings_choice(&rides, &settings, "miss", 0, misses, in->error));
    plan->miss_rides = rides == 1;
done:
    spec_settings_free(&settings);
    return status == GSL_SUCCESS ? status : blame(in, status, "place");
}

static int read_draft_cache(reader *in)
{
    static const char *const names[] = {"free", "fed", "refilled", "dropped", NULL};
    spec_serving_plan *plan = &in->question->plan;
    const char *given = text(in, "draft_cache");
    int cache = 0;
    while (names[cache] != NULL && strcmp(names[cache], given) != 0) cache++;
    if (names[cache] == NULL)
        return spec_fail(in->error, GSL_EINVAL,
                         "draft_cache: '%.60s' is not free, fed, refilled or dropped", given);
    plan->cache = (spec_draft_cache)cache;
    if (plan->cache != SPEC_CACHE_FREE && plan->place > SPEC_DRAFT_SEPARATE)
        return spec_fail(in->error, GSL_EINVAL,
                         "draft_cache: only drafts on the same or a separate device fill it in "
                         "steps of their own; leave out place or draft_cache");
    return GSL_SUCCESS;
}

/* Reads the bytes of a token in the target's KV cache: from the parameter, or else from the
 * cost. */
static int read_kv_bytes(reader *in, double *ret)
{
    const bool given = is_given(in, "kv_bytes");
    *ret = in->question->memory.kv_token;
    if (!given && *ret > 0.0) return GSL_SUCCESS;
    if (!given)
        return spec_fail(
            in->error, GSL_EINVAL,
            "memory: needs kv_bytes too, the bytes of a token in the KV cache, such as "
            "128KiB");
    if (!spec_quantity_parse(ret, text(in, "kv_bytes"), SPEC_QUANTITY_BYTES) || !(*ret > 0.0))
        return spec_fail(in->error, GSL_EINVAL,
                         "kv_bytes: '%.60s' is not a number of bytes above 0, such as 128KiB",
                         text(in, "kv_bytes"));
    return GSL_SUCCESS;
}

/* Computes the number of blocks in a memory for KV caches: its bytes over the bytes of a token in
 * the target's and the draft's cache. It is 0 without such a memory. */
static int read_blocks(reader *in, int *ret_blocks, int64_t *ret_draft_blocks, int block)
{
    spec_step_memory *bytes = &in->question->memory;
    double memory;
    int status = GSL_SUCCESS;
    SPEC_TRY(count(in, ret_blocks, "blocks", 0));
    *ret_draft_blocks = *ret_blocks;
    if (!is_given(in, "memory") && is_given(in, "kv_bytes"))
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                           "kv_bytes: needs the memory of KV caches too, such as 40GB"));
    if (!is_given(in, "memory")) goto done;
    if (*ret_blocks > 0)
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL, "memory: give blocks or memory, not both"));
    if (!spec_quantity_parse(&memory, text(in, "memory"), SPEC_QUANTITY_BYTES) || !(memory > 0.0))
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                           "memory: '%.60s' is not a number of bytes, such as 40GB, for KV caches",
                           text(in, "memory")));
    SPEC_TRY(read_kv_bytes(in, &bytes->kv_token));
    const double blocks = memory / (bytes->kv_token * block);
    if (!(blocks >= 1.0 && blocks <= TOKENS_MAX))
        SPEC_TRY(spec_fail(in->error, GSL_EDOM,
                           "memory: %.40s has %.4g blocks of %d tokens of %g bytes; must be 1 to "
                           "%d",
                           text(in, "memory"), blocks, block, bytes->kv_token, TOKENS_MAX));
    *ret_blocks = (int)blocks;
    *ret_draft_blocks =
        (int64_t)fmax(1.0, memory / ((bytes->kv_token + bytes->draft_kv_token) * block));
done:
    return status;
}

/* Checks that the cards hold the weights and the KV blocks together. */
static int check_memory(reader *in, int64_t blocks)
{
    const spec_step_memory *bytes = &in->question->memory;
    const double weights = bytes->weights + bytes->draft_weights,
                 kv = (double)blocks * in->question->plan.block * bytes->kv_token;
    char draft[48] = "";
    if (bytes->cards == 0.0 || weights + kv <= bytes->cards) return GSL_SUCCESS;
    if (weights <= bytes->cards)
        return spec_fail(in->error, GSL_EDOM,
                         "%s: KV blocks of %.4g GB do not fit: weights leave %.4g of %.4g GB",
                         is_given(in, "memory") ? "memory" : "blocks", 1e-9 * kv,
                         1e-9 * (bytes->cards - weights), 1e-9 * bytes->cards);
    if (bytes->draft_weights > 0.0)
        snprintf(draft, sizeof draft, " and the draft's %.4g GB", 1e-9 * bytes->draft_weights);
    return spec_fail(in->error, GSL_EDOM,
                     "cost: the weights take %.4g GB%s, but the memory has %.4g GB: give more "
                     "devices= or fewer bytes_per_weight=",
                     1e-9 * bytes->weights, draft, 1e-9 * bytes->cards);
}

static int read_limits(reader *in)
{
    spec_serving_question *question = in->question;
    spec_serving_plan *plan = &question->plan;
    int batch, budget, chunk, blocks, status = GSL_SUCCESS;
    SPEC_TRY(count(in, &batch, "max_batch", 0));
    SPEC_TRY(count(in, &budget, "budget", 0));
    SPEC_TRY(count(in, &chunk, "chunk", 0));
    SPEC_TRY(count(in, &plan->block, "block", 1));
    question->memory = spec_step_cost_memory(question->cost);
    if (plan->place == SPEC_DRAFT_SEPARATE)
        question->memory.draft_weights = question->memory.draft_kv_token = 0.0;
    SPEC_TRY(read_blocks(in, &blocks, &question->draft_blocks, plan->block));
    SPEC_TRY(check_memory(in, blocks));
    if (batch > 0 && plan->closed)
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                           "max_batch: a closed loop has slots instead; leave out max_batch"));
    if (!plan->closed) plan->slots = batch > 0 ? batch : SLOTS_NO_LIMIT;
    plan->budget = budget;
    plan->chunk = chunk;
    plan->blocks = blocks;
    question->batch_limited = batch > 0;
    question->limited = batch > 0 || budget > 0 || chunk > 0 || blocks > 0;
    for (int i = 0; budget > 0 && i < question->choices.n; i++)
        if (question->choices.way[i].K + 1 > budget)
            SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                               "budget: %d tokens in a step are fewer than the K + 1 = %d of one "
                               "request",
                               budget, question->choices.way[i].K + 1));
done:
    return status;
}

static int read_counts(reader *in)
{
    spec_serving_question *question = in->question;
    int measured, warm = 0, status = GSL_SUCCESS;
    SPEC_TRY(count(in, &measured, "requests", 2));
    question->warm_given = is_given(in, "warm");
    if (question->warm_given) SPEC_TRY(count(in, &warm, "warm", 0));
    if (question->load != SPEC_SERVING_REPLAY && warm >= measured)
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                           "warm: %d requests before the %d measured ones; give fewer, or more "
                           "requests",
                           warm, measured));
    question->measured = (uint64_t)measured;
    question->warm = (uint64_t)warm;
    if (!question->warm_given && question->load != SPEC_SERVING_REPLAY)
        question->warm = (uint64_t)(measured / 5 + 1) +
                         (question->plan.closed ? 4 * (uint64_t)question->plan.slots : 0);
done:
    return status;
}

int spec_serving_question_init(spec_serving_question *question, const spec_point *point,
                               const spec_measure *measure, spec_error *error)
{
    reader in = {question, point, measure, error};
    int status = GSL_SUCCESS;
    *question = (spec_serving_question){0};
    SPEC_TRY(read_requests(&in));
    SPEC_TRY(spec_point_step_cost(&question->cost, point, measure, error));
    question->plan.cost = question->cost;
    SPEC_TRY(spec_serving_choices_init(&question->choices, text(&in, "K"), text(&in, "lengths"),
                                       question->cost, error));
    SPEC_TRY(check_lengths(&in));
    SPEC_TRY(read_place(&in));
    SPEC_TRY(read_draft_cache(&in));
    SPEC_TRY(read_limits(&in));
    SPEC_TRY(read_counts(&in));
    SPEC_TRY(blame(&in, spec_slo_parse(&question->slo, text(&in, "slo"), error), "slo"));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(load_files(&in));
done:
    return status;
}

spec_serving_plan spec_serving_question_plan(const spec_serving_question *question,
                                             const spec_serving_way *way)
{
    spec_serving_plan plan = question->plan;
    plan.lengths = way->choice;
    if (!way->fixed || way->K > 0) plan.blocks = question->draft_blocks;
    return plan;
}

void spec_serving_question_free(spec_serving_question *question)
{
    spec_serving_choices_free(&question->choices);
    spec_step_cost_free(question->cost);
    spec_request_trace_free(&question->trace);
    spec_accepted_lengths_free(&question->accepted);
    *question = (spec_serving_question){0};
}
