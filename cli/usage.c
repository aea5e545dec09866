/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/usage.h"

#include "base/escape.h"
#include "base/names.h"
#include "base/progress.h"
#include "cli/option_hints.h"
#include "cli/page.h"
#include "cli/stop.h"
#include "cli/verb.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_USAGE = 0x6001, MOST_OPTIONS = 64, LINE_MAX_BYTES = 2048, FIRST_INDEX = 0x10000 };

static void write_line(char line[LINE_MAX_BYTES], const char *verb, const char *format,
                       va_list args)
{
    const int n = snprintf(line, LINE_MAX_BYTES, "%.60s: ", verb);
    vsnprintf(line + n, LINE_MAX_BYTES - (size_t)n, format, args);
    spec_escape_in_place(line);
    spec_progress_clear();
}

static void say(const char *verb, const char *format, va_list args)
{
    char line[LINE_MAX_BYTES];
    if (spec_stop == SIGPIPE) return; /* its reader has gone */
    write_line(line, verb, format, args);
    fprintf(stderr, "%s\n", line);
}

void spec_usage_say(const char *verb, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(verb, format, args);
    va_end(args);
}

static void tell(const char *verb, const char *format, va_list args)
{
    char line[LINE_MAX_BYTES];
    write_line(line, verb, format, args);
    spec_page_write(line, spec_page_columns(STDERR_FILENO), stderr);
    fputc('\n', stderr);
}

void spec_usage_tell(const char *verb, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(verb, format, args);
    va_end(args);
}

void spec_usage_note(const char *verb, const char *format, ...)
{
    va_list args;
    if (!isatty(STDERR_FILENO)) return;
    va_start(args, format);
    tell(verb, format, args);
    va_end(args);
}

void spec_usage_fail(const char *verb, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(verb, format, args);
    va_end(args);
    exit(spec_stop_code(SPEC_EXIT_USAGE));
}

void spec_usage_no_memory(const char *verb)
{
    spec_usage_fail(verb, "out of memory");
}

/* ---- an option that cannot be parsed --------------------------------------------------------- */

/* Collects the options of a parser and its children. */
static int gather(const struct argp_option **option, int n, const struct argp *argp)
{
    for (const struct argp_option *o = argp->options;
         o != NULL && (o->name != NULL || o->key != 0 || o->doc != NULL); o++) {
        if ((o->name != NULL || o->key != 0) && n < MOST_OPTIONS) option[n++] = o;
    }
    for (const struct argp_child *child = argp->children; child != NULL && child->argp != NULL;
         child++)
        n = gather(option, n, child->argp);
    return n;
}

typedef struct {
    const struct argp_option **option;
    int n;
} option_list;

static bool list_has(const void *self, const char *name, char *ret_letter)
{
    const option_list *list = self;
    for (int i = 0; i < list->n; i++) {
        const struct argp_option *o = list->option[i];
        if (o->name == NULL || strcmp(o->name, name) != 0) continue;
        *ret_letter = o->key > ' ' && o->key < 0x7f ? (char)o->key : '\0';
        return true;
    }
    return false;
}

/* Fails with a hint if the name is an option of another engine. */
static void hint_at(const char *verb, const char *dashes, const char *name,
                    const struct argp_option **option, int n)
{
    char hint[SPEC_OPTION_HINT_SIZE];
    const option_list list = {option, n};
    const char *blank = strrchr(verb, ' ');
    const spec_option_set set = {
        .verb = blank != NULL ? blank + 1 : verb, .has = list_has, .self = &list};
    if (spec_option_hint(hint, dashes, name, &set) != NULL)
        spec_usage_fail(verb, "%s", hint);
}

/* Checks "--NAME" or "--NAME=VALUE"; false if the option is correct. */
static bool complain_long(const char *verb, const char *word, const struct argp_option **option,
                          int n)
{
    const char *known[MOST_OPTIONS + 1] = {NULL}, *equals = strchr(word, '=');
    const size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const struct argp_option *meant = NULL;
    char meanings[256] = "";
    int n_known = 0, n_meant = 0;
    for (int i = 0; i < n; i++) {
        if (option[i]->name == NULL) continue;
        known[n_known++] = option[i]->name;
        if (strncmp(option[i]->name, word, length) != 0) continue;
        const bool whole = strlen(option[i]->name) == length;
        n_meant = whole ? 1 : n_meant + 1;
        meant = option[i];
        if (whole) break;
        const size_t end = strlen(meanings);
        snprintf(meanings + end, sizeof meanings - end, "%s--%s", end > 0 ? ", " : "", meant->name);
    }
    if (n_meant > 1) spec_usage_fail(verb, "--%.*s is ambiguous: %s", (int)length, word, meanings);
    if (n_meant == 1 && meant->arg != NULL && equals == NULL)
        spec_usage_fail(verb, "--%s needs a value, %s", meant->name, meant->arg);
    if (n_meant == 1 && meant->arg == NULL && equals != NULL)
        spec_usage_fail(verb, "--%s takes no value", meant->name);
    if (n_meant == 1) return false;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    hint_at(verb, "--", name, option, n);
    const char *near = spec_names_nearest(name, known);
    if (near != NULL)
        spec_usage_fail(verb, "there is no option --%s; did you mean --%s?", name, near);
    spec_usage_fail(verb, "there is no option --%s; '%s --help' lists them", name, verb);
}

/* Reports the first wrong letter of "-abc". */
static void complain_short(const char *verb, const char *letters, const struct argp_option **option,
                           int n)
{
    for (; *letters != '\0'; letters++) {
        const struct argp_option *meant = NULL;
        for (int i = 0; i < n; i++)
            if (option[i]->key == *letters) meant = option[i];
        if (meant == NULL) hint_at(verb, "-", (const char[]){*letters, '\0'}, option, n);
        if (meant == NULL)
            spec_usage_fail(verb, "there is no option -%c; '%s --help' lists them", *letters, verb);
        if (meant->arg != NULL && letters[1] == '\0')
            spec_usage_fail(verb, "-%c needs a value, %s", *letters, meant->arg);
        if (meant->arg != NULL) return;
    }
}

/* Reports the wrong option. getopt has passed its word, unless it stopped within a group of
 * letters. */
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

/* ---- an option that is given twice ----------------------------------------------------------- */

/* Translates argp's options for getopt_long: `letters` (2 n + 2) and `word` (n + 1), whose val is
 * the index in `option`. The leading '-' keeps getopt_long from reordering argv. */
static void list_for_getopt(char *letters, struct option *word, const struct argp_option **option,
                            int n)
{
    *letters++ = '-';
    for (int i = 0; i < n; i++) {
        const int key = option[i]->key;
        const bool takes = option[i]->arg != NULL;
        if (option[i]->name != NULL)
            *word++ = (struct option){option[i]->name, takes ? required_argument : no_argument,
                                      NULL, FIRST_INDEX + i};
        if (key <= ' ' || key >= 0x7f) continue;
        *letters++ = (char)key;
        if (takes) *letters++ = ':';
    }
    *letters = '\0';
    *word = (struct option){0};
}

static const char *gave[MOST_OPTIONS + 1]; /* the names of the options that were given */

bool spec_usage_gave(const char *option)
{
    int i = 0;
    while (gave[i] != NULL && strcmp(gave[i], option) != 0) i++;
    return gave[i] != NULL;
}

/* Checks that an option with a value is given only once, unless it is marked as repeatable. Refuses
 * the '=' of "-a=0.8". */
static void check_values(const struct argp *argp, int argc, char **argv)
{
    const struct argp_option *option[MOST_OPTIONS];
    const char *value[MOST_OPTIONS] = {NULL};
    char letters[2 * MOST_OPTIONS + 2];
    struct option word[MOST_OPTIONS + 1];
    const int n = gather(option, 0, argp);
    int n_gave = 0;
    list_for_getopt(letters, word, option, n);
    opterr = 0;
    optind = 0;
    for (int got; (got = getopt_long(argc, argv, letters, word, NULL)) != -1;) {
        int i = got - FIRST_INDEX;
        if (got < FIRST_INDEX)
            for (i = 0; i < n && option[i]->key != got;) i++;
        if (got == '?' || i >= n || option[i]->name == NULL) continue;
        if (option[i]->arg == NULL) {
            if (!spec_usage_gave(option[i]->name)) gave[n_gave++] = option[i]->name;
            continue;
        }
        if (got < FIRST_INDEX && *optarg == '=' && optarg != argv[optind - 1])
            spec_usage_fail(argv[0], "-%c%s: no '=' comes after a letter; write -%c %s or --%s%s",
                            got, optarg, got, optarg + 1, option[i]->name, optarg);
        int first = 0;
        while (option[first]->key != option[i]->key) first++; /* a second name of the same option */
        const char *before = value[first], *name = option[i]->name;
        value[first] = optarg;
        if (before == NULL) gave[n_gave++] = option[first]->name;
        if (before == NULL || (option[i]->flags & SPEC_OPTION_REPEATS) != 0) continue;
        if (strcmp(option[i]->arg, "LIST") == 0)
            spec_usage_fail(argv[0], "--%s is given twice; give one list: --%s %s,%s", name, name,
                            before, optarg);
        spec_usage_fail(argv[0], "--%s is given twice, as '%s' and as '%s'; give it once", name,
                        before, optarg);
    }
}

/* ---- the parser ------------------------------------------------------------------------------ */

static const struct argp_option usage_options[] = {
    {"help", 'h', NULL, 0, "print this help", -1},
    {NULL, '?', NULL, OPTION_HIDDEN, NULL, -1},
    {"usage", KEY_USAGE, NULL, 0, "print a short list of the options", -1},
    {"version", 'V', NULL, 0, "print the version", -1},
    {0},
};

__attribute__((noreturn)) static void close_output(const char *verb)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        spec_usage_fail(verb, "standard output: %s", strerror(errno));
    exit(SPEC_EXIT_HOLDS);
}

/* Prints help and ends the program. Help depends on the inputs of the parsers, which only
 * argp_state_help knows; it prints nothing with ARGP_NO_ERRS. */
__attribute__((noreturn)) static void print_help(struct argp_state *state, unsigned parts)
{
    state->flags &= ~(unsigned)ARGP_NO_ERRS;
    argp_state_help(state, stdout, parts);
    close_output(state->name);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    switch (key) {
    case 'h':
    case '?':
        print_help(state, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC);
    case KEY_USAGE: print_help(state, ARGP_HELP_USAGE);
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
    /* 80 columns; headings without indent, as cli/man.awk expects; no note that -aX equals
     * --alpha=X. */
    setenv("ARGP_HELP_FMT", "rmargin=79,header-col=0,no-dup-args-note", 0);
    check_values(argp, argc, argv);
    const error_t failed = argp_parse(argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, input);
    if (failed != 0) spec_usage_fail(argv[0], "%s", strerror(failed));
    spec_progress_begin(argv[0], spec_page_given_columns());
}
