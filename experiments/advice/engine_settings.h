/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_settings: the text that sets a draft length in an engine, ready to paste.
 * Engines are entries of a table, found by the key of spec_log_format. If an engine renamed its
 * options, the text depends on the generation of the output that was read. docs/advise.md. */
#ifndef SPECLAB_ENGINE_SETTINGS_H
#define SPECLAB_ENGINE_SETTINGS_H

#include "experiments/advice/advice.h"
#include "experiments/advice/log_file.h"

/* '\n' separates the lines of a setting; a line that begins with '#' is a remark. */
enum { SPEC_ENGINE_SETTING_TEXT = 512 };
typedef char spec_engine_text[SPEC_ENGINE_SETTING_TEXT];

typedef struct {
    const char *engine;
    const char *title;        /* "vLLM" */
    const char *validate;     /* command that tests its sampler; NULL: there is no adapter */
    const char *plain;        /* how to run it without speculation, to measure plain decoding */
    const char *opt_plain_v0; /* the same for the generation named V0 */
    /* which output has acceptance by depth, and which has times; NULL: none */
    const char *depths, *times;
    void (*set)(spec_engine_text ret, const spec_log_summary *read, const spec_advice *advice,
                int K);
    /* Writes a schedule for n >= 2 ranges of batches. NULL if the engine has no schedules. */
    void (*schedule)(spec_engine_text ret, const spec_log_summary *read,
                     const spec_advice_batch *batch, int n);
} spec_engine;

extern const spec_engine spec_engines[]; /* ends with a NULL engine */

/* Returns the engine whose output was read, or a generic one if opt_read is NULL or not in the
 * table. */
const spec_engine *spec_engine_of(const spec_log_summary *opt_read);

/* Returns how to run the engine without speculation, for the generation that was read. */
const char *spec_engine_plain(const spec_log_summary *opt_read);

/* Writes the setting for K draft tokens (0: no speculation). */
void spec_engine_setting(spec_engine_text ret, const spec_log_summary *opt_read,
                         const spec_advice *advice, int K);

/* Writes the setting that chooses lengths by batch. Returns false if the engine has none, or if
 * there is only one range. */
bool spec_engine_schedule(spec_engine_text ret, const spec_log_summary *opt_read,
                          const spec_advice *advice);

#endif
