/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/escape.h"
#include "base/memory_text.h"
#include "base/progress.h"
#include "base/settings.h"
#include "base/thread_pool.h"
#include "cli/costs_option.h"
#include "cli/device_option.h"
#include "cli/figure_option.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/pair_options.h"
#include "cli/progress_reports.h"
#include "cli/side_models.h"
#include "cli/stop.h"
#include "cli/verb.h"
#include "models/model_open.h"
#include "models/rows/rows.h"
#include "models/transformer/engine/transformer.h"
#include "speclab/no_memory.h"
#include "tools/bench/timing_prompts.h"
#include "tools/live/live_prompts.h"
#include "tools/pair/pair_report.h"
#include "tools/pair/pair_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FOREIGN_Z 4.0 /* a text with a larger |z| is not the target's */
#define ERROR 0.05    /* one minus the confidence of intervals */
enum { SIDES = SPEC_PAIR_DRAFTS + 1, TEXTS = 32 /* without prompts */, CATEGORIES = 64 };

typedef struct {
    spec_options common;
    spec_pair_options pair;  /* only its device and sampling parameters are used */
    const char *spec[SIDES]; /* the target's first, as given */
    int drafts;
    const char *prompts, *c, *costs, *figure;
    int K, tokens, context, texts, drafting, clock;
} arguments;

static void read_draft(void *arguments_, const char *spec, const char *verb)
{
    arguments *args = arguments_;
    if (++args->drafts == SIDES)
        spec_usage_fail(verb, "--draft: at most %d drafts are compared", SPEC_PAIR_DRAFTS);
    args->spec[args->drafts] = spec;
}

static void read_device(void *arguments_, const char *device, const char *verb)
{
    spec_device_option_check(device, verb);
    ((arguments *)arguments_)->pair.device = device;
}

#define FIELD(member) SPEC_FIELD(arguments, member)
static const char *const clocks[] = {"wall", "processor", NULL};
static const char *const draftings[] = {"chain", "greedy", NULL};
static const spec_field fields[] = {
    {"target", 0, "SPEC", "the target model, see 'speclab list models'", FIELD(spec[0])},
    {"draft", 0, "SPEC",
     "a draft of it; may be repeated, for up to 7 of them (all drafts of a target of rows)",
     .read = read_draft, .repeats = true},
    {"device", 0, "DEVICE", SPEC_DEVICE_OPTION_HELP, .read = read_device},
    {"K", 'K', "N", "longest draft to consider", FIELD(K), .fallback = "16", .low = 1,
     .high = SPEC_PAIR_K},
    {"drafting", 0, "STRATEGY",
     "chain: drafts draw each token from their row; greedy: they take the most probable one",
     FIELD(drafting), .choice = draftings, .fallback = "chain"},
    {.help = "The texts:", .group = 2},
    {"prompts", 0, "FILE",
     "what the target continues: texts separated by blank lines, or FILE.jsonl with lines like "
     "{\"prompt\": \"Once upon\", \"category\": \"tale\"} (the model's own prompts, or none)",
     FIELD(prompts), .group = 2},
    {"context", 0, "N", "largest prompt length in tokens", FIELD(context), .fallback = "512",
     .low = 1, .high = SPEC_TIMING_PROMPT_TOKENS, .group = 2},
    {"texts", 0, "N", "largest number of texts, one per prompt (all prompts; 32 without a file)",
     FIELD(texts), .low = 1, .high = SPEC_PAIR_TEXTS, .group = 2},
    {"tokens", 'n', "N", "tokens of a text where rounds may begin", FIELD(tokens),
     .fallback = "128", .low = 1, .high = 1 << 20, .group = 2},
    {.help = "The costs:", .group = 4},
    {"c", 'c', "LIST",
     "time of a pass of each draft over one of the target; or one for all (measured on this "
     "machine; 0.1 for models without weights)",
     FIELD(c), .group = 4},
    {"costs", 0, "FILE", SPEC_COSTS_OPTION_HELP ": every pass takes 1 (none)", FIELD(costs),
     .group = 4},
    {"clock", 0, "NAME",
     "wall, or processor: the processor time of this process, on one thread, for a busy machine",
     FIELD(clock), .choice = clocks, .fallback = "wall", .group = 4},
    {.help = "The result:", .group = 5},
    {"figure", 0, "FILE", SPEC_FIGURE_OPTION_HELP, FIELD(figure), .group = 5},
    {0},
};

static const spec_field_relation relations[] = {
    {"clock", false, "c costs", ": times that are given are not measured"},
    {0},
};

/* What a run needs besides the models. */
typedef struct {
    spec_model *model[SIDES];
    char *spec[SIDES]; /* with device and sampling */
    int sides;
    spec_timing_prompts prompts;
    json_t *json;
    const char **category; /* names */
    spec_pair_text *text;
    char *path;          /* the target's file of rows; NULL if the target is a model */
    spec_pair_rows rows; /* its texts */
    char *name[SIDES];   /* the models whose rows the file has */
    double c[SPEC_PAIR_DRAFTS];
    spec_pass_costs costs;
    spec_pair_plan plan;
    spec_pair_run run;
    spec_pair_numbers numbers;
} work;

static void work_free(work *w)
{
    spec_pair_numbers_free(&w->numbers);
    spec_pair_run_free(&w->run);
    for (int s = SIDES - 1; s >= 0; s--) {
        spec_model_close(w->model[s]);
        free(w->spec[s]);
        free(w->name[s]);
    }
    spec_timing_prompts_free(&w->prompts);
    json_decref(w->json);
    free(w->category);
    free(w->text);
    spec_pair_rows_free(&w->rows);
    free(w->path);
    spec_pass_costs_free(&w->costs);
}

/* ---- files of rows --------------------------------------------------------------------------- */

/* Returns the path of a file of rows; the caller frees it. */
static char *path_of(const char *spec, const char *verb)
{
    spec_settings settings = {0};
    spec_error error = {{0}};
    if (spec_settings_init(&settings, spec, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--target: %s", error.text);
    if (settings.n > 0)
        spec_usage_fail(verb, "--target: leave out %s: all sides of a file of rows are read",
                        settings.key[0]);
    char *path = strdup(settings.path[0] != '\0' ? settings.path : settings.name);
    if (path == NULL) spec_usage_no_memory(verb);
    spec_settings_free(&settings);
    return path;
}

/* Uses a file of rows instead of models: each of its sides becomes a model, and its text the
 * texts. */
static int take_rows(work *w, arguments *args, const char *verb, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_rows_file file = {.path = NULL};
    spec_error inner = {{0}};
    const char *path = w->path = path_of(args->spec[0], verb);
    static const char *const needless[] = {"draft", "prompts", "context", "texts", "tokens", NULL};
    for (int i = 0; needless[i] != NULL; i++)
        if (spec_fields_gave(needless[i]))
            spec_usage_fail(verb, "--%s: %s has its own drafts and texts; leave it out",
                            needless[i], path);
    status = spec_rows_file_open(&file, path, &inner);
    if (status == GSL_SUCCESS && file.sides == 1)
        status = spec_fail(&inner, GSL_EINVAL, "%.300s: it has no draft", path);
    if (status == GSL_SUCCESS) status = spec_pair_rows_init(&w->rows, &file, args->K, &inner);
    if (status != GSL_SUCCESS) SPEC_TRY(spec_fail(error, status, "--target: %.450s", inner.text));
    w->sides = file.sides;
    args->drafts = file.sides - 1;
    for (int s = 0; s < w->sides; s++) {
        const spec_rows_side *side = &file.side[s];
        w->name[s] = strndup(side->spec, side->spec_length);
        if (w->name[s] == NULL) SPEC_TRY(spec_no_memory(error));
        spec_escape_in_place(w->name[s]);
        args->spec[s] = w->name[s];
        char number[8] = "";
        if (s > 1) snprintf(number, sizeof number, "%d", s);
        if (asprintf(&w->spec[s], "rows:%s?begin=0&side=%s%s", path, s > 0 ? "draft" : "target",
                     number) < 0)
            SPEC_TRY(spec_no_memory(error));
    }
    w->plan.text = w->rows.text;
    w->plan.n_texts = w->rows.n;
done:
    spec_rows_file_close(&file);
    return status;
}

/* ---- models ---------------------------------------------------------------------------------- */

static int open_models(work *w, arguments *args, const char *verb, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_progress_phase("loading the models");
    w->sides = 1 + args->drafts;
    if (spec_model_open_kind(args->spec[0]) == &spec_model_rows)
        SPEC_TRY(take_rows(w, args, verb, error));
    for (int s = 2; s < w->sides; s++)
        for (int d = 1; d < s; d++)
            if (strcmp(args->spec[s], args->spec[d]) == 0)
                SPEC_TRY(spec_fail(error, GSL_EINVAL,
                                   "--draft: %.300s appears twice, and the drafts must differ",
                                   args->spec[s]));
    for (int s = 0; s < w->sides; s++) {
        char *rows = w->spec[s];
        w->spec[s] = spec_pair_options_spec(rows != NULL ? rows : args->spec[s],
                                            s > 0 ? "draft" : "target", &args->pair, verb);
        free(rows);
    }
    SPEC_TRY(spec_side_models_open(w->model, (const char *const *)w->spec, w->sides,
                                   args->common.context, error));
    spec_progress_phase(NULL);
    w->plan.target = w->model[0];
    w->plan.n_drafts = w->sides - 1;
    spec_pair_options_say_converted(w->model[0], "target", verb);
    for (int d = 0; d < w->plan.n_drafts; d++) {
        w->plan.draft[d] = w->model[d + 1];
        spec_pair_options_say_converted(w->model[d + 1], "draft", verb);
        spec_pair_options_say_translated(w->model[0], w->model[d + 1], verb);
    }
done:
    return status;
}

/* Reduces the length of prompts, if the user gave none, to what the models' windows leave. */
static void fit_context(const work *w, arguments *args)
{
    for (int s = 0; s < w->sides && !spec_fields_gave("context"); s++) {
        const int left = w->model[s]->window - args->tokens - args->K;
        if (w->model[s]->window > 0 && left > 0 && left < args->context) args->context = left;
    }
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Returns the number of a category, and adds it if it is new; CATEGORIES if there are too many. */
static int category_of(work *w, const char *name)
{
    int i = 0;
    while (i < w->plan.n_categories && strcmp(w->category[i], name) != 0) i++;
    if (i == w->plan.n_categories && i < CATEGORIES) w->category[w->plan.n_categories++] = name;
    return i;
}

static bool is_json(const char *path)
{
    const char *ending = strrchr(path, '.');
    return ending != NULL && (strcmp(ending, ".jsonl") == 0 || strcmp(ending, ".json") == 0);
}

/* Reads the prompts of a file, at most `most` of them if they are JSON. */
static int read_prompts(work *w, const arguments *args, int most, spec_error *error)
{
    int status = GSL_SUCCESS;
    const char **text = NULL;
    if (!is_json(args->prompts))
        return spec_timing_prompts_read(&w->prompts, args->prompts, w->model[0], args->context,
                                        error);
    SPEC_TRY(spec_live_prompts_read(&w->json, args->prompts, most, SPEC_LIVE_CATEGORIES, error));
    const int n = (int)json_array_size(w->json);
    text = calloc((size_t)n, sizeof *text);
    if (text == NULL) SPEC_TRY(spec_no_memory(error));
    for (int i = 0; i < n; i++) text[i] = spec_live_prompt(w->json, i);
    SPEC_TRY(spec_timing_prompts_of(&w->prompts, text, n, args->prompts, w->model[0], args->context,
                                    error));
done:
    free(text);
    return status;
}

/* Makes the texts: after the prompts of the file, after the model's own, or after none. */
static int make_texts(work *w, const arguments *args, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_error inner = {{0}};
    const bool given = args->prompts != NULL, own = w->model[0]->kind->prompt != NULL;
    const int most = args->texts > 0 ? args->texts : given ? SPEC_PAIR_TEXTS : TEXTS;
    if (given) status = read_prompts(w, args, most, &inner);
    if (status != GSL_SUCCESS) return spec_fail(error, status, "--prompts: %.450s", inner.text);
    if (!given && !own && w->model[0]->one_hot)
        return spec_fail(error, GSL_EINVAL,
                         "--temperature 0: the target would write one text again and again; give "
                         "texts to continue with --prompts");
    if (!given && own)
        SPEC_PASS(spec_timing_prompts_make(&w->prompts, w->model[0], most, args->context,
                                           args->common.seed, error));
    const int n = w->plan.n_texts = given && w->prompts.n < most ? w->prompts.n : most;
    w->plan.text = w->text = calloc((size_t)n, sizeof *w->text);
    w->plan.category = w->category = calloc((size_t)n, sizeof *w->category);
    if (w->text == NULL || w->category == NULL) return spec_no_memory(error);
    for (int i = 0; i < n; i++) {
        const json_t *line = json_array_get(w->json, (size_t)i);
        const char *name = json_string_value(json_object_get(line, "category"));
        w->text[i] = (spec_pair_text){.category = name != NULL ? category_of(w, name) : -1};
        if (w->text[i].category == CATEGORIES)
            return spec_fail(error, GSL_EINVAL, "--prompts: %.300s: more than %d categories",
                             args->prompts, CATEGORIES);
        if (i >= w->prompts.n) continue;
        w->text[i].token = w->prompts.token[i];
        w->text[i].n = w->prompts.length[i];
    }
    return GSL_SUCCESS;
}

/* ---- costs ----------------------------------------------------------------------------------- */

static void read_costs(work *w, arguments *args, const char *verb)
{
    const char *c = args->c;
    spec_grid grid = {0};
    char measured[32];
    spec_costs_option_read(&w->costs, args->costs, args->c != NULL, verb);
    if (c == NULL && w->costs.of_bench) {
        snprintf(measured, sizeof measured, "%.17g", w->costs.c);
        c = measured;
    }
    if (c == NULL && args->costs == NULL && spec_transformer_of(w->model[0]) != NULL) {
        w->plan.clock = args->clock > 0 ? spec_clock_processor() : spec_clock_wall();
        return;
    }
    if (c == NULL) spec_assumed_add(&args->pair.assumed, "--c ", c = "0.1", NULL);
    spec_options_numbers(&grid, verb, "c", c);
    const int n = grid.axis[0].n, drafts = w->plan.n_drafts;
    if (n != 1 && n != drafts)
        spec_usage_fail(verb, "--c: give one number, or one for each of the %d drafts, got %d",
                        drafts, n);
    for (int d = 0; d < drafts; d++) {
        w->c[d] = strtod(grid.axis[0].value[n > 1 ? d : 0], NULL);
        if (!(w->c[d] >= 0.0 && w->c[d] <= 1e6))
            spec_usage_fail(verb, "--c must be from 0 to 1e6, got %s",
                            grid.axis[0].value[n > 1 ? d : 0]);
    }
    spec_grid_free(&grid);
}

/* ---- the result ------------------------------------------------------------------------------ */

/* Returns the spec without the folders of its path. */
static const char *short_name(const char *spec)
{
    const char *end = strchr(spec, '?'), *name = spec;
    for (const char *c = spec; *c != '\0' && c != end; c++)
        if (*c == '/') name = c + 1;
    return name;
}

static void name_drafts(spec_pair_words *words, const arguments *args)
{
    bool unique = true;
    for (int d = 0; d < args->drafts; d++)
        for (int e = 0; e < d; e++)
            unique =
                unique && strcmp(short_name(args->spec[1 + d]), short_name(args->spec[1 + e])) != 0;
    for (int d = 0; d < args->drafts; d++)
        words->name[d] = unique ? short_name(args->spec[1 + d]) : args->spec[1 + d];
}

/* Writes the rows or the text to their file or to standard output. The text is also shown if the
 * rows go to a file, or if the file cannot be written. */
static int show(const work *w, const arguments *args, const spec_pair_words *words,
                const char *verb, spec_error *error)
{
    const spec_options *common = &args->common;
    spec_table table = {0};
    spec_memory_text page;
    char *text = NULL;
    spec_output output = {0};
    int status = GSL_SUCCESS;
    const bool rows = spec_options_wants_table(common), file = common->output != NULL;
    if (!spec_memory_text_open(&page)) return spec_no_memory(error);
    status = spec_pair_report(page.out, &w->numbers, words, error);
    text = spec_memory_text_take(&page, NULL);
    SPEC_TRY(status);
    if (text == NULL) SPEC_TRY(spec_no_memory(error));
    if (rows) {
        SPEC_TRY(spec_pair_report_table(&table, &w->numbers, words, error));
        if (spec_options_show(&table, common, verb) != SPEC_EXIT_HOLDS) status = GSL_EFAILED;
    } else {
        SPEC_TRY(spec_output_open(&output, common->output, verb, error));
        spec_page_write(text, spec_options_columns(common), output.out);
        SPEC_TRY(spec_output_close(&output, common->force, verb, error));
    }
done:
    if (file && text != NULL && (rows || status != GSL_SUCCESS))
        spec_page_write(text, spec_options_columns(common), spec_output_standard());
    spec_output_discard(&output);
    spec_table_free(&table);
    free(text);
    return status;
}

/* Says what the texts are. */
static void describe_texts(char *text, size_t size, const work *w, const arguments *args)
{
    const int n = w->plan.n_texts;
    char cut[40] = "";
    if (w->prompts.n > 0 && spec_timing_prompts_longest(&w->prompts) == (size_t)args->context)
        snprintf(cut, sizeof cut, ", cut to %d tokens", args->context);
    if (w->path != NULL)
        snprintf(text, size, "%d of %.300s, with %llu positions", n, w->path,
                 (unsigned long long)w->rows.positions);
    else
        snprintf(text, size, "%d of up to %d tokens, %s%.300s%s", n, args->tokens,
                 args->prompts != NULL       ? "after the prompts of "
                 : w->prompts.source[0] != 0 ? "after prompts of "
                                             : "without prompts",
                 args->prompts != NULL ? args->prompts : w->prompts.source, cut);
}

/* Says where the times come from, if they were not measured. */
static void describe_times(char *text, size_t size, const work *w, const arguments *args)
{
    const bool passes = w->costs.n > 0;
    snprintf(text, size, "%s, with the draft's c %s%s%.300s",
             passes ? "passes of the target as measured" : "every pass of the target takes 1",
             args->c != NULL               ? "as given"
             : passes && w->costs.of_bench ? "as measured"
                                           : "assumed",
             passes ? ", from " : "", passes ? args->costs : "");
}

static int measure(arguments *args, const char *verb)
{
    int status = GSL_SUCCESS;
    spec_error error = {{0}};
    char texts[512];
    work *w = calloc(1, sizeof *w);
    if (w == NULL) spec_usage_no_memory(verb);
    SPEC_TRY(open_models(w, args, verb, &error));
    fit_context(w, args);
    if (w->path == NULL) {
        args->pair.target = w->spec[0];
        spec_pair_options_assume_sampling(&args->pair, verb);
        SPEC_TRY(make_texts(w, args, &error));
    }
    read_costs(w, args, verb);
    w->plan.greedy = args->drafting == 1;
    w->plan.K = args->K;
    w->plan.tokens = args->tokens;
    w->plan.seed = args->common.seed;
    w->plan.opt_stop = &spec_stop;
    w->plan.opt_progress = spec_progress_reports_share;
    SPEC_TRY(spec_pair_run_init(&w->run, &w->plan, &error));
    spec_progress_clear();
    const bool timed = w->plan.clock.seconds != NULL;
    const spec_pair_costs costs = {.opt_c = timed ? NULL : w->c, .opt_passes = &w->costs};
    SPEC_TRY(spec_pair_numbers_init(&w->numbers, &w->run, &costs, ERROR, &error));
    describe_texts(texts, sizeof texts, w, args);
    if (w->numbers.foreign_z > FOREIGN_Z)
        spec_usage_say(verb,
                       "the target did not write the text of %s: alpha and agreement hold for it, "
                       "but tokens per round and speed-ups need text of the target (rows -n N)",
                       w->path);
    char given[512];
    describe_times(given, sizeof given, w, args);
    spec_pair_words words = {.target = w->spec[0],
                             .texts = texts,
                             .times =
                                 timed ? "measured on this machine, in passes at the end of each "
                                         "text"
                                       : given};
    for (int d = 0; d < args->drafts; d++) words.draft[d] = w->spec[1 + d];
    name_drafts(&words, args);
    spec_assumed_say(&args->pair.assumed, verb);
    SPEC_TRY(show(w, args, &words, verb, &error));
done:
    spec_progress_clear();
    if (status != GSL_SUCCESS && error.text[0] != '\0') spec_usage_say(verb, "%s", error.text);
    work_free(w);
    free(w);
    return status == GSL_SUCCESS ? SPEC_EXIT_HOLDS : SPEC_EXIT_USAGE;
}

const spec_fields spec_verb_pair_options = {
    .fields = fields,
    .relations = relations,
    .doc =
    "find the best of several drafts of a target, and its draft length\vThe target writes texts, "
    "which continue the prompts, and every draft reads them. The rows of both give the acceptance "
    "at each depth and the tokens per round of each K, for the token rule, without drafting a "
    "token; the times of passes give the speed-up. The first sentence is the answer. Intervals "
    "are 95 %, over texts; those of the speed-ups hold for all drafts and K together.\n"
    "\n"
    "A draft may be a model, a head of the target, or made from the target, as in the specs of "
    "'speclab list models'. If the target is a file of 'speclab rows', its drafts and texts are "
    "those in the file.\n"
    "\n"
    "  $ speclab pair --target big.gguf --draft small.gguf --draft tiny.gguf --prompts p.jsonl\n"
    "  $ speclab pair --target big.gguf --draft small.gguf -o pair.csv --figure pair.svg\n"
    "  $ speclab pair --target p.rows --c 0.05,0.2",
    .formats = "table (the text, default), or rows by draft and K as csv, json, markdown, latex or "
               "vertical",
    .output = "write the text to FILE; for FILE.csv and FILE.json write the rows, and print the "
              "text",
    .also = spec_pair_options_fields + SPEC_PAIR_OPTIONS_SAMPLING,
    .also_at = offsetof(arguments, pair),
};

int spec_verb_pair(spec_context *context, int argc, char **argv)
{
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context), .pair = {.context = context}};
    const char *verb = argv[0];
    spec_error error;
    spec_fields_parse(&args, &args.common, &spec_verb_pair_options, argc, argv);
    args.common.opt_figure = "pair";
    if (args.spec[0] == NULL)
        spec_usage_fail(verb, "--target is missing: give the model that the drafts are for");
    if (args.drafts == 0 && spec_model_open_kind(args.spec[0]) != &spec_model_rows)
        spec_usage_fail(verb, "--draft: which models are to be compared?");
    spec_pair_options_check_sampling(&args.pair, verb);
    if (args.clock > 0 && spec_thread_pool_size(context->pool) > 1)
        spec_usage_fail(
            verb, "--clock processor needs --threads 1, because it adds the times of all threads");
    if (spec_output_probe(args.common.output, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--output: %s", error.text);
    spec_figure_option_check(args.figure, &args.common, verb);
    return spec_figure_option_draw(args.figure, "pair", &args.common, verb, measure(&args, verb));
}
