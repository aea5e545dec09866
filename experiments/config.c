/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/config.h"

#include "base/memory_text.h"
#include "base/settings.h"
#include "experiments/number_list.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FAIL(config, setting, ...) spec_config_fail(config, setting, GSL_EINVAL, __VA_ARGS__)

/* ---- failures -------------------------------------------------------------------------------- */

int spec_config_fail(const spec_config *config, const spec_config_node *opt_setting, int status,
                     const char *format, ...)
{
    char what[400];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    for (char *c = what; *c != '\0'; c++)
        if ((unsigned char)*c < ' ')
            *c = ' '; /* quoted text may have line breaks, but a failure is one line */
    if (opt_setting == NULL)
        return spec_fail(config->error, status, "%.100s: %s", config->path, what);
    return spec_fail(config->error, status, "%.100s:%d: %s", config->path, opt_setting->line,
                     what);
}

int spec_config_no_memory(const spec_config *config)
{
    return spec_config_fail(config, NULL, GSL_ENOMEM, "out of memory");
}

/* ---- before the parser sees it --------------------------------------------------------------- */

/* Refuses a text that is too large or nested too deeply, because the parser recurses. */
static int check_bytes(const char *path, const char *bytes, size_t n, spec_error *error)
{
    enum { CODE, STRING, LINE_COMMENT, COMMENT } state = CODE;
    int line = 1, depth = 0, opened = 0;
    if (n == 0) return spec_fail(error, GSL_EINVAL, "%.100s: the file is empty", path);
    if (n > SPEC_CONFIG_BYTES)
        return spec_fail(error, GSL_EINVAL, "%.100s: larger than %d kB: not an experiment", path,
                         SPEC_CONFIG_BYTES / 1024);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        char next = i + 1 < n ? bytes[i + 1] : '\0';
        if ((c < ' ' && c != '\n' && c != '\t' && c != '\r') || c == 127)
            return spec_fail(error, GSL_EINVAL,
                             "%.100s:%d: a control character (%d): not an experiment", path, line,
                             c);
        if (c == '@' && n - i >= 8 && strncmp(&bytes[i], "@include", 8) == 0)
            return spec_fail(error, GSL_EINVAL,
                             "%.100s:%d: @include is not allowed in an experiment", path, line);
        if (c == '\n') line++;
        if (state == STRING) {
            if (c == '\\') i++;
            else if (c == '"') state = CODE;
        } else if (state == LINE_COMMENT) {
            if (c == '\n') state = CODE;
        } else if (state == COMMENT) {
            if (c == '*' && next == '/') state = CODE;
        } else if (c == '"') {
            state = STRING;
            opened = line;
        } else if (c == '#' || (c == '/' && next == '/')) {
            state = LINE_COMMENT;
        } else if (c == '/' && next == '*') {
            state = COMMENT;
            i++;
        } else if (strchr("({[", c) != NULL && ++depth > SPEC_CONFIG_DEPTH) {
            return spec_fail(error, GSL_EINVAL, "%.100s:%d: nested more than %d deep", path, line,
                             SPEC_CONFIG_DEPTH);
        } else if (strchr(")}]", c) != NULL) {
            depth--;
        }
    }
    if (state == STRING)
        return spec_fail(error, GSL_EINVAL, "%.100s:%d: this string is not closed", path, opened);
    return GSL_SUCCESS;
}

int spec_config_init(spec_config *config, const char *path, const char *bytes, size_t n,
                     const char *const *opt_set, spec_error *error)
{
    static const char *const nothing[] = {NULL};
    char *copy = NULL;
    int status = GSL_SUCCESS;
    *config =
        (spec_config){.path = path, .set = opt_set == NULL ? nothing : opt_set, .error = error};
    SPEC_TRY(check_bytes(path, bytes, n, error));
    for (int i = 0; config->set[i] != NULL; i++) {
        const char *equals = strchr(config->set[i], '=');
        if (i == SPEC_CONFIG_SET_MAX)
            SPEC_TRY(
                FAIL(config, NULL, "over %d settings on the command line", SPEC_CONFIG_SET_MAX));
        if (equals == NULL || equals == config->set[i] || strpbrk(config->set[i], "\r\n") != NULL)
            SPEC_TRY(FAIL(config, NULL, "'%.60s' is not key=value", config->set[i]));
    }
    if ((copy = strndup(bytes, n)) == NULL) SPEC_TRY(spec_config_no_memory(config));
    SPEC_TRY(spec_config_tree_parse(&config->root, copy, path, error));
done:
    free(copy);
    if (status != GSL_SUCCESS) spec_config_free(config);
    return status;
}

void spec_config_free(spec_config *config)
{
    spec_config_tree_free(config->root);
    *config = (spec_config){0};
}

/* ---- overrides and ${NAME} ------------------------------------------------------------------- */

const char *spec_config_override(spec_config *config, const char *key)
{
    const size_t n = strlen(key);
    const char *value = NULL;
    for (int i = 0; config->set[i] != NULL; i++) {
        if (strncmp(config->set[i], key, n) != 0 || config->set[i][n] != '=') continue;
        config->used[i] = true;
        value = config->set[i] + n + 1;
    }
    return value;
}

bool spec_config_is_scalar(const spec_config_node *setting)
{
    return setting->kind < SPEC_NODE_ARRAY;
}

/* Returns the text of a scalar, without replacing ${NAME}. A number is printed so that it reads
 * back the same. */
static int raw_text(char **ret_text, spec_config *config, const spec_config_node *setting)
{
    char buffer[SPEC_NUMBER_SIZE];
    const char *text = buffer;
    *ret_text = NULL;
    switch (setting->kind) {
    case SPEC_NODE_INTEGER: snprintf(buffer, sizeof buffer, "%lld", setting->integer); break;
    case SPEC_NODE_REAL:
        if (!isfinite(setting->real)) return FAIL(config, setting, "a number that is not finite");
        spec_number_list_text(setting->real, buffer);
        break;
    case SPEC_NODE_BOOL: text = setting->integer != 0 ? "true" : "false"; break;
    case SPEC_NODE_TEXT: text = setting->text; break;
    default: return FAIL(config, setting, "a number or a string is expected here");
    }
    return (*ret_text = strdup(text)) == NULL ? spec_config_no_memory(config) : GSL_SUCCESS;
}

static int write_named(FILE *out, spec_config *config, const spec_config_node *setting,
                       const char *name)
{
    const char *value = spec_config_override(config, name);
    spec_config_node *given =
        config->defaults == NULL ? NULL : spec_config_tree_member(config->defaults, name);
    spec_config_node *need =
        config->needs == NULL ? NULL : spec_config_tree_member(config->needs, name);
    char *text = NULL;
    if (value == NULL && given == NULL && need != NULL) {
        if (config->missing == NULL) config->missing = need->name;
        fputs(name, out);
        return GSL_SUCCESS;
    }
    if (value == NULL && given == NULL)
        return FAIL(config, setting,
                    "${%.60s} has no value: give one in defaults, or %.60s=... on the command line",
                    name, name);
    if (value == NULL) {
        int status = raw_text(&text, config, given);
        if (status != GSL_SUCCESS) return status;
    }
    fputs(value != NULL ? value : text, out);
    free(text);
    return GSL_SUCCESS;
}

int spec_config_text(char **ret_text, spec_config *config, const spec_config_node *setting)
{
    char *raw, name[64];
    spec_memory_text made;
    int status = raw_text(&raw, config, setting);
    *ret_text = NULL;
    if (status != GSL_SUCCESS) return status;
    if (!spec_memory_text_open(&made)) {
        free(raw);
        return spec_config_no_memory(config);
    }
    for (const char *at = raw; *at != '\0' && status == GSL_SUCCESS;) {
        if (at[0] != '$' || at[1] != '{') {
            fputc(*at++, made.out);
            continue;
        }
        size_t n = strcspn(at + 2, "}");
        if (at[2 + n] == '\0' || n == 0 || n >= sizeof name) {
            status = FAIL(config, setting, "'%.20s' is not ${NAME}", at);
            break;
        }
        snprintf(name, sizeof name, "%.*s", (int)n, at + 2);
        status = write_named(made.out, config, setting, name);
        at += n + 3;
    }
    *ret_text = spec_memory_text_take(&made, NULL);
    if (*ret_text == NULL && status == GSL_SUCCESS) status = spec_config_no_memory(config);
    free(raw);
    if (status == GSL_SUCCESS) return status;
    free(*ret_text);
    *ret_text = NULL;
    return status;
}

/* ---- top-level values ------------------------------------------------------------------------ */

int spec_config_string(char **text, spec_config *config, const char *key)
{
    const char *value = spec_config_override(config, key);
    spec_config_node *setting = spec_config_tree_member(config->root, key);
    char *read = NULL;
    if (value == NULL && setting == NULL) return GSL_SUCCESS;
    if (value == NULL && setting->kind != SPEC_NODE_TEXT)
        return FAIL(config, setting, "%s is not a string", key);
    int status = GSL_SUCCESS;
    if (value == NULL) status = spec_config_text(&read, config, setting);
    else if ((read = strdup(value)) == NULL)
        status = spec_config_no_memory(config);
    if (status != GSL_SUCCESS) return status;
    free(*text);
    *text = read;
    return GSL_SUCCESS;
}

int spec_config_number(double *ret, spec_config *config, const char *key, double high, bool whole)
{
    spec_config_node *setting = spec_config_tree_member(config->root, key);
    const char *given = spec_config_override(config, key);
    char *text = NULL;
    double value;
    if (given == NULL && setting == NULL) return GSL_SUCCESS;
    if (given == NULL) {
        int status = spec_config_text(&text, config, setting);
        if (status != GSL_SUCCESS) return status;
    } else {
        setting = NULL;
    }
    const char *read = given != NULL ? given : text;
    int status = GSL_SUCCESS;
    if (!spec_settings_parse_double(&value, read)) {
        status = FAIL(config, setting, "%s: '%.60s' is not a number", key, read);
    } else if (!(value >= 0.0 && value <= high) || (whole && value != floor(value))) {
        status = FAIL(config, setting, "%s = %.60s is not %s within [0, %g]", key, read,
                      whole ? "a whole number" : "a number", high);
    } else {
        *ret = value;
    }
    free(text);
    return status;
}

int spec_config_u64(uint64_t *ret, spec_config *config, const char *key)
{
    spec_config_node *setting = spec_config_tree_member(config->root, key);
    const char *given = spec_config_override(config, key);
    char *text = NULL;
    int status = GSL_SUCCESS;
    if (given == NULL && setting == NULL) return GSL_SUCCESS;
    if (given == NULL && (status = spec_config_text(&text, config, setting)) != GSL_SUCCESS)
        return status;
    const char *read = given != NULL ? given : text;
    uint64_t value;
    if (spec_settings_parse_u64(&value, read)) *ret = value;
    else
        status = FAIL(config, given != NULL ? NULL : setting,
                      "%s: '%.60s' is not a whole number from 0 to 2^64 - 1", key, read);
    free(text);
    return status;
}

int spec_config_list_item(const char **ret_text, const spec_config *config,
                          const spec_config_node *setting, int i)
{
    const spec_config_node *item = setting;
    if (setting->kind == SPEC_NODE_ARRAY || setting->kind == SPEC_NODE_LIST)
        item = setting->child[i];
    if (item == NULL || item->kind != SPEC_NODE_TEXT)
        return FAIL(config, setting, "%s is not a list of strings", setting->name);
    *ret_text = item->text;
    return GSL_SUCCESS;
}

int spec_config_list_length(const spec_config_node *setting)
{
    return setting->kind == SPEC_NODE_ARRAY || setting->kind == SPEC_NODE_LIST ? setting->n : 1;
}
