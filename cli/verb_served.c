/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/memory_text.h"
#include "base/progress.h"
#include "cli/fields.h"
#include "cli/key_option.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/stop.h"
#include "cli/verb.h"
#include "speclab/no_memory.h"
#include "tools/live/local_scorer.h"
#include "tools/live/served.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_options common;
    spec_served_plan plan;
    const char *compare_with;
    char *text_key, *score_key;
} arguments;

static void read_text_key(void *arguments_, const char *word, const char *verb)
{
    ((arguments *)arguments_)->text_key = spec_key_option_read(verb, "text-key", word);
}

static void read_score_key(void *arguments_, const char *word, const char *verb)
{
    ((arguments *)arguments_)->score_key = spec_key_option_read(verb, "score-key", word);
}

static const spec_field fields[] = {
    {"text-from", 0, "URL", "the server whose text is judged",
     SPEC_FIELD(arguments, plan.text_url)},
    {"score-by", 0, "URL|MODEL",
     "what scores the text: a server of the same model without speculation, or the model itself, "
     "such as gguf:FILE, which speclab runs",
     SPEC_FIELD(arguments, plan.score_by)},
    {"compare-with", 0, "URL",
     "instead of --score-by: a plain server that gives no scores; only texts are compared",
     SPEC_FIELD(arguments, compare_with)},
    {"prompts", 0, "FILE",
     "prompts, lines like {\"prompt\": \"Once upon\"} or {\"messages\": [{\"role\": ...}]}",
     SPEC_FIELD(arguments, plan.prompts)},
    {"texts", 0, "N", "number of texts to draw; prompts are used in turn",
     SPEC_FIELD(arguments, plan.texts), .fallback = "200", .low = 1, .high = 1e6, .group = 2},
    {"tokens", 0, "N", "maximum number of tokens in a text",
     SPEC_FIELD(arguments, plan.sampling.tokens), .fallback = "64", .low = 1, .high = 1e5,
     .group = 2},
    {"temperature", 0, "T", "sampling temperature; 0: greedy",
     SPEC_FIELD(arguments, plan.sampling.transform.temperature), .fallback = "1", .low = 0,
     .high = 100, .group = 2},
    {"top-k", 0, "K", "draw from the K most probable tokens; 0: all",
     SPEC_FIELD(arguments, plan.sampling.transform.top_k), .fallback = "0", .low = 0,
     .high = SPEC_LIVE_TOP - 1, .group = 2},
    {"top-p", 0, "P", "draw from the fewest tokens whose total probability is at least P; 1: all",
     SPEC_FIELD(arguments, plan.sampling.transform.top_p), .fallback = "1", .low = 0, .high = 1,
     .above = true, .group = 2},
    {"min-p", 0, "P", "draw from tokens with at least P times the largest probability; 0: all",
     SPEC_FIELD(arguments, plan.sampling.transform.min_p), .fallback = "0", .low = 0, .high = 1,
     .group = 2},
    {"presence-penalty", 0, "X", "subtract X from the logits of tokens that have occurred",
     SPEC_FIELD(arguments, plan.sampling.presence), .fallback = "0", .low = 0, .high = 2,
     .group = 2},
    {"frequency-penalty", 0, "X", "subtract X for each time that a token has occurred",
     SPEC_FIELD(arguments, plan.sampling.frequency), .fallback = "0", .low = 0, .high = 2,
     .group = 2},
    {"equal-seeds", 0, NULL,
     "compare the texts that both servers draw from the same seeds; for llama-server",
     SPEC_FIELD(arguments, plan.equal_seeds), .group = 2},
    {"top", 0, "N", "tokens that the scorer lists at each position",
     SPEC_FIELD(arguments, plan.top), .fallback = "20", .low = 2, .high = SPEC_LIVE_TOP,
     .group = 3},
    {"concurrency", 0, "N", "texts drawn at the same time", SPEC_FIELD(arguments, plan.lanes),
     .fallback = "4", .low = 1, .high = SPEC_HTTP_LANES, .group = 3},
    {"timeout", 0, "SECONDS", "time limit of a request", SPEC_FIELD(arguments, plan.how.timeout),
     .fallback = "120", .low = 0.1, .high = 1e5, .group = 3},
    {"text-key", 0, "env:NAME|file:FILE",
     "where the API key of --text-from is: an environment variable, or a file",
     .read = read_text_key, .group = 3},
    {"score-key", 0, "env:NAME|file:FILE",
     "API key of --score-by or --compare-with, given as for --text-key", .read = read_score_key,
     .group = 3},
    {"text-model", 0, "NAME", "which model of --text-from to ask; by default its first",
     SPEC_FIELD(arguments, plan.opt_text_model), .group = 3},
    {"score-model", 0, "NAME", "which model of --score-by or --compare-with to ask",
     SPEC_FIELD(arguments, plan.opt_score_model), .group = 3},
    {"capture", 0, "FILE",
     "keep the texts and their scores, for --resume and 'speclab validate --trace FILE'",
     SPEC_FIELD(arguments, plan.opt_capture), .group = 4},
    {"resume", 0, NULL, "continue from the file of --capture", SPEC_FIELD(arguments, plan.resume),
     .group = 4},
    {"false-alarm-rate", 0, "P", "largest chance that a correct server is called wrong",
     SPEC_FIELD(arguments, plan.rate), .fallback = "1e-6", .low = 0, .high = 0.5, .above = true,
     .group = 4},
    {0},
};

static const spec_field_relation relations[] = {
    {"resume", true, "capture", NULL},
    {"equal-seeds", false,
     "temperature top-k top-p min-p presence-penalty frequency-penalty capture",
     ": it compares texts at temperature 1, without filters, penalties and scores"},
    {"compare-with", false, "score-by equal-seeds capture",
     ": it compares samples of two servers, without scores"},
    {0}};

static void complete(arguments *args, const char *verb)
{
    spec_served_plan *plan = &args->plan;
    const bool greedy = plan->sampling.transform.temperature == 0.0;
    spec_error error;
    if (plan->text_url == NULL) spec_usage_fail(verb, "--text-from: which server is to be judged?");
    if (args->compare_with != NULL) {
        plan->score_by = args->compare_with;
        plan->two_samples = true;
        if (greedy)
            spec_usage_fail(verb, "--compare-with is for drawn text: leave out --temperature 0");
        if (spec_local_scorer_is_model(plan->score_by))
            spec_usage_fail(verb,
                            "--compare-with: '%s' is not an address such as "
                            "http://localhost:8000",
                            plan->score_by);
        if (plan->rate < SPEC_TWO_SAMPLES_RATE)
            spec_usage_fail(verb,
                            "--false-alarm-rate must be at least %g with --compare-with, "
                            "which needs 1/P permutations",
                            SPEC_TWO_SAMPLES_RATE);
    }
    if (plan->score_by == NULL || *plan->score_by == '\0')
        spec_usage_fail(verb, "--score-by: which server or model scores the text?");
    if (plan->prompts == NULL) spec_usage_fail(verb, "--prompts: which file has the prompts?");
    if (plan->opt_capture != NULL && *plan->opt_capture == '\0')
        spec_usage_fail(verb, "--capture: the file has no name");
    if (greedy && plan->opt_capture != NULL)
        spec_usage_fail(verb, "--capture is for drawn text: leave out --temperature 0");
    if (plan->opt_capture != NULL && args->common.output != NULL &&
        strcmp(plan->opt_capture, args->common.output) == 0)
        spec_usage_fail(verb, "--capture and -o name the same file, '%s'", plan->opt_capture);
    if (spec_output_probe(args->common.output, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--output: %s", error.text);
    if (args->score_key != NULL && spec_local_scorer_is_model(plan->score_by))
        spec_usage_fail(verb, "--score-key is for a server, and --score-by is a model");
    if (plan->opt_score_model != NULL && spec_local_scorer_is_model(plan->score_by))
        spec_usage_fail(verb, "--score-model is for a server, and --score-by is a model");
    if (plan->equal_seeds && spec_local_scorer_is_model(plan->score_by))
        spec_usage_fail(verb, "--equal-seeds compares two servers, and --score-by is a model");
    if (strcmp(plan->text_url, plan->score_by) == 0 && plan->opt_text_model == NULL &&
        plan->opt_score_model == NULL)
        spec_usage_say(verb,
                       "warning: --text-from and --%s are the same server; give the second one "
                       "that does not speculate",
                       plan->two_samples ? "compare-with" : "score-by");
    plan->opt_context = args->common.context;
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
    const spec_served_verdict verdict = spec_served_verdict_of(r);
    return verdict == SPEC_SERVED_RIGHT       ? SPEC_EXIT_HOLDS
           : verdict == SPEC_SERVED_UNDECIDED ? SPEC_EXIT_UNDECIDED
                                              : SPEC_EXIT_FAILS;
}

/* Writes the report as text, wrapped on a terminal. */
static int write_text(const spec_served_result *result, int columns, FILE *out, spec_error *error)
{
    spec_memory_text page;
    if (!spec_memory_text_open(&page)) return spec_no_memory(error);
    spec_served_report(page.out, result);
    char *text = spec_memory_text_take(&page, NULL);
    if (text == NULL) return spec_no_memory(error);
    spec_page_write(text, columns, out);
    free(text);
    return GSL_SUCCESS;
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
    status = json ? spec_served_report_json(output.out, &result, &error)
                  : write_text(&result, spec_options_columns(common), output.out, &error);
    SPEC_TRY(spec_output_check(&output, status, &error));
    SPEC_TRY(spec_output_close(&output, common->force, verb, &error));
done:
    spec_output_discard(&output);
    if (status == GSL_SUCCESS && result.stopped) return SPEC_EXIT_USAGE;
    if (status == GSL_SUCCESS) return code_of(&result);
    spec_usage_say(verb, "%s", error.text);
    return SPEC_EXIT_USAGE;
}

const spec_fields spec_verb_served_options = {
    .fields = fields,
    .relations = relations,
    .doc =
        "is the text of a server right?\vserved draws texts at one server, which speculates, and "
        "has "
        "another server, which runs the same model without speculation, or speclab's own engine, "
        "score them. Every token must "
        "have been drawn from the scorer's distribution. The verdict says what is wrong: the state "
        "(a "
        "cache that was not rolled back, another request's text), the sampler, or the filters; or "
        "how "
        "large a difference could have gone unnoticed. At temperature 0 every token must be the "
        "most "
        "probable one, up to rounding, which is measured.\n"
        "\n"
        "It knows llama-server, vLLM and SGLang, and asks each server which it is; with "
        "--compare-with, others that have OpenAI's interface will do. docs/served.md shows how to "
        "start the servers and what to do with a verdict.\n"
        "\n"
        "  $ speclab served --text-from http://a:8001 --score-by http://b:8002 --prompts p.jsonl\n"
        "  $ speclab served --text-from http://a:8001 --score-by gguf:model.gguf --prompts "
        "p.jsonl\n"
        "  $ speclab served ... --temperature 0\n"
        "  $ speclab served ... --equal-seeds\n"
        "  $ speclab served --text-from http://a:8001 --compare-with http://b:8002 --prompts "
        "p.jsonl\n"
        "  $ speclab served ... --temperature 0.7 --top-k 20 --top 40 --capture texts.jsonl\n"
        "\n"
        "Exit status: 0 no difference found; 1 the server is wrong; 2 bad usage, or a server "
        "failed; 3 "
        "too few tokens to decide; 130 stopped by ctrl-C, after judging the texts drawn so far.",
    .formats = "table (the text, default) or json",
    .output = SPEC_FIELDS_TEXT_OUTPUT,
};

int spec_verb_served(spec_context *context, int argc, char **argv)
{
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context),
                      .plan = {.how = SPEC_HTTP_DEFAULT, .progress = show_progress}};
    args.plan.how.opt_stop = &spec_stop;
    spec_fields_parse(&args, &args.common, &spec_verb_served_options, argc, argv);
    complete(&args, argv[0]);
    const int code = served(&args, argv[0]);
    free(args.text_key);
    free(args.score_key);
    return code;
}
