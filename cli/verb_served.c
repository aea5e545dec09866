/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/input_file.h"
#include "base/progress.h"
#include "base/settings.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "cli/verb.h"
#include "live/served.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_TEXT_FROM = 0x6001,
    KEY_SCORE_BY,
    KEY_PROMPTS,
    KEY_TEXTS,
    KEY_TOKENS,
    KEY_TEMPERATURE,
    KEY_TOP_K,
    KEY_TOP_P,
    KEY_MIN_P,
    KEY_TOP,
    KEY_CONCURRENCY,
    KEY_TIMEOUT,
    KEY_TEXT_KEY,
    KEY_SCORE_KEY,
    KEY_CAPTURE,
    KEY_RESUME,
    KEY_FALSE_ALARM_RATE
};
enum { KEY_BYTES = 1 << 16 };

static const struct argp_option options_table[] = {
    {"text-from", KEY_TEXT_FROM, "URL", 0, "the server whose text is judged", 1},
    {"score-by", KEY_SCORE_BY, "URL", 0,
     "a server of the same model without speculation, which scores the text", 1},
    {"prompts", KEY_PROMPTS, "FILE", 0, "prompts, lines like {\"prompt\": \"Once upon\"}", 1},
    {"texts", KEY_TEXTS, "N", 0, "texts to draw, prompt after prompt (200)", 2},
    {"tokens", KEY_TOKENS, "N", 0, "most tokens of a text (64)", 2},
    {"temperature", KEY_TEMPERATURE, "T", 0, "of the text (1); 0: greedy texts", 2},
    {"top-k", KEY_TOP_K, "K", 0, "draw from the K most probable tokens (0: all)", 2},
    {"top-p", KEY_TOP_P, "P", 0, "draw from the most probable tokens with a sum of P (1: all)", 2},
    {"min-p", KEY_MIN_P, "P", 0,
     "draw from tokens with at least P times the largest probability (0: all)", 2},
    {"top", KEY_TOP, "N", 0, "tokens that the scorer lists at each position (20)", 3},
    {"concurrency", KEY_CONCURRENCY, "N", 0, "texts side by side (4)", 3},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "longest time of a request (120)", 3},
    {"text-key", KEY_TEXT_KEY, "env:NAME|file:FILE", 0,
     "where the API key of --text-from is: an environment variable, or a file", 3},
    {"score-key", KEY_SCORE_KEY, "env:NAME|file:FILE", 0, "the same for --score-by", 3},
    {"capture", KEY_CAPTURE, "FILE", 0,
     "keep the texts and their scores, for --resume and 'speclab validate --trace FILE'", 4},
    {"resume", KEY_RESUME, NULL, 0, "go on with the file of --capture", 4},
    {"false-alarm-rate", KEY_FALSE_ALARM_RATE, "P", 0,
     "largest chance that a right server is called wrong (1e-6)", 4},
    {0},
};

typedef struct {
    spec_options common;
    spec_served_plan plan;
    char *text_key, *score_key;
} arguments;

/* Reads an API key, which must not get into a message. */
static char *read_key(const char *verb, const char *option, const char *arg)
{
    static const spec_input_limit limit = {"an API key", KEY_BYTES};
    spec_error error;
    char *key = NULL;
    size_t n;
    if (strncmp(arg, "env:", 4) == 0) {
        const char *value = getenv(arg + 4);
        if (value == NULL || *value == '\0')
            spec_usage_fail(verb, "--%s: there is no environment variable '%s'", option, arg + 4);
        if ((key = strdup(value)) == NULL) spec_usage_no_memory(verb);
    } else if (strncmp(arg, "file:", 5) == 0) {
        if (spec_input_file_read_text(&key, &n, arg + 5, &limit, &error) != GSL_SUCCESS)
            spec_usage_fail(verb, "--%s: %s", option, error.text);
    } else {
        spec_usage_fail(verb, "--%s says where the key is: env:NAME or file:FILE", option);
    }
    key[strcspn(key, "\r\n")] = '\0';
    if (*key == '\0') spec_usage_fail(verb, "--%s: the key is empty", option);
    return key;
}

static double number(const char *verb, const char *option, const char *arg, double low, double high)
{
    double x;
    if (!spec_settings_parse_double(&x, arg) || !(x >= low && x <= high))
        spec_usage_fail(verb, "--%s must be a number from %g to %g, got '%s'", option, low, high,
                        arg);
    return x;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    spec_served_plan *plan = &args->plan;
    spec_transform *t = &plan->sampling.transform;
    const char *verb = state->name;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->common; return 0;
    case KEY_TEXT_FROM: plan->text_url = arg; return 0;
    case KEY_SCORE_BY: plan->score_url = arg; return 0;
    case KEY_PROMPTS: plan->prompts = arg; return 0;
    case KEY_TEXTS: plan->texts = (int)spec_options_count(verb, "texts", arg, 1, 1000000); return 0;
    case KEY_TOKENS:
        plan->sampling.tokens = (int)spec_options_count(verb, "tokens", arg, 1, 100000);
        return 0;
    case KEY_TEMPERATURE: t->temperature = number(verb, "temperature", arg, 0.0, 100.0); return 0;
    case KEY_TOP_K:
        t->top_k = (int)spec_options_count(verb, "top-k", arg, 0, SPEC_LIVE_TOP - 1);
        return 0;
    case KEY_TOP_P: t->top_p = number(verb, "top-p", arg, 1e-6, 1.0); return 0;
    case KEY_MIN_P: t->min_p = number(verb, "min-p", arg, 0.0, 1.0); return 0;
    case KEY_TOP: plan->top = (int)spec_options_count(verb, "top", arg, 2, SPEC_LIVE_TOP); return 0;
    case KEY_CONCURRENCY:
        plan->lanes = (int)spec_options_count(verb, "concurrency", arg, 1, SPEC_HTTP_LANES);
        return 0;
    case KEY_TIMEOUT: plan->how.timeout = number(verb, "timeout", arg, 0.1, 1e5); return 0;
    case KEY_TEXT_KEY: args->text_key = read_key(verb, "text-key", arg); return 0;
    case KEY_SCORE_KEY: args->score_key = read_key(verb, "score-key", arg); return 0;
    case KEY_CAPTURE:
        if (*arg == '\0') spec_usage_fail(verb, "--capture: the file has no name");
        plan->opt_capture = arg;
        return 0;
    case KEY_RESUME: plan->resume = true; return 0;
    case KEY_FALSE_ALARM_RATE:
        plan->rate = number(verb, "false-alarm-rate", arg, 1e-12, 0.5);
        return 0;
    case ARGP_KEY_ARG: spec_usage_fail(verb, "'%s' is no option; all inputs are options", arg);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void complete(arguments *args, const char *verb)
{
    spec_served_plan *plan = &args->plan;
    const bool greedy = plan->sampling.transform.temperature == 0.0;
    spec_error error;
    if (plan->text_url == NULL) spec_usage_fail(verb, "--text-from: which server is to be judged?");
    if (plan->score_url == NULL) spec_usage_fail(verb, "--score-by: which server scores the text?");
    if (plan->prompts == NULL) spec_usage_fail(verb, "--prompts: which file has the prompts?");
    if (plan->resume && plan->opt_capture == NULL)
        spec_usage_fail(verb, "--resume needs --capture FILE");
    if (greedy && plan->opt_capture != NULL)
        spec_usage_fail(verb, "--capture is for drawn text: leave out --temperature 0");
    if (plan->opt_capture != NULL && args->common.output != NULL &&
        strcmp(plan->opt_capture, args->common.output) == 0)
        spec_usage_fail(verb, "--capture: '%s' is the file of -o", plan->opt_capture);
    if (spec_output_probe(args->common.output, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--output: %s", error.text);
    plan->seed = args->common.seed;
    plan->force = args->common.force;
    plan->opt_text_key = args->text_key;
    plan->opt_score_key = args->score_key;
}

static void show_progress(void *self, const char *what, int done, int texts)
{
    (void)self;
    if (texts == 0)
        spec_progress_phase(what);
    else
        spec_progress_report((double)done, (double)texts, "texts", what);
}

static int code_of(const spec_served_result *r)
{
    if (r->greedy)
        return r->served.texts == 0  ? SPEC_EXIT_UNDECIDED
               : r->served.wrong > 0 ? SPEC_EXIT_FAILS
                                     : SPEC_EXIT_HOLDS;
    return r->judgement.verdict == SPEC_SERVED_RIGHT       ? SPEC_EXIT_HOLDS
           : r->judgement.verdict == SPEC_SERVED_UNDECIDED ? SPEC_EXIT_UNDECIDED
                                                           : SPEC_EXIT_FAILS;
}

static int served(const arguments *args, const char *verb)
{
    const spec_options *common = &args->common;
    const bool json = spec_options_json(common, verb);
    spec_served_result result;
    spec_output output = {0};
    spec_error error = {{0}};
    int status = GSL_SUCCESS;
    spec_stop_awaited();
    SPEC_TRY(spec_served(&result, &args->plan, &error));
    spec_progress_clear();
    SPEC_TRY(spec_output_open(&output, common->output, verb, &error));
    if (json)
        status = spec_served_report_json(output.out, &result, &error);
    else
        spec_served_report(output.out, &result);
    SPEC_TRY(spec_output_check(&output, status, &error));
    SPEC_TRY(spec_output_close(&output, common->force, verb, &error));
done:
    spec_output_discard(&output);
    if (status == GSL_SUCCESS && result.stopped) return SPEC_EXIT_USAGE;
    if (status == GSL_SUCCESS) return code_of(&result);
    spec_usage_say(verb, "%s", error.text);
    return SPEC_EXIT_USAGE;
}

int spec_verb_served(spec_context *context, int argc, char **argv)
{
    static const struct argp_child children[] = {{&spec_options_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table,
        parse,
        NULL,
        "is the text of a server right?\vserved draws texts at one server, which speculates, and "
        "scores them at another that runs the same model without speculation. Every token must "
        "have been drawn from the scorer's distribution. The verdict says what is wrong: the state "
        "(a cache that was not rolled back, another request's text), the sampler, or the filters; "
        "or how small a difference can be that was not seen. At temperature 0 every token must be "
        "the most probable one, up to rounding, which is measured.\n"
        "\n"
        "It knows llama-server, vLLM and SGLang, and asks each server which it is. docs/served.md "
        "shows how to start the servers and what to do with a verdict.\n"
        "\n"
        "  $ speclab served --text-from http://a:8001 --score-by http://b:8002 --prompts p.jsonl\n"
        "  $ speclab served ... --temperature 0\n"
        "  $ speclab served ... --temperature 0.7 --top-k 20 --top 40 --capture texts.jsonl\n"
        "\n"
        "Exit status: 0 no difference; 1 wrong; 2 bad usage, or a server fails; 3 too few tokens "
        "to say; 130 after ctrl-C, which judges the texts so far.",
        children,
        NULL,
        NULL};
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context),
                      .plan = {.texts = 200,
                               .top = 20,
                               .lanes = 4,
                               .sampling = {.tokens = 64, .transform = SPEC_TRANSFORM_NONE},
                               .rate = 1e-6,
                               .how = SPEC_HTTP_DEFAULT,
                               .progress = show_progress}};
    args.common.opt_formats = "table (the text, default) or json";
    args.common.opt_output = SPEC_OPTIONS_TEXT_OUTPUT;
    args.plan.how.opt_stop = &spec_stop;
    spec_usage_parse(&argp, argc, argv, &args);
    complete(&args, argv[0]);
    const int code = served(&args, argv[0]);
    free(args.text_key);
    free(args.score_key);
    return code;
}
