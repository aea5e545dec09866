/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fields.h"
#include "cli/figures/figure.h"
#include "cli/list_page.h"
#include "cli/share.h"
#include "cli/verb.h"

#include "base/hardware.h"
#include "base/memory_text.h"
#include "base/names.h"
#include "experiments/catalogue.h"
#include "models/transformer/engine/device.h"
#include "tools/advise/diagnosis.h"
#include "tools/advise/engine_settings.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void add(spec_table *table, const char *kind, const char *name, const char *summary,
                const char *reference)
{
    spec_table_text(table, "kind", kind);
    spec_table_text(table, "name", name);
    spec_table_text(table, "summary", summary);
    spec_table_text(table, "reference", reference);
    spec_table_append(table);
}

/* Adds each GPU as "gpu:0 NVIDIA H200, 139 GiB"; if there is none, adds a row with the reason. */
static void list_devices(spec_table *table, spec_context *context)
{
    char line[512];
    int i = 0;
    for (; spec_device_describe(line, sizeof line, context, i); i++) {
        char *words = strstr(line, "  ");
        *words = '\0';
        add(table, "device", line, words + 2, "");
    }
    if (line[0] != '\0') add(table, "device", "gpu", line, "");
}

static int is_experiment(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".cfg") == 0;
}

/* Adds nothing if the folder of experiments is missing. */
static void list_experiments(spec_table *table)
{
    char share[PATH_MAX], folder[PATH_MAX + 16];
    if (spec_share_folder(share, sizeof share) != 0) return;
    snprintf(folder, sizeof folder, "%s/experiments/cfg", share);
    struct dirent **entry = NULL;
    int n = scandir(folder, &entry, is_experiment, alphasort);
    if (n < 0 && errno == ENOMEM) table->lost = true;
    for (int i = 0; i < n; i++) {
        char path[2 * PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        spec_experiment experiment = {0};
        spec_error error = {{0}};
        int status = spec_experiment_load(&experiment, path, NULL, &error);
        if (status == GSL_SUCCESS) status = spec_figure_check_experiment(&experiment, &error);
        if (status == GSL_ENOMEM) table->lost = true;
        char name[NAME_MAX + 1];
        snprintf(name, sizeof name, "%.*s", (int)strlen(entry[i]->d_name) - 4, entry[i]->d_name);
        char summary[512];
        snprintf(summary, sizeof summary, "%.400s",
                 status == GSL_SUCCESS ? experiment.title : error.text);
        if (status == GSL_SUCCESS && experiment.missing[0] != '\0')
            snprintf(summary, sizeof summary, "%.400s; needs your %.*s", experiment.title,
                     (int)strcspn(experiment.missing, ":"), experiment.missing);
        add(table, "experiment", name, summary, "");
        spec_experiment_free(&experiment);
        free(entry[i]);
    }
    free(entry);
}

/* Returns the required columns, "needs K emitted", for the column of references; NULL: out of
 * memory. */
static char *needs(const spec_figure_script *script)
{
    spec_word_list columns = {0};
    spec_memory_text text;
    const bool good =
        spec_memory_text_open(&text) && spec_figure_script_columns(&columns, script) == GSL_SUCCESS;
    for (int c = 0; good && c < columns.n; c++)
        fprintf(text.out, "%s%s", c == 0 ? "needs " : " ", columns.word[c]);
    spec_word_list_free(&columns);
    char *names = spec_memory_text_take(&text, NULL);
    if (good) return names;
    free(names);
    return NULL;
}

static void list_figures(spec_table *table)
{
    spec_word_list names = {0};
    spec_error error = {{0}};
    if (spec_figure_script_list(&names, &error) != GSL_SUCCESS)
        spec_usage_fail("speclab list", "%s", error.text);
    for (int i = 0; i < names.n; i++) {
        spec_figure_script script;
        const int status = spec_figure_script_load(&script, names.word[i], &error);
        const bool good = status == GSL_SUCCESS;
        if (status == GSL_ENOMEM) table->lost = true;
        char *columns = good ? needs(&script) : strdup("");
        if (columns == NULL) spec_usage_no_memory("speclab list");
        add(table, "figure", names.word[i], good ? script.summary : error.text, columns);
        free(columns);
        spec_figure_script_free(&script);
    }
    spec_word_list_free(&names);
}

static void list_logs(spec_table *table)
{
    for (int i = 0; spec_log_formats[i] != NULL; i++) {
        const spec_log_summary read = {.format = spec_log_formats[i]};
        const char *key = read.format->engine;
        const spec_engine *engine = spec_engine_of(&read);
        const bool settings = strcmp(engine->engine, key) == 0; /* false: the format is refused */
        add(table, "log", read.format->name, read.format->summary,
            strcmp(key, "any") == 0 ? "any engine"
            : settings              ? engine->title
                                    : key);
    }
}

static void list_diagnoses(spec_table *table)
{
    for (const spec_diagnosis *d = spec_diagnoses; d->name != NULL; d++)
        add(table, "diagnosis", d->name, d->summary, d->wrong ? "wrong" : "");
}

static void list_cards(spec_table *table)
{
    for (const spec_hardware *card = spec_hardware_known; card->name != NULL; card++) {
        char summary[160], eight[32] = "", four[32] = "";
        if (card->flops8 > 0.0) snprintf(eight, sizeof eight, ", %.4g at 8", card->flops8 / 1e12);
        if (card->flops4 > 0.0) snprintf(four, sizeof four, ", %.5g at 4", card->flops4 / 1e12);
        snprintf(summary, sizeof summary, "%.4g GB, %.4g GB/s, %.4g TFLOPS at 16 bits%s%s",
                 card->memory / 1e9, card->bandwidth / 1e9, card->flops / 1e12, eight, four);
        add(table, "card", card->name, summary, card->source);
    }
}

static const struct {
    const char *name;
    const char *kind; /* kind in experiments/catalogue.h; NULL: `list`, or list_devices */
    void (*list)(spec_table *table);
} lists[] = {
    {"models", "model", NULL},
    {"drafts", "draft", NULL},
    {"rules", "rule", NULL},
    {"policies", "policy", NULL},
    {"processes", "process", NULL},
    {"lengths", "lengths", NULL},
    {"measures", "measure", NULL},
    {"cards", NULL, list_cards},
    {"logs", NULL, list_logs},
    {"diagnoses", NULL, list_diagnoses},
    {"figures", NULL, list_figures},
    {"devices", NULL, NULL},                 /* list_devices, which needs the context */
    {"experiments", NULL, list_experiments}, /* the code refers to these two by index */
};
enum {
    N_LISTS = (int)(sizeof lists / sizeof lists[0]),
    DEVICES = N_LISTS - 2,
    EXPERIMENTS = N_LISTS - 1
};

static const spec_list_heading headings[] = {
    {"model", "Models, for --target and --draft: NAME[:PATH][?key=value&...]; every model takes "
              "temperature, top_k, top_p and min_p"},
    {"draft", "Draft strategies, for --drafting"},
    {"rule", "Verification rules, for --rule"},
    {"policy", "Length policies, for --policy"},
    {"process", "Acceptance processes, for --process of 'speclab sweep'"},
    {"lengths", "Choices of draft lengths, for --lengths of 'speclab serve'"},
    {"measure", "Measures, for experiment files (docs/formats.md)"},
    {"card", "Cards, for card= of --cost roofline (docs/formats.md)"},
    {"log", "Logs, metrics and responses, for 'speclab advise' and its --engine"},
    {"diagnosis", "Diagnoses of 'speclab advise' (wrong: exit status 1)"},
    {"device", "Devices, for --device"},
    {"experiment", "Experiments, for 'speclab run'"},
    {NULL, NULL},
};

typedef struct {
    spec_options common;
    bool wanted[N_LISTS], any;
} arguments;

static void read_name(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    const char *names[N_LISTS + 1] = {NULL};
    char near[SPEC_NAMES_MEANT_SIZE];
    for (int i = 0; i < N_LISTS; i++) {
        names[i] = lists[i].name;
        if (strcmp(word, lists[i].name) != 0) continue;
        args->wanted[i] = args->any = true;
        return;
    }
    spec_usage_fail(verb, "there is no list '%s'%s", word,
                    spec_names_meant(near, word, names, "; 'speclab list --help' names them"));
}

const spec_fields spec_verb_list_options = {
    .words = "[models] [drafts] [rules] [policies] [processes] [lengths] [measures] "
             "[cards] [logs] [diagnoses] [figures] [devices] [experiments]",
    .word = read_name,
    .doc =
    "list models, drafts, rules, policies, processes, lengths, measures, cards, logs, "
    "diagnoses, figures, devices, experiments\vEach name is listed with its keys and their "
    "defaults, in the form that "
    "--target, --draft and experiment files take. 'speclab list devices' searches for GPUs and "
    "loads their kernels; without names, devices are left out. In a pipe or a file the lists "
    "are CSV, unless --format says otherwise.\n"
    "\n"
    "  $ speclab list models\n"
    "  $ speclab list rules policies --format csv",
};

int spec_verb_list(spec_context *context, int argc, char **argv)
{
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context)};
    spec_fields_parse(&args, &args.common, &spec_verb_list_options, argc, argv);

    char share[PATH_MAX];
    if (args.wanted[EXPERIMENTS] && spec_share_folder(share, sizeof share) != 0)
        spec_usage_fail(argv[0], "the folder of experiments is missing: set SPECLAB_SHARE to the "
                                 "folder that contains experiments/");

    static const char *const columns[] = {"kind", "name", "summary", "reference"};
    spec_table table = {0};
    if (spec_table_init(&table, columns, 4) != GSL_SUCCESS) spec_usage_no_memory(argv[0]);
    for (int i = 0; i < N_LISTS; i++) {
        if (!args.wanted[i] && (args.any || i == DEVICES)) continue;
        if (i == DEVICES)
            list_devices(&table, context);
        else if (lists[i].list != NULL)
            lists[i].list(&table);
        else
            spec_catalogue_add(&table, lists[i].kind);
    }
    const int code = spec_list_page_show(&table, headings, &args.common, argv[0]);
    spec_table_free(&table);
    return code;
}
