/* SPDX-License-Identifier: GPL-3.0-or-later */
/* settings: the grammar of model, draft, rule and policy specs: NAME[:PATH][?key=value&...].
 * Examples: ngram:text.txt?order=4&tokens=bytes and confidence?threshold=0.4. A usage line lists
 * the path and the keys that a name takes; _check compares a spec with it. The settings own their
 * strings. */
#ifndef SPECLAB_SETTINGS_H
#define SPECLAB_SETTINGS_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { SPEC_SETTINGS_MAX = 32 };

typedef struct {
    char *text; /* the whole spec, as given */
    char *name; /* before ':' or '?', never empty */
    char *path; /* between ':' and '?'; "" if there is none */
    int n;
    char *key[SPEC_SETTINGS_MAX];
    char *value[SPEC_SETTINGS_MAX];
} spec_settings;

/* Splits `text`. Returns GSL_EINVAL with a message if the text is empty or too long (64 kB), has
 * control characters or no name, or if a pair lacks its '=' or key, a key is repeated, or there are
 * more than SPEC_SETTINGS_MAX pairs. The previous contents are not freed. */
int spec_settings_init(spec_settings *settings, const char *text, spec_error *error);
void spec_settings_free(spec_settings *settings);

/* Returns the value of `key`, or NULL. */
const char *spec_settings_text(const spec_settings *settings, const char *key);

/* Read a finite number within [low, high], or `fallback`, which may lie outside, if the key is
 * missing. On failure the value is 0, and the message gives the key, the value and the range. */
int spec_settings_double(double *ret_value, const spec_settings *settings, const char *key,
                         double fallback, double low, double high, spec_error *error);
int spec_settings_int(int *ret_value, const spec_settings *settings, const char *key, int fallback,
                      int low, int high, spec_error *error);
int spec_settings_u64(uint64_t *ret_value, const spec_settings *settings, const char *key,
                      uint64_t fallback, spec_error *error);

/* Reads the index of the value among the NULL-terminated `choices`. */
int spec_settings_choice(int *ret_index, const spec_settings *settings, const char *key,
                         int fallback, const char *const *choices, spec_error *error);

/* Reads the number at text[*at] of a list such as "3.2.1", within [low, high]. *at moves past the
 * next dot, or past the end of the text after the last number. On failure the message names the
 * key, the list and the number. */
int spec_settings_list_int(int *ret_value, size_t *at, const char *key, const char *text, int low,
                           int high, spec_error *error);

/* Does the same for a list of numbers that may have decimals, such as "0.8/0.5/0.29". */
int spec_settings_list_double(double *ret_value, size_t *at, const char *key, const char *text,
                              double low, double high, spec_error *error);

/* Checks a spec against a usage line such as "ngram:PATH?order=4". It must have a path if and only
 * if the line has one (optional if the line says "mtp[:PATH]"). Its keys must come before a '=' of
 * the line, or in opt_more (comma-separated). Returns GSL_EINVAL and suggests the nearest known
 * key. Call this before any other work. A tab and a summary may follow in the line. */
int spec_settings_check(const spec_settings *settings, const char *usage, const char *opt_more,
                        spec_error *error);

/* Parse a whole string as a finite double, an int or a uint64_t, in decimal. Return false, and 0,
 * if characters are left over or the number is out of range; blanks, hexadecimals, "inf" and "nan"
 * are refused. Requires the decimal point of the C locale. */
bool spec_settings_parse_double(double *ret_value, const char *text);
bool spec_settings_parse_int(int *ret_value, const char *text);
bool spec_settings_parse_u64(uint64_t *ret_value, const char *text);

#endif
