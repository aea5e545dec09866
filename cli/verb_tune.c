/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/stop_flag.h"
#include "cli/fields.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "cli/verb.h"

#include "analysis/speedup.h"
#include "analysis/statistics/moments.h"
#include "base/build_info.h"
#include "base/progress.h"
#include "experiments/training_texts.h"
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "models/transformer/files/checkpoint.h"
#include "sim/chance/rng.h"
#include "tools/tune/skip_scores.h"
#include "tools/tune/skip_search.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the arguments --------------------------------------------------------------------------- */

typedef struct {
    spec_options common; /* output: the trials */
    const char *target, *data;
    bool method[SPEC_SKIP_EXHAUSTIVE + 1];
    int texts, tokens, trials, runs, top, check; /* tokens 0: not given */
    spec_assumed assumed;                        /* the relevant options that were not given */
} arguments;

static void read_methods(void *arguments_, const char *list, const char *verb)
{
    arguments *args = arguments_;
    memset(args->method, 0, sizeof args->method);
    for (const char *at = list;; at++) {
        const size_t size = strcspn(at, ",");
        int i = 0;
        while (spec_skip_methods[i] != NULL && (strlen(spec_skip_methods[i]) != size ||
                                                memcmp(spec_skip_methods[i], at, size) != 0))
            i++;
        if (spec_skip_methods[i] == NULL)
            spec_usage_fail(verb, "--method: '%.*s' is not bayes, random or exhaustive", (int)size,
                            at);
        args->method[i] = true;
        at += size;
        if (*at == '\0') return;
    }
}

static void refuse(void *arguments_, const char *word, const char *verb)
{
    (void)arguments_;
    spec_usage_fail(verb, "'%s': give the model with --target", word);
}

#define FIELD(member) SPEC_FIELD(arguments, member)
static const spec_field fields[] = {
    {"target", 0, "SPEC", "the target model, a transformer", FIELD(target)},
    {"data", 0, "FILE",
     "a text file whose passages start the target's texts; own: they start empty", FIELD(data),
     .fallback = "own", .assumed = true},
    {"texts", 0, "N", "texts sampled from the target", FIELD(texts), .fallback = "8",
     .assumed = true, .low = 1, .high = 1 << 16},
    {"tokens", 0, "N", "tokens per text (256, or the target's context)", FIELD(tokens), .low = 2,
     .high = SPEC_CONTEXT_MAX},
    {"method", 0, "LIST", "bayes, random or exhaustive, or several", .read = read_methods,
     .fallback = "bayes", .assumed = true, .group = 2},
    {"trials", 0, "N", "number of sets that bayes and random try", FIELD(trials), .fallback = "60",
     .assumed = true, .low = 1, .high = SPEC_SKIP_TRIALS_MAX, .group = 2},
    {"runs", 0, "N", "runs of bayes and random, with consecutive seeds", FIELD(runs),
     .fallback = "1", .low = 1, .high = 1000, .group = 2},
    {"top", 0, "N", "number of sets in the table", FIELD(top), .fallback = "10", .low = 1,
     .high = 1 << 16, .group = 3},
    {"check", 0, "N", "number of best sets that are measured in real decoding", FIELD(check),
     .fallback = "3", .high = 1000, .group = 3},
    {0},
};

const spec_fields spec_verb_tune_options = {
    .fields = fields,
    .doc =
    "find the sublayers to skip in self-speculation\vA draft that is the target without some of "
    "its attention layers (0a: the one in layer 0) and feed-forward networks (0f) needs no "
    "training. Each set of skipped sublayers is measured along texts of the target: alpha_mean is "
    "the mean overlap of the draft's rows with the target's, c is the share of a pass's weight "
    "bytes that the draft reads; best_K and best_speedup follow in closed form. Bayesian "
    "optimisation chooses the sets to try; the table has the best ones, as specs for --draft. For "
    "the best few, walk_tokens is the number of tokens per round at walk_K in real decoding, with "
    "the target's KV cache, and walk_speedup is predicted from it. bench measures the speed-up.\n"
    "\n"
    "  $ speclab tune --target model.bin --data stories.txt\n"
    "  $ speclab tune --target model.bin --method bayes,random --runs 20 -o tune.csv",
    .word = refuse,
    .output = "the trials; the best sets go to standard output",
};

static void parse(arguments *args, spec_context *context, int argc, char **argv)
{
    *args = (arguments){.common = SPEC_OPTIONS_DEFAULT(context)};
    spec_fields_parse(args, &args->common, &spec_verb_tune_options, argc, argv);
    if (args->target == NULL) spec_usage_fail(argv[0], "give the model with --target");
    spec_fields_assume(&args->assumed, fields, args);
}

/* ---- the texts ------------------------------------------------------------------------------- */

enum { PROMPT = 32, WALK_K = 8 };

typedef struct {
    const arguments *args;
    const char *verb;
    spec_model *target;
    spec_skip_scores scores;
    spec_table trials;
    spec_skip_method method;
    const spec_skip_search *search;
    int run, trial;
    double best;
    double *best_of_run; /* (methods, runs) */
} tuning;

/* Makes texts of the target: its own from the first token on, or after prompts from a file. */
static int make_texts(spec_skip_texts *ret, int *token, const tuning *t, spec_error *error)
{
    int status = GSL_SUCCESS;
    const arguments *args = t->args;
    const spec_transformer *transformer = spec_transformer_of(t->target);
    const bool own = strcmp(args->data, "own") == 0;
    spec_training_texts prompts = {0}, texts = {0};
    spec_thread_pool *pool = args->common.context->pool;
    int *next = malloc((size_t)ret->length * sizeof *next);
    const spec_training_sampling how = {.model = t->target,
                                        .begin = -1,
                                        .places = ret->length - 1,
                                        .count = (size_t)ret->texts,
                                        .prompt = own ? 0 : PROMPT,
                                        .seed = spec_rng_named_seed(args->common.seed, "texts")};
    if (next == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    if (own && t->target->one_hot)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "--data own: at temperature 0 all texts are the same; give a text file, "
                           "whose passages begin them"));
    if (!own && transformer->checkpoint->opt_tokenizer == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "--target: the model has no vocabulary to read %.200s", args->data));
    if (!own)
        SPEC_TRY(spec_training_texts_load(
            &prompts, args->data, transformer->checkpoint->opt_tokenizer, -1, how.places, error));
    spec_progress_phase("sampling texts");
    SPEC_TRY(spec_training_texts_sample(&texts, &prompts, &how, pool, error));
    for (int i = 0; i < ret->texts; i++) {
        int *to = token + (ptrdiff_t)i * ret->length;
        spec_training_texts_held_out(to, next, &texts, i, ret->texts);
        to[ret->length - 1] = next[ret->length - 2];
    }
    ret->token = token;
    ret->first = own ? 0 : PROMPT - 1;
done:
    spec_progress_phase(NULL);
    spec_training_texts_free(&prompts);
    spec_training_texts_free(&texts);
    free(next);
    return status;
}

static int open_target(tuning *t, spec_error *error)
{
    int status = GSL_SUCCESS;
    const arguments *args = t->args;
    spec_context *context = args->common.context;
    spec_error reason = {""};
    int *token = NULL;
    status = spec_model_open(&t->target, args->target, NULL, context, &reason);
    if (status != GSL_SUCCESS) SPEC_TRY(spec_fail(error, status, "--target: %s", reason.text));
    if (spec_transformer_of(t->target) == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "--target: %.200s is not a transformer, so it has no layers to skip; "
                           "give a checkpoint of llama2.c or a GGUF file",
                           args->target));
    const int window = t->target->window;
    spec_skip_texts texts = {.texts = args->texts,
                             .length = args->tokens > 0 ? args->tokens
                                       : window < 256   ? window
                                                        : 256};
    if (texts.length > window || texts.length < PROMPT + WALK_K)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "--tokens: %d is out of range: from %d to the context of %d",
                           texts.length, PROMPT + WALK_K, window));
    token = malloc((size_t)texts.texts * (size_t)texts.length * sizeof *token);
    if (token == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    SPEC_TRY(make_texts(&texts, token, t, error));
    SPEC_TRY(spec_skip_scores_init(&t->scores, t->target, &texts, context, error));
done:
    free(token);
    return status;
}

/* ---- the searches ---------------------------------------------------------------------------- */

static int count_skipped(const tuning *t, const unsigned char *set)
{
    int n = 0;
    for (int i = 0; i < t->scores.sublayers; i++) n += set[i];
    return n;
}

static void fill_set(spec_table *table, const tuning *t, const unsigned char *set,
                     const spec_skip_score *score)
{
    char spec[SPEC_SKIP_SPEC_SIZE];
    spec_skip_scores_spec(spec, sizeof spec, &t->scores, set);
    spec_table_text(table, "draft", spec);
    spec_table_integer(table, "skipped", count_skipped(t, set));
    spec_table_number(table, "alpha_mean", score->alpha);
    spec_table_number(table, "c", score->c);
    spec_table_number(table, "best_K", score->best_K);
    spec_table_number(table, "best_speedup", score->speedup);
}

/* Computes the value of a set, for a search. Writes its row at once, so that an interrupted search
 * keeps its trials. */
static int try_set(void *self, double *ret_value, const unsigned char *set, spec_error *error)
{
    int status = GSL_SUCCESS;
    tuning *t = self;
    spec_skip_score score;
    char note[SPEC_PROGRESS_NOTE];
    SPEC_PASS(spec_stop_check(&spec_stop, error));
    SPEC_TRY(spec_skip_scores_get(&score, &t->scores, set, error));
    *ret_value = score.speedup;
    t->best = t->trial == 0 ? score.speedup : fmax(t->best, score.speedup);
    t->best_of_run[(int)t->method * t->args->runs + t->run] = t->best;
    spec_table_text(&t->trials, "method", spec_skip_methods[t->method]);
    spec_table_integer(&t->trials, "run", t->run + 1);
    spec_table_integer(&t->trials, "trial", ++t->trial);
    fill_set(&t->trials, t, set, &score);
    spec_table_number(&t->trials, "best_so_far", t->best);
    if (spec_table_append(&t->trials) != GSL_SUCCESS) spec_usage_no_memory(t->verb);
    snprintf(note, sizeof note, "%s, run %d, best speed-up %.3f", spec_skip_methods[t->method],
             t->run + 1, t->best);
    spec_progress_report(t->trial, spec_skip_search_most(t->method, t->search), "sets", note);
done:
    return status;
}

static int run_searches(tuning *t, spec_error *error)
{
    int status = GSL_SUCCESS;
    for (int method = 0; method <= SPEC_SKIP_EXHAUSTIVE; method++) {
        const int runs = method == SPEC_SKIP_EXHAUSTIVE ? 1 : t->args->runs;
        for (int run = 0; run < runs && t->args->method[method]; run++) {
            spec_skip_trials trials;
            const spec_skip_search search = {.sublayers = t->scores.sublayers,
                                             .trials = t->args->trials,
                                             .seed = t->args->common.seed + (uint64_t)run,
                                             .value = try_set,
                                             .self = t};
            t->method = (spec_skip_method)method;
            t->search = &search;
            t->run = run;
            t->trial = 0;
            SPEC_TRY(spec_skip_search_run(&trials, t->method, &search, error));
            spec_skip_trials_free(&trials);
        }
    }
done:
    return status;
}

/* ---- the results ----------------------------------------------------------------------------- */

static void say_comparison(const tuning *t)
{
    const arguments *args = t->args;
    const double *bayes = t->best_of_run, *random = t->best_of_run + args->runs,
                 optimum = t->best_of_run[SPEC_SKIP_EXHAUSTIVE * args->runs];
    spec_moments difference = {0};
    int better = 0, equal = 0, found[2] = {0};
    if (!args->method[SPEC_SKIP_BAYES] || !args->method[SPEC_SKIP_RANDOM] || args->runs < 2) return;
    for (int i = 0; i < args->runs; i++) {
        spec_moments_add(&difference, bayes[i] - random[i]);
        better += bayes[i] > random[i];
        equal += bayes[i] == random[i];
        for (int k = 0; k < 2; k++) found[k] += t->best_of_run[k * args->runs + i] == optimum;
    }
    const double half =
        gsl_cdf_tdist_Pinv(0.975, args->runs - 1.0) * spec_moments_standard_error(&difference);
    spec_usage_say(t->verb,
                   "bayes ends with a better set than random in %d of %d runs, an equal one in %d; "
                   "its speed-up is larger by %.4f, %.4f to %.4f with 95 %% confidence",
                   better, args->runs, equal, difference.mean, difference.mean - half,
                   difference.mean + half);
    if (args->method[SPEC_SKIP_EXHAUSTIVE])
        spec_usage_say(t->verb,
                       "the best of all sets is found by bayes in %d runs, by random in %d",
                       found[0], found[1]);
}

/* Measures tokens per round by decoding, at the K of the largest speed-up. */
static int check_set(spec_table *table, tuning *t, const unsigned char *set,
                     const spec_skip_score *score, spec_error *error)
{
    int status = GSL_SUCCESS, best = 1;
    double most = 0.0;
    spec_exact_walk walk = {.K = WALK_K};
    SPEC_TRY(spec_skip_scores_walk(&walk, &t->scores, set, error));
    for (int k = 1; k <= WALK_K; k++) {
        const double speedup =
            spec_speedup_from_emitted(spec_exact_walk_tokens_per_round(&walk, k), k, score->c);
        if (speedup <= most) continue;
        most = speedup;
        best = k;
    }
    spec_table_integer(table, "walk_K", best);
    spec_table_number(table, "walk_tokens", spec_exact_walk_tokens_per_round(&walk, best));
    spec_table_number(table, "walk_speedup", most);
done:
    return status;
}

/* Shows the best sets of all searches; the first of them are checked. */
static int show_best(tuning *t, spec_error *error)
{
    static const char *const columns[] = {"draft",  "skipped",     "alpha_mean",
                                          "c",      "best_K",      "best_speedup",
                                          "walk_K", "walk_tokens", "walk_speedup"};
    const spec_skip_scores *s = &t->scores;
    const arguments *args = t->args;
    int status = GSL_SUCCESS;
    const size_t n = (size_t)(args->top < s->n ? args->top : s->n);
    size_t *index = malloc((n + 1) * sizeof *index);
    spec_table table = {0};
    spec_options options = args->common;
    options.output = NULL; /* the output has the trials */
    if (index == NULL ||
        spec_table_init(&table, columns, (int)(sizeof columns / sizeof columns[0])) != GSL_SUCCESS)
        spec_usage_no_memory(t->verb);
    gsl_sort_largest_index(index, n, &s->score->speedup, sizeof *s->score / sizeof(double),
                           (size_t)s->n);
    spec_progress_phase("decoding with the best sets");
    for (size_t i = 0; i < n; i++) {
        const unsigned char *set = s->set + index[i] * (size_t)s->sublayers;
        fill_set(&table, t, set, &s->score[index[i]]);
        if (i < (size_t)args->check && spec_stop == 0)
            SPEC_TRY(check_set(&table, t, set, &s->score[index[i]], error));
        if (spec_table_append(&table) != GSL_SUCCESS) spec_usage_no_memory(t->verb);
    }
    spec_progress_phase(NULL);
    char tokens[16];
    spec_assumed assumed = args->assumed;
    snprintf(tokens, sizeof tokens, "%d", s->length);
    if (args->tokens == 0) spec_assumed_add(&assumed, "--tokens ", tokens, NULL);
    spec_assumed_say(&assumed, t->verb);
    if (spec_options_show(&table, &options, t->verb) != SPEC_EXIT_HOLDS) status = GSL_EFAILED;
    else if (n > 0 && s->score[index[0]].speedup <= 1.0)
        spec_usage_say(t->verb,
                       "no set of skipped sublayers gives a speed-up: the largest "
                       "predicted speed-up is %.3f",
                       s->score[index[0]].speedup);
done:
    spec_table_free(&table);
    free(index);
    return status;
}

static int tune(tuning *t, spec_error *error)
{
    static const char *const columns[] = {"method",       "run",        "trial", "draft",
                                          "skipped",      "alpha_mean", "c",     "best_K",
                                          "best_speedup", "best_so_far"};
    const arguments *args = t->args;
    int status = GSL_SUCCESS;
    char *provenance = NULL;
    if (spec_table_init(&t->trials, columns, (int)(sizeof columns / sizeof columns[0])) !=
            GSL_SUCCESS ||
        asprintf(&provenance,
                 "speclab %s\nfigure: tune\ncompiler: %s\ntarget: %s\ntexts: %d, begun by %s; seed "
                 "%llu\n",
                 spec_build_info_version, spec_build_info_compiler, args->target, args->texts,
                 args->data, (unsigned long long)args->common.seed) < 0)
        spec_usage_no_memory(t->verb);
    free(t->trials.provenance);
    t->trials.provenance = provenance;
    t->best_of_run =
        calloc((size_t)args->runs * (SPEC_SKIP_EXHAUSTIVE + 1), sizeof *t->best_of_run);
    if (t->best_of_run == NULL) spec_usage_no_memory(t->verb);
    SPEC_TRY(open_target(t, error));
    status = run_searches(t, error);
    if (spec_stop == 0 && status != GSL_SUCCESS) goto done;
    spec_progress_clear();
    status = show_best(t, error); /* the trials are written even if this cannot be */
    if (status == GSL_SUCCESS && spec_stop == 0) say_comparison(t);
    if (args->common.output != NULL &&
        spec_options_show(&t->trials, &args->common, t->verb) != SPEC_EXIT_HOLDS)
        status = GSL_EFAILED;
done:
    return status;
}

int spec_verb_tune(spec_context *context, int argc, char **argv)
{
    arguments args;
    spec_error error = {{0}};
    parse(&args, context, argc, argv);
    tuning t = {.args = &args, .verb = argv[0]};
    if (args.common.output != NULL) spec_output_say_left_over(args.common.output, argv[0]);
    const int status = tune(&t, &error);
    spec_progress_clear();
    if (spec_stop != 0) spec_usage_say(argv[0], "interrupted");
    else if (status != GSL_SUCCESS && error.text[0] != '\0')
        spec_usage_say(argv[0], "%s", error.text);
    spec_skip_scores_free(&t.scores);
    spec_model_close(t.target);
    spec_table_free(&t.trials);
    free(t.best_of_run);
    return status == GSL_SUCCESS && spec_stop == 0 ? SPEC_EXIT_HOLDS : SPEC_EXIT_USAGE;
}
