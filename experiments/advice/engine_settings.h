/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine_settings: the text that sets a draft length in an engine, to paste.
 * Engines are entries of a table by the key of spec_log_format. Texts depend on the generation of
 * the output that was read, where option names changed. docs/advise.md. */
#ifndef SPECLAB_ENGINE_SETTINGS_H
#define SPECLAB_ENGINE_SETTINGS_H

#include "experiments/advice/advice.h"
#include "experiments/advice/log_file.h"

enum { SPEC_ENGINE_SETTING_TEXT = 512 };

typedef struct {
    const char *engine;
    const char *title;   /* "vLLM" */
    const char *adapter; /* of speclab validate, for a suspicious sampler; NULL: none */
    const char *measure; /* how to run plain decoding, to measure it */
} spec_engine;

extern const spec_engine spec_engines[];                         /* ends with a NULL engine */
const spec_engine *spec_engine_of(const spec_log_summary *read); /* never NULL: a generic one */

/* The setting for K draft tokens (0: no speculation), and for a schedule by batch where n > 1. */
void spec_engine_setting(char ret[SPEC_ENGINE_SETTING_TEXT], const spec_engine *engine,
                         const spec_log_summary *read, int K);
void spec_engine_schedule(char ret[SPEC_ENGINE_SETTING_TEXT], const spec_engine *engine,
                          const spec_log_summary *read, const spec_advice_batch *batch, int n);

#endif
