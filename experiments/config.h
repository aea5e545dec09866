/* config: the text of an experiment file: what it may hold, and what its values stand for.
 * libconfig parses; this refuses before it what is not a small text of shallow nesting, puts overrides and ${NAME} in
 * their places, and words every failure as "file:line: what". Borrows path, overrides and error; owns the parsed
 * settings. */
#ifndef SPECLAB_CONFIG_H
#define SPECLAB_CONFIG_H

#include "speclab/status.h"

#include <libconfig.h>
#include <stdbool.h>
#include <stdint.h>

/* Most bytes of a file, levels of nesting, and overrides. */
enum { SPEC_CONFIG_BYTES = 1 << 17, SPEC_CONFIG_DEPTH = 8, SPEC_CONFIG_SET_MAX = 64 };

typedef struct {
    const char *path;
    const char *const *set; /* overrides "key=value", NULL-terminated; never NULL */
    bool used[SPEC_CONFIG_SET_MAX];
    config_t parsed;
    config_setting_t *root;
    config_setting_t *defaults; /* the group that ${NAME} is looked up in, or NULL; the caller sets it */
    spec_error *error;
} spec_config;

/* GSL_EINVAL for an empty, over-long or binary text, @include (a file must not read others), nesting too deep, syntax
 * errors, and overrides that are not key=value. */
int spec_config_init(spec_config *config, const char *path, const char *bytes, size_t n, const char *const *opt_set,
                     spec_error *error);
void spec_config_free(spec_config *config);

/* "path:line: what", or "path: what" where no setting is to blame. Returns status. */
__attribute__((format(printf, 4, 5))) int
spec_config_fail(const spec_config *config, const config_setting_t *opt_setting, int status, const char *format, ...);

/* The value of the override of `key`, the last of several, all of which it marks as used; NULL: none. */
const char *spec_config_override(spec_config *config, const char *key);

bool spec_config_is_scalar(const config_setting_t *setting);

/* The text of a scalar with every ${NAME} replaced, once: what a value brings in is not searched again. A number prints
 * so that it reads back the same. The caller frees. */
int spec_config_text(char **ret_text, spec_config *config, const config_setting_t *setting);

/* Top-level values, from an override or the file; what *text, *ret held stays where neither gives one. A string
 * replaces (and frees) *text; a number is within [0, high]. */
int spec_config_string(char **text, spec_config *config, const char *key);
int spec_config_number(double *ret, spec_config *config, const char *key, double high, bool whole);
int spec_config_u64(uint64_t *ret, spec_config *config, const char *key);

/* A list of strings, or one string alone: how many, and the i-th. */
int spec_config_list_length(const config_setting_t *setting);
int spec_config_list_item(const char **ret_text, const spec_config *config, const config_setting_t *setting, int i);

#endif
