/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config: the values of an experiment file, with overrides and ${NAME} applied.
 * This module first refuses text that is too large or nested too deeply; then config_tree parses
 * it. Failures read "file:line: what". Borrows path, overrides and error; owns the parsed
 * settings. */
#ifndef SPECLAB_CONFIG_H
#define SPECLAB_CONFIG_H

#include "experiments/config_tree.h"
#include <stdbool.h>
#include <stdint.h>

/* Maximum bytes of a file, levels of nesting, and overrides. */
enum { SPEC_CONFIG_BYTES = 1 << 17, SPEC_CONFIG_DEPTH = 8, SPEC_CONFIG_SET_MAX = 64 };

typedef struct {
    const char *path;
    const char *const *set; /* overrides "key=value", NULL-terminated; never NULL */
    bool used[SPEC_CONFIG_SET_MAX];
    spec_config_node *root;
    spec_config_node
        *defaults; /* the group that defines ${NAME}, or NULL; set by the caller */
    spec_config_node *needs;    /* names that the user must give; NULL: none */
    const char *missing; /* the first name in `needs` that is used but has no override, or NULL */
    spec_error *error;
} spec_config;

/* Checks and parses a text. Returns GSL_EINVAL for an empty, too long or binary text, for @include
 * (a file must not read others), for nesting that is too deep, for syntax errors, and for overrides
 * that are not key=value. */
int spec_config_init(spec_config *config, const char *path, const char *bytes, size_t n,
                     const char *const *opt_set, spec_error *error);
void spec_config_free(spec_config *config);

/* Fails with "path: out of memory"; returns GSL_ENOMEM. */
int spec_config_no_memory(const spec_config *config);

/* Fails with "path:line: what", or with "path: what" if there is no setting. Returns status. */
__attribute__((format(printf, 4, 5))) int spec_config_fail(const spec_config *config,
                                                           const spec_config_node *opt_setting,
                                                           int status, const char *format, ...);

/* Returns the last override of `key`, or NULL. All overrides of the key then count as used. */
const char *spec_config_override(spec_config *config, const char *key);

bool spec_config_is_scalar(const spec_config_node *setting);

/* Returns the text of a scalar, in which every ${NAME} is replaced once; the replacements are not
 * searched again. A number is printed so that it reads back the same. The caller frees it. */
int spec_config_text(char **ret_text, spec_config *config, const spec_config_node *setting);

/* Reads a top-level value from an override or the file. If neither gives it, the output keeps its
 * value. A string replaces (and frees) *text. A number must be within [0, high]. */
int spec_config_string(char **text, spec_config *config, const char *key);
int spec_config_number(double *ret, spec_config *config, const char *key, double high, bool whole);
int spec_config_u64(uint64_t *ret, spec_config *config, const char *key);

/* Return the length and the i-th string of a list of strings, or of a single string. */
int spec_config_list_length(const spec_config_node *setting);
int spec_config_list_item(const char **ret_text, const spec_config *config,
                          const spec_config_node *setting, int i);

#endif
