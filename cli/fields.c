/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fields.h"

#include "base/settings.h"
#include "cli/verb.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* FIRST_KEY is above the keys of the common options; an option's is FIRST_KEY + its row, or its
 * letter. */
enum { MOST_ROWS = 64, FIRST_KEY = 0x20000 };

/* A field, and the struct that it fills. */
typedef struct {
    const spec_field *field;
    void *arguments;
} row;

/* What argp passes to parse. */
typedef struct {
    row row[MOST_ROWS];
    int n;
    void *arguments;
    spec_options *common;
    const spec_fields *of;
} reading;

static void add_rows(reading *r, const spec_field *fields, void *arguments)
{
    for (const spec_field *field = fields; field->help != NULL; field++) {
        assert(r->n < MOST_ROWS);
        r->row[r->n++] = (row){field, arguments};
    }
}

static int key_of(const reading *r, int i)
{
    const char letter = r->row[i].field->letter;
    return letter != '\0' ? letter : FIRST_KEY + i;
}

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
        if (spec_usage_gave(r->row[i].field->name)) return r->row[i].field->name;
        names += n;
    }
    return NULL;
}

static void check_relations(const reading *r, const char *verb)
{
    for (const spec_field_relation *of = r->of->relations; of != NULL && of->option != NULL; of++) {
        const char *option = given_of(r, of->option), *other = given_of(r, of->others),
                   *why = of->why != NULL ? of->why : "";
        if (option == NULL || of->needs == (other != NULL)) continue;
        if (other != NULL)
            spec_usage_fail(verb, "--%s and --%s cannot be combined%s", option, other, why);
        char others[128] = "";
        for (const char *rest = of->others; *rest != '\0'; rest += strspn(rest, " ")) {
            const int n = (int)strcspn(rest, " "), used = (int)strlen(others);
            snprintf(others + used, sizeof others - (size_t)used, "%s--%.*s",
                     used > 0 ? " or " : "", n, rest);
            rest += n;
        }
        spec_usage_fail(verb, "--%s needs %s%s", option, others, why);
    }
}

static error_t parse(int key, char *word, struct argp_state *state)
{
    const reading *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = r->common; return 0;
    case ARGP_KEY_ARG:
        if (r->of->word != NULL) {
            r->of->word(r->arguments, word, state->name);
            return 0;
        }
        spec_usage_fail(state->name, "'%s' is not an option; '%s --help' lists the options", word,
                        state->name);
    case ARGP_KEY_END: check_relations(r, state->name); return 0;
    default: break;
    }
    for (int i = 0; i < r->n; i++) {
        if (r->row[i].field->name == NULL || key_of(r, i) != key) continue;
        read_value(r->row[i].arguments, r->row[i].field, word, state->name);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

/* Writes the rows of argp, whose texts the caller frees with `texts`. */
static void list_options(struct argp_option option[2 * MOST_ROWS + 1], char *texts[MOST_ROWS],
                         const reading *r, const char *verb)
{
    int n = 0;
    for (int i = 0; i < r->n; i++) {
        const spec_field *field = r->row[i].field;
        const bool heads = field->name == NULL;
        texts[i] = NULL;
        if (field->fallback != NULL &&
            asprintf(&texts[i], "%s (%s)", field->help, field->fallback) < 0)
            spec_usage_no_memory(verb);
        option[n++] = (struct argp_option){.name = field->name,
                                           .key = heads ? 0 : key_of(r, i),
                                           .arg = field->value,
                                           .flags = field->repeats ? SPEC_OPTION_REPEATS : 0,
                                           .doc = texts[i] != NULL ? texts[i] : field->help,
                                           .group = field->group > 0 ? field->group : 1};
        if (field->old == NULL) continue;
        option[n] = option[n - 1];
        option[n].name = field->old;
        option[n++].flags |= OPTION_HIDDEN;
    }
    option[n] = (struct argp_option){0};
}

void spec_fields_parse(void *arguments, spec_options *common, const spec_fields *of, int argc,
                       char **argv)
{
    struct argp_option option[2 * MOST_ROWS + 1];
    char *texts[MOST_ROWS];
    reading r = {.arguments = arguments, .common = common, .of = of};
    add_rows(&r, of->fields, arguments);
    if (of->also != NULL) add_rows(&r, of->also, (char *)arguments + of->also_at);
    for (int i = 0; i < r.n; i++)
        if (r.row[i].field->fallback != NULL)
            read_value(r.row[i].arguments, r.row[i].field, r.row[i].field->fallback, argv[0]);
    list_options(option, texts, &r, argv[0]);
    const struct argp_child children[] = {{of->common, 0, NULL, 0}, {0}};
    const struct argp argp = {option, parse, of->words, of->doc, children, NULL, NULL};
    spec_usage_parse(&argp, argc, argv, &r);
    for (int i = 0; i < r.n; i++) free(texts[i]);
}

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
                                            : spec_usage_gave(field->name)))
            continue;
        snprintf(typed, sizeof typed, "--%s ", field->name);
        spec_assumed_add(assumed, typed, field->fallback, NULL);
    }
}

void spec_field_parameter(char name[SPEC_FIELD_PARAMETER_SIZE], const spec_field *field)
{
    snprintf(name, SPEC_FIELD_PARAMETER_SIZE, "%s",
             field->parameter != NULL ? field->parameter : field->name);
    for (char *c = name; *c != '\0'; c++) {
        if (*c == '-') *c = '_';
    }
}

int spec_fields_axes(spec_verb_axis axis[SPEC_FIELDS_AXES], const spec_field *fields,
                     const void *arguments)
{
    int n = 0;
    for (const spec_field *field = fields; field->help != NULL; field++) {
        if (field->axis == SPEC_AXIS_NONE) continue;
        assert(n < SPEC_FIELDS_AXES);
        const bool flag = field->type == SPEC_FIELD_FLAG;
        const char *value =
            flag ? *((const bool *)arguments + field->at) ? "" : NULL : text_of(field, arguments);
        if (value == NULL) continue;
        axis[n] = (spec_verb_axis){.kind = field->axis, .value = value};
        spec_field_parameter(axis[n].name, field);
        n++;
    }
    return n;
}
