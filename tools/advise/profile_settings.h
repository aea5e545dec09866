/* SPDX-License-Identifier: GPL-3.0-or-later */
/* profile_settings: settings that make other tools accept drafts as a profile says.
 * Some tools count the bonus token and some do not; some give a rate over all rounds, others over
 * the rounds that reach its depth. Each text says which. docs/advise.md#profile. */
#ifndef SPECLAB_PROFILE_SETTINGS_H
#define SPECLAB_PROFILE_SETTINGS_H

#include "sim/acceptance_profile.h"

typedef struct {
    const char *name;    /* "vllm" */
    const char *title;   /* "vLLM" */
    const char *summary; /* one line: what the setting counts */
    /* Writes the lines to paste, indented by four blanks, then what they mean. */
    void (*write)(FILE *out, const spec_acceptance_profile *profile);
} spec_profile_tool;

extern const spec_profile_tool spec_profile_tools[]; /* ends with a NULL name */

/* Returns the index of a tool. If there is none, returns -1 with a message, like
 * spec_names_find. */
int spec_profile_tool_find(const char *name, spec_error *error);

/* Writes the setting of a tool, what it means, and which parts of the profile no setting can
 * express. */
void spec_profile_tool_write(FILE *out, const spec_profile_tool *tool,
                             const spec_acceptance_profile *profile);

#endif
