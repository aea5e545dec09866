/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times passes of a model, as llama_shell does:
 *   pass_shell SPEC THREADS CONTEXT     lines "WIDTH PASSES"; the seconds of these passes of WIDTH
 *                                       tokens after CONTEXT tokens, a line each
 * A pass ends with a row of probabilities after each token. */
#include "base/clock.h"
#include "models/model_open.h"
#include "tests/support/contexts.h"

#include <stdio.h>
#include <stdlib.h>

enum { WIDEST = 64 };

typedef struct {
    spec_model *model;
    spec_session session;
    int *token;    /* (context + WIDEST) */
    double *store; /* (WIDEST, V) */
    int context;
} passes;

static void fail(const char *what)
{
    fprintf(stderr, "pass_shell: %s\n", what);
    exit(2);
}

static void open_passes(passes *p, const char *spec, int threads, int context)
{
    spec_error error = {""};
    if (spec_model_open(&p->model, spec, NULL, spec_test_context(threads), &error) != GSL_SUCCESS ||
        spec_session_init(&p->session, p->model, &error) != GSL_SUCCESS)
        fail(error.text);
    const size_t vocab = (size_t)p->model->vocab;
    p->context = context;
    p->token = malloc((size_t)(context + WIDEST) * sizeof *p->token);
    p->store = malloc(WIDEST * vocab * sizeof *p->store);
    if (p->token == NULL || p->store == NULL) fail("no memory");
    for (int i = 0; i < context + WIDEST; i++) p->token[i] = (int)((size_t)i * 7919 % vocab);
}

/* The text's last token is the first of the pass; the others are nodes of a chain after it. */
static void pass(passes *p, int width)
{
    const double *row[WIDEST];
    spec_error error = {""};
    if (spec_session_score(&p->session,
                           &(spec_score_request){.context = p->token,
                                                 .n_context = (size_t)p->context + 1,
                                                 .token = p->token + p->context + 1,
                                                 .n_nodes = width - 1,
                                                 .ret_row = row,
                                                 .scratch = p->store},
                           &error) != GSL_SUCCESS)
        fail(error.text);
}

int main(int argc, char **argv)
{
    passes p;
    int width, n;
    if (argc != 4) fail("usage: pass_shell SPEC THREADS CONTEXT");
    open_passes(&p, argv[1], atoi(argv[2]), atoi(argv[3]));
    const spec_clock clock = spec_clock_wall();
    pass(&p, 1);
    while (scanf("%d %d", &width, &n) == 2) {
        if (width < 1 || width > WIDEST || n < 1) fail("a pass has 1 to 64 tokens");
        const double begun = spec_clock_read(&clock);
        for (int i = 0; i < n; i++) pass(&p, width);
        printf("%.9f\n", spec_clock_read(&clock) - begun);
        fflush(stdout);
    }
    spec_session_free(&p.session);
    spec_model_close(p.model);
    free(p.token);
    free(p.store);
    return 0;
}
