/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fields.h"

#include "base/memory_text.h"
#include "base/settings.h"
#include "cli/verb.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* FIRST_KEY is above the keys of the common options; a field's is FIRST_KEY + its index, or its
 * letter. */
enum { MOST_FIELDS = 48, FIRST_KEY = 0x20000 };

/* What argp passes to parse. */
typedef struct {
    void *arguments;
    spec_options *common;
    const spec_fields *of;
} reading;

static int key_of(const spec_field *field, const spec_field *fields)
{
    return field->letter != '\0' ? field->letter : FIRST_KEY + (int)(field - fields);
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
static const char *given_of(const spec_field *fields, const char *names)
{
    for (; *names != '\0'; names += strspn(names, " ")) {
        const size_t n = strcspn(names, " ");
        const spec_field *field = fields;
        while (field->help != NULL && (field->name == NULL || strlen(field->name) != n ||
                                       strncmp(field->name, names, n) != 0))
            field++;
        assert(field->help != NULL); /* every name is that of a field */
        if (spec_usage_gave(field->name)) return field->name;
        names += n;
    }
    return NULL;
}

static void check_relations(const spec_fields *of, const char *verb)
{
    for (const spec_field_relation *r = of->relations; r != NULL && r->option != NULL; r++) {
        const char *option = given_of(of->fields, r->option),
                   *other = given_of(of->fields, r->others), *why = r->why != NULL ? r->why : "";
        if (option == NULL || r->needs == (other != NULL)) continue;
        if (other != NULL)
            spec_usage_fail(verb, "--%s and --%s cannot be combined%s", option, other, why);
        char others[128] = "";
        for (const char *rest = r->others; *rest != '\0'; rest += strspn(rest, " ")) {
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
    const spec_field *fields = r->of->fields;
    switch (key) {
    case ARGP_KEY_INIT:
        if (r->of->opt_also != NULL) state->child_inputs[0] = (char *)r->arguments + r->of->also;
        state->child_inputs[r->of->opt_also != NULL] = r->common;
        return 0;
    case ARGP_KEY_ARG:
        if (r->of->word != NULL) {
            r->of->word(r->arguments, word, state->name);
            return 0;
        }
        spec_usage_fail(state->name, "'%s' is not an option; '%s --help' lists the options", word,
                        state->name);
    case ARGP_KEY_END: check_relations(r->of, state->name); return 0;
    default: break;
    }
    for (const spec_field *field = fields; field->help != NULL; field++) {
        if (field->name == NULL || key_of(field, fields) != key) continue;
        read_value(r->arguments, field, word, state->name);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

/* Writes the rows of argp, whose texts the caller frees with `texts`. */
static void list_options(struct argp_option option[MOST_FIELDS + 1], char **texts,
                         const spec_field *fields, const char *verb)
{
    int n = 0;
    for (const spec_field *field = fields; field->help != NULL; field++, n++) {
        const bool heads = field->name == NULL;
        char *help = NULL;
        if (field->fallback != NULL && !heads) {
            spec_memory_text text;
            if (!spec_memory_text_open(&text)) spec_usage_no_memory(verb);
            fprintf(text.out, "%s (%s)", field->help, field->fallback);
            help = spec_memory_text_take(&text, NULL);
            if (help == NULL) spec_usage_no_memory(verb);
        }
        texts[n] = help;
        option[n] = (struct argp_option){.name = field->name,
                                         .key = heads ? 0 : key_of(field, fields),
                                         .arg = field->value,
                                         .flags = field->repeats ? SPEC_OPTION_REPEATS : 0,
                                         .doc = help != NULL ? help : field->help,
                                         .group = field->group > 0 ? field->group : 1};
    }
    option[n] = (struct argp_option){0};
}

void spec_fields_parse(void *arguments, spec_options *common, const spec_fields *of, int argc,
                       char **argv)
{
    struct argp_option option[MOST_FIELDS + 1];
    char *texts[MOST_FIELDS] = {NULL};
    for (const spec_field *field = of->fields; field->help != NULL; field++)
        if (field->fallback != NULL) read_value(arguments, field, field->fallback, argv[0]);
    list_options(option, texts, of->fields, argv[0]);
    const struct argp_child children[] = {
        {of->opt_also, 0, NULL, 0}, {of->common, 0, NULL, 0}, {0}};
    const struct argp argp = {option, parse, of->words, of->doc, &children[of->opt_also == NULL],
                              NULL,   NULL};
    reading r = {.arguments = arguments, .common = common, .of = of};
    spec_usage_parse(&argp, argc, argv, &r);
    for (int i = 0; i < MOST_FIELDS; i++) free(texts[i]);
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
