#include "cli/usage.h"

#include "cli/verb.h"
#include "base/names.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_USAGE = 0x6001, MOST_OPTIONS = 64, LINE_MAX_BYTES = 2048 };

static void say(const char *verb, const char *format, va_list args)
{
    char line[LINE_MAX_BYTES];
    vsnprintf(line, sizeof line, format, args);
    for (char *c = line; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    }
    fprintf(stderr, "%s: %s\n", verb, line);
}

void spec_usage_say(const char *verb, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(verb, format, args);
    va_end(args);
}

void spec_usage_fail(const char *verb, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(verb, format, args);
    va_end(args);
    exit(SPEC_EXIT_USAGE);
}

/* ---- an option that cannot be parsed ----------------------------------------------------------------------------- */

/* Every option of a parser and its children. */
static int gather(const struct argp_option **option, int n, const struct argp *argp)
{
    for (const struct argp_option *o = argp->options; o != NULL && (o->name != NULL || o->key != 0 || o->doc != NULL);
         o++) {
        if ((o->name != NULL || o->key != 0) && n < MOST_OPTIONS) option[n++] = o;
    }
    for (const struct argp_child *child = argp->children; child != NULL && child->argp != NULL; child++)
        n = gather(option, n, child->argp);
    return n;
}

/* "--NAME" or "--NAME=VALUE": false if nothing is wrong with it. */
static bool complain_long(const char *verb, const char *word, const struct argp_option **option, int n)
{
    const char *known[MOST_OPTIONS + 1] = {NULL}, *equals = strchr(word, '=');
    const size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const struct argp_option *meant = NULL;
    int n_known = 0, n_meant = 0;
    for (int i = 0; i < n; i++) {
        if (option[i]->name == NULL) continue;
        known[n_known++] = option[i]->name;
        if (strncmp(option[i]->name, word, length) != 0) continue;
        const bool whole = strlen(option[i]->name) == length;
        n_meant = whole ? 1 : n_meant + 1;
        meant = option[i];
        if (whole) break;
    }
    if (n_meant > 1)
        spec_usage_fail(verb, "--%.*s may be several options; write it out, as in --%s", (int)length, word,
                        meant->name);
    if (n_meant == 1 && meant->arg != NULL && equals == NULL)
        spec_usage_fail(verb, "--%s needs a value, %s", meant->name, meant->arg);
    if (n_meant == 1 && meant->arg == NULL && equals != NULL) spec_usage_fail(verb, "--%s takes no value", meant->name);
    if (n_meant == 1) return false;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    const char *near = spec_names_nearest(name, known);
    if (near != NULL) spec_usage_fail(verb, "there is no option --%s; did you mean --%s?", name, near);
    spec_usage_fail(verb, "there is no option --%s; '%s --help' lists them", name, verb);
}

/* "-abc": the first letter that is wrong. */
static void complain_short(const char *verb, const char *letters, const struct argp_option **option, int n)
{
    for (; *letters != '\0'; letters++) {
        const struct argp_option *meant = NULL;
        for (int i = 0; i < n; i++)
            if (option[i]->key == *letters) meant = option[i];
        if (meant == NULL) spec_usage_fail(verb, "there is no option -%c; '%s --help' lists them", *letters, verb);
        if (meant->arg != NULL && letters[1] == '\0')
            spec_usage_fail(verb, "-%c needs a value, %s", *letters, meant->arg);
        if (meant->arg != NULL) return;
    }
}

/* getopt has passed the word that is wrong, unless it stopped within a bundle of letters. */
static void complain(const struct argp_state *state)
{
    const struct argp_option *option[MOST_OPTIONS];
    const int n = gather(option, 0, state->root_argp);
    for (int i = state->next - 1; i <= state->next && i < state->argc; i++) {
        const char *word = state->argv[i];
        if (i < 1 || word[0] != '-' || word[1] == '\0') continue;
        if (word[1] == '-') complain_long(state->name, word + 2, option, n);
        else complain_short(state->name, word + 1, option, n);
    }
    spec_usage_fail(state->name, "an option is wrong; '%s --help' lists them", state->name);
}

/* ---- the parser -------------------------------------------------------------------------------------------------- */

static const struct argp_option usage_options[] = {
    {"help", 'h', NULL, 0, "print this help", -1},
    {NULL, '?', NULL, OPTION_HIDDEN, NULL, -1},
    {"usage", KEY_USAGE, NULL, 0, "print the options in short", -1},
    {"version", 'V', NULL, 0, "print the version", -1},
    {0},
};

__attribute__((noreturn)) static void close_output(const char *verb)
{
    if (fflush(stdout) != 0) spec_usage_fail(verb, "standard output: %s", strerror(errno));
    exit(SPEC_EXIT_HOLDS);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    switch (key) {
    case 'h':
    case '?':
        argp_help(state->root_argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, state->name);
        close_output(state->name);
    case KEY_USAGE:
        argp_help(state->root_argp, stdout, ARGP_HELP_USAGE, state->name);
        close_output(state->name);
    case 'V':
        puts(argp_program_version);
        close_output(state->name);
    case ARGP_KEY_ERROR: complain(state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp spec_usage_argp = {usage_options, parse, NULL, NULL, NULL, NULL, NULL};

void spec_usage_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    /* 80 columns, headings at the margin (help2man knows them there); without the note that -aX and --alpha=X are the
     * same. */
    setenv("ARGP_HELP_FMT", "rmargin=79,header-col=0,no-dup-args-note", 0);
    const error_t failed = argp_parse(argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, input);
    if (failed != 0) spec_usage_fail(argv[0], "%s", strerror(failed));
}
