/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/settings.h"

#include "base/names.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 65536, CANDIDATES_MAX = 64, KEYS_MAX = 512 };

/* ---- splitting ------------------------------------------------------------------------------- */

static int refuse_control_characters(const char *text, spec_error *error)
{
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            return spec_fail(error, GSL_EINVAL,
                             "a name must not contain control characters: byte %d is 0x%02x",
                             (int)(c - text) + 1, (unsigned)(unsigned char)*c);
        }
    }
    return GSL_SUCCESS;
}

/* Splits "key=value" in place and appends it. */
static int add_pair(spec_settings *settings, char *pair, spec_error *error)
{
    char *equals = strchr(pair, '=');
    if (equals == NULL || equals == pair) {
        return spec_fail(error, GSL_EINVAL, "%.80s: '%.60s' is not of the form key=value",
                         settings->text, pair);
    }
    *equals = '\0';
    for (int i = 0; i < settings->n; i++) {
        if (strcmp(settings->key[i], pair) == 0) {
            return spec_fail(error, GSL_EINVAL, "%.80s: '%.60s' is given twice", settings->text,
                             pair);
        }
    }
    if (settings->n == SPEC_SETTINGS_MAX) {
        return spec_fail(error, GSL_EINVAL, "%.80s: more than %d keys", settings->text,
                         SPEC_SETTINGS_MAX);
    }
    settings->key[settings->n] = pair;
    settings->value[settings->n] = equals + 1;
    settings->n++;
    return GSL_SUCCESS;
}

int spec_settings_init(spec_settings *settings, const char *text, spec_error *error)
{
    int status = GSL_SUCCESS;
    *settings = (spec_settings){0};

    const size_t length = strnlen(text, TEXT_MAX + 1);
    if (length == 0) return spec_fail(error, GSL_EINVAL, "an empty name");
    if (length > TEXT_MAX)
        return spec_fail(error, GSL_EINVAL, "a name of more than %d bytes", TEXT_MAX);
    SPEC_TRY(refuse_control_characters(text, error));

    settings->text = strdup(text);
    settings->name = strdup(text); /* all other strings point into this one */
    if (settings->text == NULL || settings->name == NULL) {
        SPEC_TRY(spec_no_memory(error));
    }
    char *rest = settings->name + strcspn(settings->name, ":?");
    char *query = strchr(rest, '?');
    settings->path = settings->name + length; /* "" */
    if (rest == settings->name)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "'%.80s' has no name before its '%c'", text, *rest));
    if (*rest == ':') settings->path = rest + 1;
    if (query != NULL) *query++ = '\0';
    *rest = '\0';

    while (query != NULL) {
        char *next = strchr(query, '&');
        if (next != NULL) *next++ = '\0';
        SPEC_TRY(add_pair(settings, query, error));
        query = next;
    }
done:
    if (status != GSL_SUCCESS) spec_settings_free(settings);
    return status;
}

void spec_settings_free(spec_settings *settings)
{
    free(settings->text);
    free(settings->name);
    *settings = (spec_settings){0};
}

/* ---- reading --------------------------------------------------------------------------------- */

const char *spec_settings_text(const spec_settings *settings, const char *key)
{
    for (int i = 0; i < settings->n; i++) {
        if (strcmp(settings->key[i], key) == 0) return settings->value[i];
    }
    return NULL;
}

int spec_settings_double(double *ret_value, const spec_settings *settings, const char *key,
                         double fallback, double low, double high, spec_error *error)
{
    *ret_value = fallback;
    const char *text = spec_settings_text(settings, key);
    if (text == NULL) return GSL_SUCCESS;

    double value;
    if (!spec_settings_parse_double(&value, text)) {
        *ret_value = 0.0;
        return spec_fail(error, GSL_EINVAL, "%.80s: %s=%.60s is not a finite number",
                         settings->name, key, text);
    }
    if (!(value >= low && value <= high)) {
        *ret_value = 0.0;
        return spec_fail(error, GSL_EDOM, "%.80s: %s=%.60s is not between %.6g and %.6g",
                         settings->name, key, text, low, high);
    }
    *ret_value = value;
    return GSL_SUCCESS;
}

int spec_settings_int(int *ret_value, const spec_settings *settings, const char *key, int fallback,
                      int low, int high, spec_error *error)
{
    *ret_value = fallback;
    const char *text = spec_settings_text(settings, key);
    if (text == NULL) return GSL_SUCCESS;

    int value;
    if (!spec_settings_parse_int(&value, text) || value < low || value > high) {
        *ret_value = 0;
        return spec_fail(error, GSL_EINVAL,
                         "%.80s: %s=%.60s is not a whole number between %d and %d", settings->name,
                         key, text, low, high);
    }
    *ret_value = value;
    return GSL_SUCCESS;
}

int spec_settings_u64(uint64_t *ret_value, const spec_settings *settings, const char *key,
                      uint64_t fallback, spec_error *error)
{
    *ret_value = fallback;
    const char *text = spec_settings_text(settings, key);
    if (text == NULL || spec_settings_parse_u64(ret_value, text)) return GSL_SUCCESS;
    *ret_value = 0;
    return spec_fail(error, GSL_EINVAL,
                     "%.80s: %s=%.60s is not a whole number between 0 and 2^64-1", settings->name,
                     key, text);
}

/* Writes "a, b or c". */
static void list_choices(char *text, size_t size, const char *const *choices)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; choices[i] != NULL && used < size; i++) {
        const char *before = i == 0 ? "" : choices[i + 1] == NULL ? " or " : ", ";
        const int written = snprintf(text + used, size - used, "%s%s", before, choices[i]);
        used += written > 0 ? (size_t)written : 0;
    }
}

int spec_settings_choice(int *ret_index, const spec_settings *settings, const char *key,
                         int fallback, const char *const *choices, spec_error *error)
{
    *ret_index = fallback;
    const char *text = spec_settings_text(settings, key);
    if (text == NULL) return GSL_SUCCESS;

    for (int i = 0; choices[i] != NULL; i++) {
        if (strcmp(text, choices[i]) == 0) {
            *ret_index = i;
            return GSL_SUCCESS;
        }
    }
    *ret_index = 0;
    char list[256];
    list_choices(list, sizeof list, choices);
    return spec_fail(error, GSL_EINVAL, "%.80s: %s=%.60s is not one of %s", settings->name, key,
                     text, list);
}

int spec_settings_list_int(int *ret_value, size_t *at, const char *key, const char *text, int low,
                           int high, spec_error *error)
{
    char word[12] = "";
    const size_t size = strcspn(text + *at, ".");
    if (size < sizeof word) memcpy(word, text + *at, size);
    if (!spec_settings_parse_int(ret_value, word) || *ret_value < low || *ret_value > high)
        return spec_fail(error, GSL_EINVAL,
                         "%s=%.80s: '%.*s' is not a number from %d to %d; write several with dots, "
                         "as in 1.3.5",
                         key, text, size < 80 ? (int)size : 80, text + *at, low, high);
    *at += size + 1;
    return GSL_SUCCESS;
}

int spec_settings_list_double(double *ret_value, size_t *at, const char *key, const char *text,
                              double low, double high, spec_error *error)
{
    char word[32] = "";
    const size_t size = strcspn(text + *at, "/");
    if (size < sizeof word) memcpy(word, text + *at, size);
    if (!spec_settings_parse_double(ret_value, word) || *ret_value < low || *ret_value > high)
        return spec_fail(error, GSL_EINVAL,
                         "%s=%.80s: '%.*s' is not a number from %g to %g; write several as in "
                         "3/2/1",
                         key, text, size < 80 ? (int)size : 80, text + *at, low, high);
    *at += size + 1;
    return GSL_SUCCESS;
}

/* ---- unknown names --------------------------------------------------------------------------- */

/* Splits a comma-separated list into candidates; `copy` is cut in place. */
static void split_list(char *copy, const char **candidate, int capacity)
{
    int n = 0;
    for (char *piece = copy, *next; piece != NULL && n < capacity - 1; piece = next) {
        next = strchr(piece, ',');
        if (next != NULL) *next++ = '\0';
        if (*piece != '\0') candidate[n++] = piece;
    }
    candidate[n] = NULL;
}

/* Lists the keys of a usage line (words before a '=', up to a tab) and opt_more, with commas. */
static void list_keys(char *keys, size_t size, const char *usage, const char *opt_more)
{
    size_t used = 0;
    keys[0] = '\0';
    const char *end = usage + strcspn(usage, "\t");
    for (const char *equals = strchr(usage, '='); equals != NULL && equals < end;
         equals = strchr(equals + 1, '=')) {
        const char *word = equals;
        while (word > usage && (isalnum((unsigned char)word[-1]) || word[-1] == '_')) word--;
        used += (size_t)snprintf(keys + used, size - used, "%s%.*s", used > 0 ? "," : "",
                                 (int)(equals - word), word);
        assert(used < size);
    }
    if (opt_more != NULL)
        used += (size_t)snprintf(keys + used, size - used, "%s%s", used > 0 ? "," : "", opt_more);
    assert(used < size);
}

static int unknown_key(const spec_settings *settings, const char *key, const char *known,
                       spec_error *error)
{
    char copy[KEYS_MAX];
    const char *candidate[CANDIDATES_MAX];
    snprintf(copy, sizeof copy, "%s", known);
    split_list(copy, candidate, CANDIDATES_MAX);
    const char *near = spec_names_nearest(key, candidate);
    if (near != NULL)
        return spec_fail(error, GSL_EINVAL, "%.80s has no key '%.60s'; did you mean '%s'?",
                         settings->name, key, near);
    if (known[0] == '\0')
        return spec_fail(error, GSL_EINVAL, "%.80s has no key '%.60s'", settings->name, key);
    return spec_fail(error, GSL_EINVAL, "%.80s has no key '%.60s'; its keys are %.240s",
                     settings->name, key, known);
}

static bool is_listed(const char *key, const char *list)
{
    const size_t length = strlen(key);
    for (const char *piece = list; *piece != '\0';) {
        const size_t n = strcspn(piece, ",");
        if (n == length && memcmp(piece, key, n) == 0) return true;
        piece += n + (piece[n] == ',');
    }
    return false;
}

int spec_settings_check(const spec_settings *settings, const char *usage, const char *opt_more,
                        spec_error *error)
{
    const size_t name = strcspn(usage, ":?\t");
    const bool takes_path = usage[name] == ':',
               may_lack = takes_path && name > 0 && usage[name - 1] == '[';
    const int shown = (int)strcspn(usage, "\t");
    if (takes_path && !may_lack && settings->path[0] == '\0')
        return spec_fail(error, GSL_EINVAL, "%.80s needs something after a ':', as in %.*s",
                         settings->name, shown, usage);
    if (!takes_path && settings->path[0] != '\0')
        return spec_fail(error, GSL_EINVAL,
                         "%.80s takes no ':%.60s'; its keys follow a '?', as in %.*s",
                         settings->name, settings->path, shown, usage);
    char keys[KEYS_MAX];
    list_keys(keys, sizeof keys, usage, opt_more);
    for (int i = 0; i < settings->n; i++) {
        if (!is_listed(settings->key[i], keys))
            return unknown_key(settings, settings->key[i], keys, error);
    }
    return GSL_SUCCESS;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* strtod and strtoull accept blanks, hexadecimals, "inf" and "nan"; checking the characters first
 * excludes them. */
bool spec_settings_parse_double(double *ret_value, const char *text)
{
    *ret_value = 0.0;
    if (text[0] == '\0' || text[strspn(text, "0123456789+-.eE")] != '\0') return false;
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value)) return false;
    *ret_value = value;
    return true;
}

bool spec_settings_parse_int(int *ret_value, const char *text)
{
    *ret_value = 0;
    if (text[0] == '\0' || text[strspn(text, "0123456789+-")] != '\0') return false;
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < INT_MIN || value > INT_MAX)
        return false;
    *ret_value = (int)value;
    return true;
}

bool spec_settings_parse_u64(uint64_t *ret_value, const char *text)
{
    *ret_value = 0;
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0') return false;
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0) return false;
    *ret_value = value;
    return true;
}
