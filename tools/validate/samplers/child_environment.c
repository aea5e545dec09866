/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/samplers/child_environment.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Words in a secret's name, in upper or lower case. KEY, TOKEN, PASS and PWD count only as whole
 * words between underscores, because TOKENIZERS_PARALLELISM and KEYBOARD are not secrets. The
 * others count anywhere. */
static const struct {
    const char *text;
    bool whole;
} secrets[] = {{"KEY", true},       {"KEYS", true},    {"TOKEN", true},       {"TOKENS", true},
               {"PASS", true},      {"PWD", true},     {"APIKEY", false},     {"AUTHTOKEN", false},
               {"PASSWORD", false}, {"PASSWD", false}, {"PASSPHRASE", false}, {"CREDENTIAL", false},
               {"SECRET", false}};
enum { SECRETS = sizeof secrets / sizeof *secrets };

/* VLLM_MAX_TOKENS=8192 is a number of tokens. */
static bool is_a_number_of_tokens(const char *word, const char *value)
{
    return strncasecmp(word, "TOKENS", 6) == 0 && strlen(value) < 10 &&
           value[strspn(value, "0123456789")] == '\0';
}

/* such as scheme://user:password@host */
static bool has_a_password(const char *value)
{
    for (const char *at = value; (at = strstr(at, "://")) != NULL;) {
        at += 3;
        const size_t user = strcspn(at, ":@/ "), n = strcspn(at, "@/ ");
        if (at[user] == ':' && at[n] == '@') return true;
    }
    return false;
}

/* PWD itself is the working folder. */
bool spec_child_environment_is_secret(const char *variable)
{
    const size_t length = strcspn(variable, "=");
    const char *value = variable + length + (variable[length] == '=');
    if (length == 3 && strncmp(variable, "PWD", 3) == 0) return false;
    if (has_a_password(value)) return true;
    for (const char *at = variable; at < variable + length; at++)
        for (int i = 0; i < SECRETS; i++) {
            const size_t n = strlen(secrets[i].text);
            if (strncasecmp(at, secrets[i].text, n) != 0) continue;
            if (!secrets[i].whole) return true;
            const bool begins = at == variable || !isalpha((unsigned char)at[-1]),
                       ends = !isalpha((unsigned char)at[n]);
            if (begins && ends && !is_a_number_of_tokens(at, value)) return true;
        }
    return false;
}

/* Returns the last entry of `opt_more` for a variable, a name or NAME=VALUE; or NULL. */
static const char *entry_of(const char *const *opt_more, const char *variable)
{
    const size_t length = strcspn(variable, "=");
    const char *last = NULL;
    for (const char *const *entry = opt_more; entry != NULL && *entry != NULL; entry++)
        if (strcspn(*entry, "=") == length && strncmp(*entry, variable, length) == 0) last = *entry;
    return last;
}

/* Returns whether a child gets the variable as it is: `opt_more` does not set it, and either it is
 * not a secret or `opt_more` names it. */
static bool is_inherited(const char *const *opt_more, const char *variable)
{
    const char *entry = entry_of(opt_more, variable);
    return entry != NULL ? strchr(entry, '=') == NULL : !spec_child_environment_is_secret(variable);
}

char **spec_child_environment(const char *const *opt_more)
{
    size_t n = 0, kept = 0;
    while (environ != NULL && environ[n] != NULL) n++;
    for (size_t i = 0; opt_more != NULL && opt_more[i] != NULL; i++) n++;
    char **variables = calloc(n + 1, sizeof *variables);
    if (variables == NULL) return NULL;
    for (size_t i = 0; environ != NULL && environ[i] != NULL; i++)
        if (is_inherited(opt_more, environ[i])) variables[kept++] = environ[i];
    for (const char *const *entry = opt_more; entry != NULL && *entry != NULL; entry++)
        if (strchr(*entry, '=') != NULL && entry_of(entry + 1, *entry) == NULL)
            variables[kept++] = (char *)(uintptr_t)*entry;
    return variables;
}

size_t spec_child_environment_withheld(char *ret_names, size_t size, const char *const *opt_more)
{
    size_t n = 0, used = 0;
    ret_names[0] = '\0';
    for (size_t i = 0; environ != NULL && environ[i] != NULL; i++) {
        const int length = (int)strcspn(environ[i], "=");
        if (entry_of(opt_more, environ[i]) != NULL || !spec_child_environment_is_secret(environ[i]))
            continue;
        if (used < size)
            used += (size_t)snprintf(ret_names + used, size - used, "%s%.*s", n > 0 ? ", " : "",
                                     length, environ[i]);
        n++;
    }
    return n;
}
