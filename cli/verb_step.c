/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/stop_flag.h"
#include "cli/fields.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/pair_options.h"
#include "cli/prompt.h"
#include "cli/step/step_json.h"
#include "cli/stop.h"
#include "cli/verb.h"

#include "base/json_memory.h"
#include "base/progress.h"
#include "base/settings.h"
#include "base/text_width.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXAMPLE_TARGET "probs:0.5,0.2,0.1,0.2"
#define EXAMPLE_DRAFT "probs:0.4,0.3,0.2,0.1"
#define EXAMPLE_NAMES "the,cat,sat,dog"

/* The law of one token is enumerated only for small vocabularies, in well under a second. */
enum { LAW_VOCAB = 64, LAW_BRANCHES = 300000, ROUNDS_MAX = 10000, TOP_MAX = 1000 };

typedef struct {
    spec_options common;
    spec_pair_options pair;
    int K;
    bool json;
    uint64_t rounds;
    int top;
    const char *coins, *context, *names;
} arguments;

#define FIELD(member) SPEC_FIELD(arguments, member)
static const spec_field fields[] = {
    {"K", 'K', "N", "draft tokens per round", FIELD(K), .fallback = "2", .high = SPEC_K_MAX},
    {.help = "The round:", .group = 2},
    {"coins", 0, "U,...", "the first uniform numbers, in [0,1); further ones come from --seed",
     FIELD(coins), .group = 2},
    {"context", 0, "TEXT",
     "the text before the round, or token numbers for a model without a tokenizer (none)",
     FIELD(context), .group = 2},
    {"rounds", 0, "N", "number of consecutive rounds", FIELD(rounds), .fallback = "1", .low = 1,
     .high = ROUNDS_MAX, .group = 2},
    {"names", 0, "NAME,...", "names of all tokens, to be shown instead of numbers", FIELD(names),
     .group = 2},
    {"top", 0, "N", "show the N most probable tokens of a larger vocabulary", FIELD(top),
     .fallback = "8", .low = 1, .high = TOP_MAX, .group = 2},
    {0},
};

/* Without models, takes the example of four tokens. */
static void complete(arguments *args, const char *verb)
{
    if (args->pair.target == NULL && args->pair.draft == NULL) {
        args->pair.target = EXAMPLE_TARGET;
        args->pair.draft = EXAMPLE_DRAFT;
        if (args->names == NULL) args->names = EXAMPLE_NAMES;
    }
    if (args->pair.ahead)
        spec_usage_fail(verb, "--ahead: step only shows rounds that draft after verification");
    if (args->pair.verify == SPEC_VERIFY_DEVICE)
        spec_usage_fail(verb, "--verify: step makes the decisions on the host");
    args->pair.verify = SPEC_VERIFY_HOST;
    args->json = spec_options_json(&args->common, verb);
    spec_pair_options_complete(&args->pair, verb);
}

static double *read_coins(int *ret_n, const char *list, const char *verb)
{
    const size_t most = list != NULL ? strlen(list) / 2 + 1 : 1;
    double *coin = malloc(most * sizeof *coin);
    char *copy = strdup(list != NULL ? list : "");
    if (coin == NULL || copy == NULL) spec_usage_no_memory(verb);
    *ret_n = 0;
    for (char *rest = copy, *word; list != NULL && (word = strsep(&rest, ",")) != NULL;) {
        double value;
        if (!spec_settings_parse_double(&value, word) || !(value >= 0.0 && value < 1.0))
            spec_usage_fail(verb, "--coins: '%.40s' is not a number from 0 to below 1", word);
        coin[(*ret_n)++] = value;
    }
    free(copy);
    return coin;
}

/* Returns whether the output is a terminal whose locale is UTF-8. */
static bool shows_utf8(const arguments *args)
{
    if (args->common.output != NULL || !isatty(STDOUT_FILENO)) return false;
    const locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (locale == (locale_t)0) return false;
    const bool utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
    freelocale(locale);
    return utf8;
}

static void write_head(FILE *out, const arguments *args, const spec_decoder *decoder)
{
    enum { LABEL = 10 };
    const spec_pair_options *pair = &args->pair;
    spec_step_line rule = {.n = 0};
    spec_step_text_add(&rule, "%s: %s", pair->rule, decoder->rule.summary);
    fprintf(out, "target    %s\ndraft     %s\ndrafting  %s, K = %d", pair->target,
            pair->draft != NULL ? pair->draft : "none", pair->drafting, args->K);
    if (strcmp(pair->policy, "fixed") != 0) fprintf(out, ", policy %s", pair->policy);
    fputs("\nrule      ", out);
    spec_text_wrap(rule.text, SPEC_STEP_COLUMNS - LABEL, LABEL, out);
    fputs("\n\n", out);
}

static json_t *json_head(const arguments *args)
{
    const spec_pair_options *pair = &args->pair;
    return json_pack("{ss ss? ss ss ss si sI so}", "target", pair->target, "draft", pair->draft,
                     "drafting", pair->drafting, "policy", pair->policy, "rule", pair->rule, "K",
                     args->K, "seed", (json_int_t)args->common.seed, "rounds", json_array());
}

/* Finds the law of the first token, if that is cheap enough. */
static int find_law(bool *ret_found, spec_output_law *ret_law, const spec_decoder_config *config,
                    const int *context, size_t n, spec_error *error)
{
    int status = GSL_EFAILED;
    if (config->target->vocab <= LAW_VOCAB)
        status = spec_output_law_init(ret_law, config, context, n, 1, LAW_BRANCHES, error);
    *ret_found = status == GSL_SUCCESS;
    return status == GSL_ENOMEM ? status : GSL_SUCCESS;
}

static int write_json(FILE *out, const json_t *root, spec_error *error)
{
    if (spec_json_lost()) return spec_no_memory(error);
    errno = 0;
    if (json_dumpf(root, out, JSON_REAL_PRECISION(17)) != 0 || fputc('\n', out) == EOF)
        return spec_json_lost() ? spec_no_memory(error)
                                : spec_fail(error, GSL_EFAILED, "cannot write the rounds: %s",
                                            strerror(errno == 0 ? EIO : errno));
    return GSL_SUCCESS;
}

/* Returns whether another round follows: the text has not ended, and the windows have room. */
static bool goes_on(const spec_decoder *decoder)
{
    return !spec_decoder_ended(decoder) && spec_decoder_room(decoder) >= 0;
}

/* The context is what precedes the first round. */
static int write_rounds(FILE *out, const arguments *args, const spec_step_view *view,
                        spec_round_log *log, const int *context, size_t n, spec_error *error)
{
    const bool as_json = args->json;
    spec_output_law law = {0};
    bool lawful;
    int status = GSL_SUCCESS;
    spec_json_begin();
    json_t *root = as_json ? json_head(args) : NULL;
    SPEC_TRY(find_law(&lawful, &law, &log->decoder->config, context, n, error));
    spec_progress_clear();
    if (!as_json) write_head(out, args, log->decoder);
    for (uint64_t i = 0; i < args->rounds && (i == 0 || goes_on(log->decoder)); i++) {
        SPEC_TRY(spec_stop_check(&spec_stop, error));
        SPEC_TRY(spec_round_log_next(log, error));
        if (as_json) {
            json_array_append_new(json_object_get(root, "rounds"), spec_step_json_round(view));
            continue;
        }
        if (i > 0) fputc('\n', out);
        SPEC_TRY(spec_step_page_round(out, view, (int)i + 1, error));
        if (i == 0 && lawful) spec_step_page_law(out, view, &law);
    }
    if (as_json && lawful) json_object_set_new(root, "first_token", spec_step_json_law(&law));
    if (as_json) SPEC_TRY(write_json(out, root, error));
done:
    spec_output_law_free(&law);
    json_decref(root);
    return status;
}

const spec_fields spec_verb_step_options = {
    .fields = fields,
    .doc =
    "show one round of speculative decoding, decision by decision\vShows the draft tokens, the "
    "rows of both models as bars, every test with its ratio and its coin, the residual after a "
    "rejection, and the correction or bonus token. A coin is the uniform number behind a decision: "
    "a test accepts if its coin is below the ratio, and a draw takes the token whose share of the "
    "weights contains its coin; a decision without a coin was certain. For small vocabularies the "
    "exact distribution of the first token follows, computed from every branch of the round, "
    "together with the target's row. --format json prints every number in full. Without models, "
    "the example has four tokens.\n"
    "\n"
    "  $ speclab step --K 1 --coins 0.5,0.7,0.6\n"
    "  $ speclab step --rule block --K 3 --seed 7\n"
    "  $ speclab step --rule rrs --drafting 'tree?n=2' --K 2 --rounds 2",
    .also = spec_pair_options_fields,
    .also_at = offsetof(arguments, pair),
    .formats = "json: all rows, weights and coins (plain text)",
    .output = SPEC_FIELDS_TEXT_OUTPUT,
};

int spec_verb_step(spec_context *context, int argc, char **argv)
{
    const char *verb = argv[0];
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context), .pair = {.context = context}};
    spec_fields_parse(&args, &args.common, &spec_verb_step_options, argc, argv);
    complete(&args, verb);

    int status = GSL_SUCCESS, n_coins;
    spec_error error = {{0}};
    spec_model *target = NULL, *draft = NULL;
    spec_decoder decoder = {.nodes = 0};
    spec_round_log log = {.n = 0};
    spec_token_names names = {.n = 0};
    spec_output file = {.out = NULL};
    size_t n = 0;
    int *before = NULL;
    double *coin = read_coins(&n_coins, args.coins, verb);
    gsl_rng *rng = spec_rng_alloc();
    if (rng == NULL) SPEC_TRY(spec_no_memory(&error));
    spec_rng_stream(rng, args.common.seed, 0);
    SPEC_TRY(spec_pair_options_open(&target, &draft, &args.pair, &error));
    SPEC_TRY(spec_pair_options_K(&args.K, spec_fields_gave("K"), draft, &error));
    SPEC_TRY(spec_token_names_init(&names, args.names, target, shows_utf8(&args), &error));
    const char *text = args.context != NULL ? args.context : "";
    before = spec_prompt_tokens(&n, "context", text, strlen(text), target, verb);
    spec_decoder_config config = spec_pair_options_decoder(&args.pair, target, draft);
    config.K = args.K;
    SPEC_TRY(spec_decoder_init(&decoder, &config, &error));
    SPEC_TRY(spec_decoder_reset(&decoder, before, n, &error));
    spec_round_log_init(&log, &decoder, coin, n_coins, rng);
    SPEC_TRY(spec_output_open(&file, args.common.output, verb, &error));
    spec_assumed_say(&args.pair.assumed, verb);
    const spec_step_view view = {.log = &log, .names = &names, .top = args.top};
    SPEC_TRY(spec_output_check(&file, write_rounds(file.out, &args, &view, &log, before, n, &error),
                               &error));
    SPEC_TRY(spec_output_close(&file, args.common.force, verb, &error));
    if (log.report.used < n_coins)
        spec_usage_note(verb, "%d of %d coins were not needed", n_coins - log.report.used, n_coins);
done:
    spec_output_discard(&file);
    if (status != GSL_SUCCESS) spec_usage_say(verb, "%s", error.text);
    spec_round_log_free(&log);
    spec_decoder_free(&decoder);
    spec_token_names_free(&names);
    spec_model_close(draft);
    spec_model_close(target);
    spec_pair_options_free(&args.pair);
    if (rng != NULL) gsl_rng_free(rng);
    free(before);
    free(coin);
    return status == GSL_SUCCESS ? SPEC_EXIT_HOLDS : SPEC_EXIT_USAGE;
}
