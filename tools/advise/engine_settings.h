/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_settings: the text that sets a draft length in an engine, ready to paste.
 * Engines are entries of a table, found by the key of spec_log_format. If an engine renamed its
 * options, the text depends on the generation of the output that was read. docs/advise.md. */
#ifndef SPECLAB_ENGINE_SETTINGS_H
#define SPECLAB_ENGINE_SETTINGS_H

#include "experiments/report/say.h"
#include "tools/advise/advice.h"
#include "tools/advise/log_file.h"

/* How to run an engine. In a setting '\n' separates lines, a line that begins with '#' is a remark,
 * and {K}, {K+1} and {s} (the s of a plural) are replaced. */
typedef struct {
    const char *plain; /* without speculation, to measure plain decoding */
    const char *off;   /* the setting for K = 0; NULL: as for other K */
    const char *on;    /* the setting for K draft tokens */
} spec_engine_run;

typedef struct {
    const char *engine;
    const char *title;    /* "vLLM" */
    const char *validate; /* command that tests its sampler; NULL: there is no adapter */
    /* which output has acceptance by depth, and which has times; NULL: none */
    const char *depths, *times;
    spec_engine_run run, run_v0; /* run_v0: of the generation named V0, if it differs */
    /* Adds what depends on more than K; NULL: nothing does. */
    void (*remark)(spec_sentences ret, const spec_log_summary *read, const spec_advice *advice,
                   int K);
    /* Writes a schedule for n >= 2 ranges of batches. NULL if the engine has no schedules. */
    void (*schedule)(spec_sentences ret, const spec_log_summary *read,
                     const spec_advice_batch *batch, int n);
} spec_engine;

extern const spec_engine spec_engines[]; /* ends with a NULL engine */

/* Returns the engine whose output was read, or a generic one if opt_read is NULL or not in the
 * table. */
const spec_engine *spec_engine_of(const spec_log_summary *opt_read);

/* Returns how to run the engine, for the generation that was read. */
spec_engine_run spec_engine_run_of(const spec_log_summary *opt_read);

/* Writes the setting for K draft tokens (0: no speculation). */
void spec_engine_setting(spec_sentences ret, const spec_log_summary *opt_read,
                         const spec_advice *advice, int K);

/* Writes the setting that chooses lengths by batch. Returns false if the engine has none, or if
 * there is only one range. */
bool spec_engine_schedule(spec_sentences ret, const spec_log_summary *opt_read,
                          const spec_advice *advice);

#endif
