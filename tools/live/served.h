/* SPDX-License-Identifier: GPL-3.0-or-later */
/* served: judges the text of one server by the scores or the texts of another one, or of a model.
 * Measures the scorer's noise, draws and scores the texts, and gives the verdict. */
#ifndef SPECLAB_SERVED_H
#define SPECLAB_SERVED_H

#include "models/model.h"
#include "tools/live/equal_texts.h"
#include "tools/live/greedy_texts.h"
#include "tools/live/served_judge.h"
#include "tools/live/two_samples.h"

typedef struct {
    const char *text_url, *prompts; /* prompts: a file */
    const char *score_by;           /* the address of a server, or the spec of a model */
    spec_context *opt_context;      /* for the model */
    const char *opt_text_key, *opt_score_key;
    const char *opt_text_model, *opt_score_model; /* NULL: the server's first */
    int texts, top, lanes;
    spec_live_sampling sampling; /* temperature 0: greedy */
    double rate;                 /* of false alarms */
    uint64_t seed;
    bool equal_seeds; /* compare texts of equal seeds, at temperature 1 and without filters */
    bool two_samples; /* compare samples, because the server score_by returns no
                       * log-probabilities */
    const char *opt_capture; /* a file */
    bool resume, force;      /* continue the file; replace it */
    spec_http_work how;
    /* called after each text, with the number so far; `what` is a phase */
    void (*progress)(void *self, const char *what, int done, int texts);
    void *self;
} spec_served_plan;

typedef struct {
    spec_live_server text, score;
    spec_scorer_noise noise;
    bool greedy, stopped;
    bool local;          /* the scorer is a model that runs here */
    int prompts, unlike; /* prompts; of them, those that the model tokenizes differently */
    int wanted;          /* number of texts requested */
    spec_served_judgement judgement;
    bool equal_seeds, two_samples;
    spec_two_samples samples;
    /* Greedy: the texts, and the scorer's own. Equal seeds: texts compared with the scorer's, and,
     * if some of them differ, the scorer's own drawn a second time. */
    spec_greedy_texts served, control;
    double tie; /* largest margin of a tie; with equal seeds, probability between two tokens */
    double detectable; /* equal seeds: mean TV that would have shown with a chance of 0.9 */
    double rate;                       /* of false alarms, as planned */
    double seconds;
} spec_served_result;

/* Returns GSL_EFAILED or GSL_EINVAL with one line if a server or a file is at fault, GSL_ENOMEM. */
int spec_served(spec_served_result *ret, const spec_served_plan *plan, spec_error *error);

/* Returns the verdict. Greedy text is undecided if the scorer's own text has wrong tokens too. */
spec_served_verdict spec_served_verdict_of(const spec_served_result *result);

/* Write the report, as text or as JSON. */
void spec_served_report(FILE *out, const spec_served_result *result);
int spec_served_report_json(FILE *out, const spec_served_result *result, spec_error *error);

#endif
