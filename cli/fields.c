/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fields.h"

#include "base/names.h"
#include "base/progress.h"
#include "base/settings.h"
#include "base/thread_pool.h"
#include "cli/option_help.h"
#include "cli/option_hints.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/verb.h"
#include "experiments/team.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* getopt_long returns FIRST_ROW + i for row i, or its letter. */
enum { MOST_ROWS = 96, FIRST_ROW = 0x10000, A_WORD = 1 };

/* A field, the struct that it fills, and the word that the user gave; NULL: none. */
typedef struct {
    const spec_field *field;
    void *arguments;
    const char *word;
} field_row;

typedef struct {
    field_row row[MOST_ROWS];
    int n;
    const spec_fields *of;
    const char *verb;
} reading;

static void add_rows(reading *r, const spec_field *fields, void *arguments)
{
    for (const spec_field *field = fields; field->help != NULL; field++) {
        assert(r->n < MOST_ROWS);
        r->row[r->n++] = (field_row){field, arguments, NULL};
    }
}

static const char *gave[MOST_ROWS + 1]; /* the names of the options that were given */

bool spec_fields_gave(const char *option)
{
    int i = 0;
    while (gave[i] != NULL && strcmp(gave[i], option) != 0) i++;
    return gave[i] != NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

static double read_number(const char *verb, const spec_field *field, const char *word)
{
    double value;
    char range[80] = "";
    const bool limited = field->above || field->low != 0.0 || field->high != 0.0;
    if (spec_settings_parse_double(&value, word) &&
        (!limited ||
         ((field->above ? value > field->low : value >= field->low) &&
          (field->high == 0.0 || (field->below ? value < field->high : value <= field->high)))))
        return value;
    if (limited && field->high == 0.0)
        snprintf(range, sizeof range, " %s %g", field->above ? "above" : "of at least", field->low);
    else if (limited && !field->above && !field->below)
        snprintf(range, sizeof range, " from %g to %g", field->low, field->high);
    else if (limited)
        snprintf(range, sizeof range, " %s %g and %s %g", field->above ? "above" : "of at least",
                 field->low, field->below ? "below" : "at most", field->high);
    spec_usage_fail(verb, "--%s must be a number%s, got '%s'%s", field->name, range, word,
                    strchr(word, ',') != NULL ? "; write a decimal point" : "");
}

static int read_choice(const char *verb, const spec_field *field, const char *word)
{
    char names[256] = "";
    for (int i = 0; field->choice[i] != NULL; i++) {
        if (strcmp(field->choice[i], word) == 0) return i;
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s",
                 used == 0                      ? ""
                 : field->choice[i + 1] == NULL ? " or "
                                                : ", ",
                 field->choice[i]);
    }
    spec_usage_fail(verb, "--%s must be %s, got '%s'", field->name, names, word);
}

static void read_value(void *arguments, const spec_field *field, const char *opt_word,
                       const char *verb)
{
    void *member = (char *)arguments + field->at;
    const uint64_t low = field->low > 0.0 ? (uint64_t)field->low : 0,
                   high = field->high > 0.0                 ? (uint64_t)field->high
                          : field->type == SPEC_FIELD_WHOLE ? INT_MAX
                                                            : UINT64_MAX;
    if (field->value != NULL && strcmp(field->value, "FILE") == 0 && *opt_word == '\0')
        spec_usage_fail(verb, "--%s: the file has no name", field->name);
    switch (field->type) {
    case SPEC_FIELD_NONE: field->read(arguments, opt_word, verb); break;
    case SPEC_FIELD_TEXT: *(const char **)member = opt_word; break;
    case SPEC_FIELD_FLAG: *(bool *)member = true; break;
    case SPEC_FIELD_COUNT:
        *(uint64_t *)member = spec_options_count(verb, field->name, opt_word, low, high);
        break;
    case SPEC_FIELD_WHOLE:
        *(int *)member = field->choice != NULL
                             ? read_choice(verb, field, opt_word)
                             : (int)spec_options_count(verb, field->name, opt_word, low, high);
        break;
    case SPEC_FIELD_NUMBER: *(double *)member = read_number(verb, field, opt_word); break;
    }
}

/* ---- the common options ---------------------------------------------------------------------- */

static void read_threads(void *common, const char *word, const char *verb)
{
    spec_thread_pool_set_size(((spec_options *)common)->context->pool,
                              (int)spec_options_count(verb, "threads", word, 1, 4096));
}

static void read_part(spec_shard *part, const char *option, const char *word, const char *verb)
{
    spec_error error;
    if (spec_shard_parse(part, word, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--%s: %s", option, error.text);
}

static void read_shard(void *common, const char *word, const char *verb)
{
    read_part(&((spec_options *)common)->shard, "shard", word, verb);
}

static void read_batches(void *common, const char *word, const char *verb)
{
    read_part(&((spec_options *)common)->batches, "batches", word, verb);
}

#define COMMON(member) SPEC_FIELD(spec_options, member)
enum { PARTS_GROUP = 90, COMMON_GROUP = 100, USAGE_GROUP };
static const spec_field grid_fields[] = {
    {.help = "Long runs, in parts:", .group = PARTS_GROUP},
    {"resume", 0, NULL, "continue an interrupted run: keep the finished rows of the output",
     COMMON(resume), .group = PARTS_GROUP},
    {"shard", 0, "I/N",
     "run only grid points I, I + N, I + 2N ...; 'speclab merge' joins the parts 1/N to N/N",
     .read = read_shard, .group = PARTS_GROUP},
    {"batches", 0, "I/N",
     "run only part I of N of the rounds, or of --cases, of each point; 'speclab merge' joins the "
     "sums",
     .read = read_batches, .group = PARTS_GROUP},
    {"sums", 0, "FILE", "simulate nothing: read the sums of --batches that were merged into FILE",
     COMMON(sums), .group = PARTS_GROUP},
    {0},
};
static const spec_field_relation grid_relations[] = {
    {"shard", false, "batches sums", NULL}, {"batches", false, "sums", NULL}, {0}};

static const char *const formats[] = {"table", "csv",      "json", "markdown",
                                      "latex", "vertical", NULL};
static const spec_field common_fields[] = {
    {.help = "Common options:", .group = COMMON_GROUP},
    {"format", 'f', "FORMAT",
     "table (default on a terminal), csv (default elsewhere), json, markdown, latex or vertical "
     "(one line per column)",
     COMMON(format), .choice = formats, .group = COMMON_GROUP},
    {"all", 0, NULL,
     "print every column of a table, at full width; by default the most important ones that fit "
     "the terminal",
     COMMON(all), .group = COMMON_GROUP},
    {"seed", 's', "N", "seed of all random streams", COMMON(seed), .fallback = "42",
     .group = COMMON_GROUP},
    {"threads", 0, "N", "number of threads (all); results do not depend on it",
     .read = read_threads, .group = COMMON_GROUP},
    {"output", 'o', "FILE", "write to FILE instead of standard output (FILE.json: json; else csv)",
     COMMON(output), .group = COMMON_GROUP},
    {"force", 0, NULL,
     "overwrite FILE; without --force an older file that differs is kept as FILE.bak",
     COMMON(force), .group = COMMON_GROUP},
    {0},
};

static void complete_common(spec_options *common, const char *verb)
{
    const spec_team *team = common->context->opt_team;
    spec_error error = {{0}};
    common->format_given = spec_fields_gave("format");
    if (common->output != NULL && strcmp(common->output, "-") == 0) common->output = NULL;
    if (common->sums != NULL && team != NULL)
        spec_usage_fail(verb, "--sums needs speclab, since it leaves no work for ranks");
    if (team != NULL && !team->leads) return;
    if (spec_output_probe(common->output, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "%s", error.text);
}

/* ---- help ------------------------------------------------------------------------------------ */

__attribute__((noreturn)) static void close_output(const char *verb)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        spec_usage_fail(verb, "standard output: %s", strerror(errno));
    exit(SPEC_EXIT_HOLDS);
}

/* Returns the help of a field with its default, allocated. */
static char *help_of(const spec_field *field, const reading *r)
{
    const bool common = field->group == COMMON_GROUP && field->name != NULL;
    const char *help = common && field->letter == 'f' && r->of->formats != NULL  ? r->of->formats
                       : common && field->letter == 'o' && r->of->output != NULL ? r->of->output
                                                                                 : field->help;
    char *text = NULL;
    if (asprintf(&text, field->fallback != NULL ? "%s (%s)" : "%s", help, field->fallback) < 0)
        spec_usage_no_memory(r->verb);
    return text;
}

__attribute__((noreturn)) static void print_help(void *of, const char *word, const char *verb)
{
    (void)word;
    const reading *r = of;
    spec_option_row row[MOST_ROWS];
    for (int i = 0; i < r->n; i++) {
        const spec_field *field = r->row[i].field;
        row[i] = (spec_option_row){.name = field->name,
                                   .letter = field->letter,
                                   .value = field->value,
                                   .help = help_of(field, r),
                                   .group = field->group != 0 ? field->group : 1};
    }
    spec_option_help_print(stdout, verb, r->of->words, r->of->doc, row, r->n);
    close_output(verb);
}

static void print_version(void *r, const char *word, const char *verb)
{
    (void)r;
    (void)word;
    puts("speclab " SPEC_VERSION);
    close_output(verb);
}

static const spec_field usage_fields[] = {
    {"help", 'h', NULL, "print this help", .read = print_help, .group = USAGE_GROUP},
    {"version", 'V', NULL, "print the version", .read = print_version, .group = USAGE_GROUP},
    {0},
};

/* ---- an option that cannot be parsed --------------------------------------------------------- */

static int row_of_letter(const reading *r, int letter)
{
    int i = 0;
    while (i < r->n && (r->row[i].field->name == NULL || r->row[i].field->letter != letter)) i++;
    return i;
}

static const spec_field *find(const spec_field *opt_fields, const char *option)
{
    for (const spec_field *field = opt_fields; field != NULL && field->help != NULL; field++)
        if (field->name != NULL && strcmp(field->name, option) == 0) return field;
    return NULL;
}

static const spec_field *find_option(const char *verb, const char *option)
{
    const spec_verb *known = spec_verbs;
    while (strcmp(known->name, verb) != 0) known++;
    const spec_fields *of = known->options;
    const spec_field *field = find(of->fields, option);
    if (field == NULL) field = find(of->also, option);
    if (field == NULL && of->grid) field = find(grid_fields, option);
    if (field == NULL && !of->alone) field = find(common_fields, option);
    return field;
}

/* Writes the verbs that have an option: "predict, sweep and run". */
static void list_verbs(char list[SPEC_OPTION_HINT_VERBS], const char *option)
{
    const char *found[MOST_ROWS];
    int n = 0;
    for (const spec_verb *verb = spec_verbs; verb->name != NULL && n < MOST_ROWS; verb++)
        if (find_option(verb->name, option) != NULL) found[n++] = verb->name;
    *list = '\0';
    for (int i = 0, used = 0; i < n && used < SPEC_OPTION_HINT_VERBS; i++)
        used += snprintf(list + used, (size_t)(SPEC_OPTION_HINT_VERBS - used), "%s%s",
                         i == 0       ? ""
                         : i + 1 == n ? " and "
                                      : ", ",
                         found[i]);
}

static bool has(const char *verb, const char *option, char *ret_letter)
{
    const spec_field *field = find_option(verb, option);
    if (field != NULL) *ret_letter = field->letter;
    return field != NULL;
}

/* Fails with a hint if the name is an option of another engine. */
static void hint_at(const reading *r, const char *dashes, const char *name)
{
    char hint[SPEC_OPTION_HINT_SIZE];
    const spec_option_set set = {
        .verb = strrchr(r->verb, ' ') + 1, .has = has, .list_verbs = list_verbs};
    if (spec_option_hint(hint, dashes, name, &set) != NULL) spec_usage_fail(r->verb, "%s", hint);
}

/* Fails with what "--NAME" or "--NAME=VALUE" may mean. */
__attribute__((noreturn)) static void fail_at_name(const reading *r, const char *word)
{
    const char *known[MOST_ROWS + 1] = {NULL};
    char name[128], meanings[256] = "";
    int n = 0, n_meant = 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (int i = 0; i < r->n; i++) {
        const char *option = r->row[i].field->name;
        if (option == NULL) continue;
        known[n++] = option;
        if (strncmp(option, name, strlen(name)) != 0) continue;
        const size_t end = strlen(meanings);
        snprintf(meanings + end, sizeof meanings - end, "%s--%s", n_meant++ > 0 ? ", " : "",
                 option);
    }
    if (n_meant > 1) spec_usage_fail(r->verb, "--%s is ambiguous: %s", name, meanings);
    hint_at(r, "--", name);
    const char *near = spec_names_nearest(name, known);
    if (near != NULL)
        spec_usage_fail(r->verb, "there is no option --%s; did you mean --%s?", name, near);
    spec_usage_fail(r->verb, "there is no option --%s; '%s --help' lists them", name, r->verb);
}

/* Fails with what is wrong with the option at which getopt_long has stopped; `got` is what it
 * returned, ':' if a value is missing. */
__attribute__((noreturn)) static void fail_at_option(const reading *r, int got, const char *word)
{
    if (optopt >= FIRST_ROW) {
        const spec_field *field = r->row[optopt - FIRST_ROW].field;
        if (got == ':')
            spec_usage_fail(r->verb, "--%s needs a value, %s", field->name, field->value);
        spec_usage_fail(r->verb, "--%s takes no value", field->name);
    }
    if (optopt == 0) fail_at_name(r, word + strlen("--"));
    if (got == ':')
        spec_usage_fail(r->verb, "-%c needs a value, %s", optopt,
                        r->row[row_of_letter(r, optopt)].field->value);
    if (optopt == '?') print_help((void *)r, NULL, r->verb);
    hint_at(r, "-", (const char[]){(char)optopt, '\0'});
    spec_usage_fail(r->verb, "there is no option -%c; '%s --help' lists them", optopt, r->verb);
}

/* ---- the command line ------------------------------------------------------------------------ */

/* Writes what getopt_long reads. "-:" makes it return words in order, and tell a missing value from
 * an unknown option. */
static void list_options(char letters[2 * MOST_ROWS + 3], struct option name[2 * MOST_ROWS + 1],
                         const reading *r)
{
    int n = 0;
    letters += sprintf(letters, "-:");
    for (int i = 0; i < r->n; i++) {
        const spec_field *field = r->row[i].field;
        const int takes = field->value != NULL ? required_argument : no_argument;
        if (field->name == NULL) continue;
        if (field->letter != '\0')
            letters += sprintf(letters, "%c%s", field->letter, field->value != NULL ? ":" : "");
        int before = 0; /* if two options have the same name, the verb's own wins */
        while (before < n && strcmp(name[before].name, field->name) != 0) before++;
        if (before == n) name[n++] = (struct option){field->name, takes, NULL, FIRST_ROW + i};
    }
    name[n] = (struct option){0};
}

/* Records that an option was given, with its value or NULL. Fails if it was already given with a
 * value, unless it may repeat. */
static void note(const reading *r, field_row *row, const char *opt_word)
{
    const spec_field *field = row->field;
    const char *before = row->word;
    int n = 0;
    row->word = opt_word != NULL ? opt_word : "";
    while (gave[n] != NULL && strcmp(gave[n], field->name) != 0) n++;
    gave[n] = field->name;
    if (before == NULL || opt_word == NULL || field->repeats) return;
    if (strcmp(field->value, "LIST") == 0)
        spec_usage_fail(r->verb, "--%s is given twice; give one list: --%s %s,%s", field->name,
                        field->name, before, opt_word);
    spec_usage_fail(r->verb, "--%s is given twice, as '%s' and as '%s'; give it once", field->name,
                    before, opt_word);
}

/* An option of the command line, or a word that is not an option (row NULL). */
typedef struct {
    const field_row *row;
    const char *word;
} line_part;

/* Reads the options in their order, and then the words. */
static void read_line(reading *r, void *arguments, int argc, char **argv)
{
    char letters[2 * MOST_ROWS + 3];
    struct option name[2 * MOST_ROWS + 1];
    size_t most = 0; /* every letter may be an option: -abc */
    int n = 0;
    for (int i = 0; i < argc; i++) most += strlen(argv[i]) + 1;
    line_part *part = calloc(most, sizeof *part);
    if (part == NULL) spec_usage_no_memory(r->verb);
    list_options(letters, name, r);
    opterr = optind = 0;
    for (int got; (got = getopt_long(argc, argv, letters, name, NULL)) != -1; n++) {
        if (got == '?' || got == ':') fail_at_option(r, got, argv[optind - 1]);
        part[n].word = optarg;
        if (got == A_WORD) continue;
        const bool by_letter = got < FIRST_ROW;
        field_row *row = &r->row[by_letter ? row_of_letter(r, got) : got - FIRST_ROW];
        if (by_letter && optarg != NULL && *optarg == '=' && optarg != argv[optind - 1])
            spec_usage_fail(r->verb, "-%c%s: a letter takes no '='; write -%c %s or --%s%s", got,
                            optarg, got, optarg + 1, row->field->name, optarg);
        note(r, row, optarg);
        part[n].row = row;
        if (row->field->group == USAGE_GROUP) read_value(r, row->field, NULL, r->verb);
    }
    while (optind < argc) part[n++].word = argv[optind++]; /* after "--" */
    for (int i = 0; i < n; i++)
        if (part[i].row != NULL)
            read_value(part[i].row->arguments, part[i].row->field, part[i].word, r->verb);
    for (int i = 0; i < n; i++) {
        if (part[i].row != NULL) continue;
        if (r->of->word == NULL)
            spec_usage_fail(r->verb, "'%s' is not an option; '%s --help' lists the options",
                            part[i].word, r->verb);
        r->of->word(arguments, part[i].word, r->verb);
    }
    free(part);
}

/* Returns the first of the options in `names`, separated by blanks, that the user gave; or NULL. */
static const char *given_of(const reading *r, const char *names)
{
    for (; *names != '\0'; names += strspn(names, " ")) {
        const size_t n = strcspn(names, " ");
        int i = 0;
        while (i < r->n && (r->row[i].field->name == NULL || strlen(r->row[i].field->name) != n ||
                            strncmp(r->row[i].field->name, names, n) != 0))
            i++;
        assert(i < r->n); /* every name is that of a field */
        if (r->row[i].word != NULL) return r->row[i].field->name;
        names += n;
    }
    return NULL;
}

static void check_relations(const reading *r, const spec_field_relation *opt_relations)
{
    for (const spec_field_relation *of = opt_relations; of != NULL && of->option != NULL; of++) {
        const char *option = given_of(r, of->option), *other = given_of(r, of->others),
                   *why = of->why != NULL ? of->why : "";
        if (option == NULL || of->needs == (other != NULL)) continue;
        if (other != NULL)
            spec_usage_fail(r->verb, "--%s and --%s cannot be combined%s", option, other, why);
        char others[128] = "";
        for (const char *rest = of->others; *rest != '\0'; rest += strspn(rest, " ")) {
            const int n = (int)strcspn(rest, " "), used = (int)strlen(others);
            snprintf(others + used, sizeof others - (size_t)used, "%s--%.*s",
                     used > 0 ? " or " : "", n, rest);
            rest += n;
        }
        spec_usage_fail(r->verb, "--%s needs %s%s", option, others, why);
    }
}

void spec_fields_parse(void *arguments, spec_options *opt_common, const spec_fields *of, int argc,
                       char **argv)
{
    reading r = {.of = of, .verb = argv[0]};
    if (of->fields != NULL) add_rows(&r, of->fields, arguments);
    if (of->also != NULL) add_rows(&r, of->also, (char *)arguments + of->also_at);
    if (of->grid) add_rows(&r, grid_fields, opt_common);
    if (!of->alone) add_rows(&r, common_fields, opt_common);
    add_rows(&r, usage_fields, NULL);
    for (int i = 0; i < r.n; i++)
        if (r.row[i].field->fallback != NULL)
            read_value(r.row[i].arguments, r.row[i].field, r.row[i].field->fallback, r.verb);
    read_line(&r, arguments, argc, argv);
    check_relations(&r, of->relations);
    check_relations(&r, of->grid ? grid_relations : NULL);
    if (!of->alone) complete_common(opt_common, r.verb);
    spec_progress_begin(r.verb, spec_page_given_columns());
}

/* ---- what becomes of them -------------------------------------------------------------------- */

static const char *text_of(const spec_field *field, const void *arguments)
{
    return *(const char *const *)((const char *)arguments + field->at);
}

void spec_fields_assume(spec_assumed *assumed, const spec_field *fields, const void *arguments)
{
    for (const spec_field *field = fields; field->help != NULL; field++) {
        char typed[64];
        if (!field->assumed ||
            (field->type == SPEC_FIELD_TEXT ? text_of(field, arguments) != field->fallback
                                            : spec_fields_gave(field->name)))
            continue;
        snprintf(typed, sizeof typed, "--%s ", field->name);
        spec_assumed_add(assumed, typed, field->fallback, NULL);
    }
}
