/* SPDX-License-Identifier: GPL-3.0-or-later */
/* asked_advice: a question with its files, and everything that its answer is written from.
 * The program, the library and the experiments all get their advice here. Several files are read in
 * order as one set of evidence, so differences between scrapes of counters continue from file to
 * file. The caller owns the paths; this owns what it read, and the advice. */
#ifndef SPECLAB_ASKED_ADVICE_H
#define SPECLAB_ASKED_ADVICE_H

#include "tools/advise/diagnosis.h"

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
    spec_counter_differences counters; /* resets and repeated scrapes in all files but opt_before */
    spec_diagnosis_source *source;     /* (n_sources): opt_before, files, plain */
    int n_sources;
    /* the first file with a format, other than opt_before; NULL: none */
    const spec_log_summary *read;
} spec_advice_files;

/* Reads the files. Returns GSL_EINVAL if a plain file has draft tokens, which would be mixed up
 * with those of `file`, or has no plain decoding or no times for it; if the files contradict a K;
 * and for any other n_K. Also returns the errors of log_file.h. Must be freed even on failure. */
int spec_advice_files_read(spec_advice_files *files, const spec_advice_paths *paths,
                           spec_error *error);
void spec_advice_files_free(spec_advice_files *files);

typedef struct {
    spec_advice_files files;
    spec_advice *advice;
    spec_diagnosis_facts facts; /* point into the two above */
} spec_asked_advice;

/* Reads the files and answers. Returns GSL_EINVAL if a file is given twice, because its evidence
 * would count twice, and if the speed of plain decoding must be that of all requests, or is slower
 * than a round can be; also the errors of advice.h. Must be freed even on failure. */
int spec_asked_advice_init(spec_asked_advice *asked, const spec_advice_paths *paths,
                           const spec_advice_question *question, spec_error *error);
void spec_asked_advice_free(spec_asked_advice *asked);

#endif
