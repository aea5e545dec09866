/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advice_files: the files of a question about an engine, as sums of their observations.
 * Several files are one set of evidence, in order, so that scrapes of counters are subtracted
 * across files. The caller owns the paths. Owns its sums and sources. */
#ifndef SPECLAB_ADVICE_FILES_H
#define SPECLAB_ADVICE_FILES_H

#include "experiments/advice/diagnosis.h"

typedef struct {
    const char *const *file;  /* (n_files) */
    const char *const *plain; /* (n_plain) files of runs without speculation */
    int n_files, n_plain;
    const char *opt_before; /* file from before a change */
    const char *opt_format; /* name of a format or an engine; NULL: by content */
    const int *K; /* (n_K) draft lengths that the user knows: one per file, or one for all */
    int n_K;      /* 0, 1 or n_files; the file from before a change has the first one */
    const volatile int *opt_stop;
} spec_advice_paths;

typedef struct {
    spec_observed_sums sums, before;   /* before: zeroed without opt_before */
    spec_counter_differences counters; /* resets and repeated, for all files but opt_before */
    spec_diagnosis_source *source;     /* (n_sources): opt_before, files, plain */
    int n_sources;
    const spec_log_summary *read; /* of the first file with a format, not opt_before; NULL: none */
} spec_advice_files;

/* Reads the files. Returns GSL_EINVAL for a plain file with draft tokens, which would count as
 * those of the files, for one without plain decoding or its times, for a K that the files
 * contradict, and for any other n_K; also the errors of log_file.h. Must be freed even on
 * failure. */
int spec_advice_files_read(spec_advice_files *files, const spec_advice_paths *paths,
                           spec_error *error);
void spec_advice_files_free(spec_advice_files *files);

#endif
