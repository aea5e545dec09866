/* settings: the one grammar by which models, drafts, rules and policies are named and configured.
 *     NAME[:PATH][?key=value&key=value...]        e.g. ngram:text.txt?order=4&tokens=bytes, confidence?threshold=0.4
 * A usage line says which path and keys there may be, and _check holds a spec to it. The settings own their strings. */
#ifndef SPECLAB_SETTINGS_H
#define SPECLAB_SETTINGS_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { SPEC_SETTINGS_MAX = 32 };

typedef struct {
    char *text; /* the whole spec, as given */
    char *name; /* before ':' or '?', never empty */
    char *path; /* between ':' and '?'; "" where there is none */
    int n;
    char *key[SPEC_SETTINGS_MAX];
    char *value[SPEC_SETTINGS_MAX];
} spec_settings;

/* Split `text`. GSL_EINVAL with a line for: empty or over-long (64 kB) text, control characters, no name, a pair
 * without '=' or key, a key given twice, more than SPEC_SETTINGS_MAX pairs. Frees nothing that was there before. */
int spec_settings_init(spec_settings *settings, const char *text, spec_error *error);
void spec_settings_free(spec_settings *settings);

/* The value of `key`, or NULL. */
const char *spec_settings_text(const spec_settings *settings, const char *key);

/* A finite number within [low, high]; `fallback` where the key is absent (it need not lie within). On failure the value
 * is 0 and the line names the key, the value and what would be right. */
int spec_settings_double(double *ret_value, const spec_settings *settings, const char *key, double fallback, double low,
                         double high, spec_error *error);
int spec_settings_int(int *ret_value, const spec_settings *settings, const char *key, int fallback, int low, int high,
                      spec_error *error);
int spec_settings_u64(uint64_t *ret_value, const spec_settings *settings, const char *key, uint64_t fallback,
                      spec_error *error);

/* The index of the value among the NULL-terminated `choices`. */
int spec_settings_choice(int *ret_index, const spec_settings *settings, const char *key, int fallback,
                         const char *const *choices, spec_error *error);

/* The number that begins at text[*at], of a list such as "3.2.1", within [low, high]; *at goes behind its dot, beyond
 * the text after the last. On failure the line names key, list and number. */
int spec_settings_list_int(int *ret_value, size_t *at, const char *key, const char *text, int low, int high,
                           spec_error *error);

/* Whether the spec has what a usage line such as "ngram:PATH?order=4" allows: a path where the line has one and no
 * other, and no keys but those before a '=' of the line and those of opt_more (comma-separated). GSL_EINVAL, naming the
 * nearest key that there is; to be asked before any work is done. The line may go on with a tab and a summary. */
int spec_settings_check(const spec_settings *settings, const char *usage, const char *opt_more, spec_error *error);

/* Parse a whole string as a finite double, an int or a uint64_t, in decimal; false, and 0, where anything is left over
 * or out of range: blanks, hexadecimals, "inf" and "nan" are refused. The C locale's decimal point is assumed. */
bool spec_settings_parse_double(double *ret_value, const char *text);
bool spec_settings_parse_int(int *ret_value, const char *text);
bool spec_settings_parse_u64(uint64_t *ret_value, const char *text);

#endif
