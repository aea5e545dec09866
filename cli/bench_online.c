/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/bench_online.h"

#include "base/progress.h"
#include "cli/progress_reports.h"
#include "cli/stop.h"
#include "cli/verb.h"
#include "models/model_open.h"
#include "timing/timing_online_report.h"

#include <string.h>

enum { KEY_ONLINE = 0xa101, KEY_POSITIONS, KEY_LOSS, KEY_RATE };
enum { WINDOWS = 4, PLACES_MAX = 256, TEXTS = 64 }; /* TEXTS: without a file of prompts */

static const struct argp_option options_table[] = {
    {0, 0, 0, 0, "A draft that learns while it serves:", 4},
    {"online", KEY_ONLINE, 0, 0,
     "let the draft learn from what the target verifies, and compare it with the same draft "
     "unchanged",
     4},
    {"positions", KEY_POSITIONS, "WHERE", 0,
     "learn from the target's rows at all verified positions, or only at rejected ones (all)", 4},
    {"loss", KEY_LOSS, "LOSS", 0,
     "loss that it minimises: ce, fkl, rkl, jsd, tv, nla or lk "
     "(jsd)",
     4},
    {"rate", KEY_RATE, "X", 0, "learning rate of its steps (0.001)", 4},
    {0},
};

static int index_of(const char *const *names, const char *name)
{
    int i = 0;
    while (names[i] != NULL && strcmp(names[i], name) != 0) i++;
    return names[i] != NULL ? i : -1;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    spec_bench_online_options *options = state->input;
    const char *verb = state->name;
    if (options == NULL) return ARGP_ERR_UNKNOWN;
    switch (key) {
    case ARGP_KEY_INIT: options->loss = options->positions = -1; return 0;
    case KEY_ONLINE: options->on = true; return 0;
    case KEY_POSITIONS:
        if ((options->positions = index_of(spec_online_positions_names, arg)) < 0)
            spec_usage_fail(verb, "--positions: '%s' is not all or rejected", arg);
        return 0;
    case KEY_LOSS:
        if ((options->loss = index_of(spec_losses_names, arg)) < 0)
            spec_usage_fail(verb, "--loss: '%s' is not ce, fkl, rkl, jsd, tv, nla or lk", arg);
        return 0;
    case KEY_RATE:
        if (!spec_settings_parse_double(&options->rate, arg) || !(options->rate > 0.0) ||
            options->rate > 1.0)
            spec_usage_fail(verb, "--rate: '%s' is not a number above 0, at most 1", arg);
        return 0;
    case ARGP_KEY_END:
        if (!options->on && (options->positions >= 0 || options->loss >= 0 || options->rate > 0.0))
            spec_usage_fail(verb, "--%s needs --online",
                            options->positions >= 0 ? "positions"
                            : options->loss >= 0    ? "loss"
                                                    : "rate");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp spec_bench_online_argp = {options_table, parse, NULL, NULL, NULL, NULL, NULL};

/* Models and prompts of a run. */
typedef struct {
    spec_model *target, *draft, *learning;
    spec_timing_prompts prompts;
    spec_timing_online timed;
    spec_table table;
} run;

/* Returns the positions of a window. It holds a beginning of text, a prompt, the text and the end
 * of its last draft, if the draft's context has room. */
static int places_of(const run *r, const spec_timing_online_plan *plan)
{
    const int window = r->draft->window;
    const size_t most = window > 0 && window < PLACES_MAX ? (size_t)window : PLACES_MAX,
                 wanted = spec_timing_prompts_longest(&r->prompts) + (size_t)plan->tokens +
                          (size_t)plan->decoder.K + 1;
    return (int)(wanted < most ? wanted : most);
}

static int open_run(run *r, const spec_bench_online_request *request, spec_timing_online_plan *plan,
                    spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_pair_options *pair = request->pair;
    if (pair->draft == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "--online needs --draft, the model that learns"));
    SPEC_TRY(spec_pair_options_open(&r->target, &r->draft, pair, error));
    plan->decoder = spec_pair_options_decoder(pair, r->target, r->draft);
    plan->decoder.K = request->K;
    plan->decoder.clock = request->clock;
    SPEC_TRY(spec_pair_options_K(&plan->decoder.K, request->K_given, r->draft, error));
    SPEC_TRY(spec_model_open(&r->learning, pair->draft, r->target, pair->context, error));
    plan->learning = r->learning;
    plan->texts = request->texts > 0 ? request->texts : TEXTS;
    if (request->opt_prompts != NULL)
        SPEC_TRY(spec_timing_prompts_read(&r->prompts, request->opt_prompts, r->target,
                                          request->context, error));
    else
        SPEC_TRY(spec_timing_prompts_make(&r->prompts, r->target, plan->texts, request->context,
                                          request->common->seed, error));
    if (request->texts == 0 && request->opt_prompts != NULL) plan->texts = r->prompts.n;
    plan->prompts = &r->prompts;
    plan->online.learner.places = places_of(r, plan);
done:
    return status;
}

static void say_updates(const run *r, const char *verb)
{
    const spec_timing_online *timed = &r->timed;
    const spec_draft_learner_plan *learner = &timed->plan.online.learner;
    spec_usage_say(verb, "the draft learnt in %ld updates, each from %d windows of %d tokens",
                   timed->updates, learner->texts, learner->places);
}

int spec_bench_online_run(const spec_bench_online_options *options,
                          const spec_bench_online_request *request, const char *verb)
{
    int status = GSL_SUCCESS, code = SPEC_EXIT_USAGE;
    spec_error error = {{0}};
    run r = {0};
    spec_timing_online_plan plan = {
        .online = {{.loss = options->loss >= 0 ? (spec_losses_kind)options->loss : SPEC_LOSSES_JSD,
                    .texts = WINDOWS,
                    .rate = options->rate > 0.0 ? options->rate : SPEC_ONLINE_RATE},
                   options->positions > 0 ? SPEC_ONLINE_REJECTED : SPEC_ONLINE_ALL},
        .tokens = request->tokens,
        .seed = request->common->seed,
        .opt_pool = request->common->context->pool,
        .opt_stop = &spec_stop,
        .opt_progress = spec_progress_reports_share,
    };
    SPEC_TRY(open_run(&r, request, &plan, &error));
    SPEC_TRY(spec_timing_online_init(&r.timed, &plan, &error));
    spec_progress_clear();
    SPEC_TRY(spec_timing_online_report_table(&r.table, &r.timed, request->asked, &error));
    spec_assumed_say(&request->pair->assumed, verb);
    code = spec_options_show(&r.table, request->common, verb);
    say_updates(&r, verb);
done:
    spec_progress_clear();
    if (status != GSL_SUCCESS) spec_usage_say(verb, "%s", error.text);
    spec_table_free(&r.table);
    spec_timing_online_free(&r.timed);
    spec_timing_prompts_free(&r.prompts);
    spec_model_close(r.learning);
    spec_model_close(r.draft);
    spec_model_close(r.target);
    return code;
}
