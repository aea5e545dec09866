/* SPDX-License-Identifier: GPL-3.0-or-later */
/* served_plan: what suites ask served about a faulty server.
 * The prompts are a file in the suite's own folder. */
#ifndef SPECLAB_SERVED_PLAN_H
#define SPECLAB_SERVED_PLAN_H

#include "tests/tools/live/faulty_server.h"
#include "tools/live/served.h"

static inline void no_progress(void *self, const char *what, int done, int texts)
{
    (void)self, (void)what, (void)done, (void)texts;
}

static inline spec_served_plan plan_of(const server *text, const server *score)
{
    FILE *file = fopen("prompts.jsonl", "w");
    fputs("{\"prompt\": \"Once upon a time\"}\n\n{\"prompt\": \"The quick brown fox\", "
          "\"category\": 1}\n{\"prompt\": \"Gl\xc3\xbc"
          "ck\"}\n",
          file);
    fclose(file);
    return (spec_served_plan){.text_url = text->url,
                              .score_by = score->url,
                              .prompts = "prompts.jsonl",
                              .texts = 200,
                              .top = 20,
                              .lanes = 4,
                              .sampling = {64, SPEC_TRANSFORM_NONE},
                              .rate = 1e-6,
                              .seed = spec_test_seed(),
                              .how = SPEC_HTTP_DEFAULT,
                              .progress = no_progress};
}

#endif
