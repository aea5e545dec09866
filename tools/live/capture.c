/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/capture.h"

#include "base/memory_text.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_SIZE = 512 };

/* One excluded token is evidence that cannot be a draw, so an edge must be clearly apart: by more
 * than was seen in the few texts that measure the noise, and by more than floats are rounded. */
static const double times = 3.0, least_noise = 1e-4;

/* The rest of a list is what its probabilities leave of 1, up to the rounding of floats. The
 * scorer's noise does not widen it, because a list comes from one normalised row. */
static const double precision = 1e-5;

void spec_capture_set_noise(spec_capture *c, double noise)
{
    c->noise = noise;
    c->rule.noise = fmax(times * noise, least_noise);
}

static int check(const spec_capture *c, spec_error *error)
{
    if (!ferror(c->file)) return GSL_SUCCESS;
    return spec_fail(error, GSL_EFAILED, "%.300s: %s", c->name, strerror(errno));
}

/* Positions may be missing if the law is known only for listed tokens, or if a filter's edge is
 * within the noise. Neither depends on which listed token was drawn. */
static const char *head_of(char line[HEAD_SIZE], const spec_capture *c)
{
    const spec_transform *t = &c->rule.transform;
    const bool sampled = t->temperature != 1.0 || t->top_k > 0 || t->top_p < 1.0 ||
                         t->min_p > 0.0 || c->rule.penalised;
    snprintf(line, HEAD_SIZE,
             "{\"speclab_trace\": 1, \"engine\": \"%s, noise %.4g\", \"vocab\": %d, "
             "\"precision\": %g%s}\n",
             c->engine, c->noise, c->vocab, precision, sampled ? ", \"sampled\": true" : "");
    return line;
}

int spec_capture_begin(spec_capture *c, spec_error *error)
{
    char line[HEAD_SIZE];
    fputs(head_of(line, c), c->file);
    fflush(c->file);
    return check(c, error);
}

int spec_capture_resume(spec_capture *c, bool *done, int texts, spec_error *error)
{
    char *line = NULL, engine[64], served[64];
    size_t capacity = 0;
    ssize_t n;
    long end = 0, last = 0;
    int number, latest = -1, vocab, status = GSL_SUCCESS;
    double noise;
    rewind(c->file);
    if ((n = getline(&line, &capacity, c->file)) <= 0 ||
        sscanf(line,
               "{\"speclab_trace\": 1, \"engine\": \"%30[^,], served %30[^,], noise %lf\", "
               "\"vocab\": %d",
               engine, served, &noise, &vocab) != 4)
        SPEC_TRY(
            spec_fail(error, GSL_EINVAL, "%.200s: no file of 'speclab served --capture'", c->name));
    strcat(strcat(engine, ", served "), served);
    if (strcmp(engine, c->engine) != 0 || vocab != c->vocab)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.200s: it was captured with other servers, prompts or settings",
                           c->name));
    spec_capture_set_noise(c, noise);
    last = end = ftell(c->file);
    while ((n = getline(&line, &capacity, c->file)) > 0) {
        if (sscanf(line, "{\"request\": %d,", &number) != 1 || line[n - 1] != '\n') break;
        if (number != latest) {
            if (latest >= 0 && latest < texts) done[latest] = true;
            latest = number;
            last = end;
        }
        end = ftell(c->file);
    }
    if (fflush(c->file) != 0 || ftruncate(fileno(c->file), last) != 0 ||
        fseek(c->file, last, SEEK_SET) != 0)
        SPEC_TRY(spec_fail(error, GSL_EFAILED, "%.300s: %s", c->name, strerror(errno)));
done:
    free(line);
    return status;
}

static void write_place(FILE *out, const spec_capture *c, const spec_served_text *text, int at)
{
    const spec_live_place *place = &text->place[at];
    const int32_t token = text->all.token[text->n_prompt + at];
    const spec_drawn_rest rest = spec_drawn_law(c->chance, &c->rule, place);
    int cell = 0;
    while (cell < place->n && place->top[cell].id != token) cell++;
    const bool listed = cell < place->n;
    if (rest == SPEC_REST_SKIP || (rest == SPEC_REST_UNKNOWN && !(listed && c->chance[cell] > 0.0)))
        return;
    fprintf(out, "{\"request\": %d, \"position\": %d, \"token\": %d", text->number, at, token);
    if (listed && c->chance[cell] > 0.0)
        fprintf(out, ", \"target_logprob\": %.9g", fmin(log(c->chance[cell]), 0.0));
    else if (rest == SPEC_REST_NONE)
        fprintf(out, ", \"target_logprob\": %g", SPEC_LIVE_LEAST_LOG);
    fputs(", \"target_top\": [", out);
    for (int i = 0; i < place->n; i++)
        fprintf(out, "%s[%d, %.9g]", i > 0 ? ", " : "", place->top[i].id,
                c->chance[i] > 0.0 ? fmin(log(c->chance[i]), 0.0) : SPEC_LIVE_LEAST_LOG);
    fputs("]}\n", out);
}

int spec_capture_text(spec_capture *c, const spec_served_text *text, spec_error *error)
{
    spec_memory_text memory;
    size_t n = 0;
    if (!spec_memory_text_open(&memory)) return spec_no_memory(error);
    for (int i = 0; i < text->n; i++) write_place(memory.out, c, text, i);
    char *bytes = spec_memory_text_take(&memory, &n);
    if (bytes == NULL) return spec_no_memory(error);
    fwrite(bytes, 1, n, c->file);
    fflush(c->file);
    free(bytes);
    return check(c, error);
}
