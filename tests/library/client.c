/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program that uses every part of the library, C99 and C++, and prints its results.
 *   client      exit 0; or 2 after a failure, with its line on standard error */
#include <speclab/speclab.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char error[512];

static void check(int32_t code)
{
    if (code == SPECLAB_OK) return;
    fprintf(stderr, "%s\n", error);
    exit(2);
}

static speclab_pair example(void)
{
    speclab_pair pair;
    memset(&pair, 0, sizeof pair);
    pair.size = sizeof pair;
    pair.K = 2;
    pair.target = "probs:0.5,0.2,0.1,0.2";
    pair.draft = "probs:0.4,0.3,0.2,0.1";
    return pair;
}

static void experiment(speclab *lab)
{
    static const char text[] = "measure = \"predict\"; grid = { alpha = [0.5, 0.8]; K = 3; };";
    speclab_table *table;
    check(speclab_run(&table, lab, text, NULL, error, sizeof error));
    for (int64_t row = 0; row < speclab_table_rows(table); row++)
        printf("%.17g\n",
               speclab_table_number(table, row, speclab_table_find(table, "speedup")));
    speclab_table_free(table);
}

static void one_round(speclab *lab)
{
    const speclab_pair pair = example();
    speclab_outcome outcome;
    speclab_round *round;
    check(speclab_round_run(&round, lab, &pair, NULL, error, sizeof error));
    memset(&outcome, 0, sizeof outcome);
    outcome.size = sizeof outcome;
    check(speclab_round_outcome(&outcome, round));
    printf("%d decisions, token %d\n", (int)outcome.n_decisions, (int)outcome.token[0]);
    speclab_round_free(round);
}

static void simulation(speclab *lab)
{
    const speclab_pair pair = example();
    speclab_simulation_options options;
    speclab_estimates estimates;
    speclab_simulation *simulation;
    int32_t done = 0;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.rounds = 1000;
    check(speclab_simulation_open(&simulation, lab, &pair, &options, error, sizeof error));
    while (!done) check(speclab_simulation_next(&done, simulation, error, sizeof error));
    memset(&estimates, 0, sizeof estimates);
    estimates.size = sizeof estimates;
    check(speclab_simulation_read(&estimates, simulation));
    printf("%.17g\n", estimates.emitted);
    speclab_simulation_close(simulation);
}

static void text(speclab *lab)
{
    const speclab_pair pair = example();
    speclab_text_options options;
    speclab_text_part part;
    speclab_text *text;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.most = 5;
    check(speclab_text_open(&text, lab, &pair, &options, error, sizeof error));
    memset(&part, 0, sizeof part);
    part.size = sizeof part;
    do {
        check(speclab_text_round(&part, text, error, sizeof error));
        for (int i = 0; i < part.n; i++) printf("%d ", (int)part.token[i]);
    } while (part.ending == SPECLAB_TEXT_GOES_ON);
    printf("\n");
    speclab_text_close(text);
}

/* Emits the first draft token, whatever its probability. */
static int32_t first_token(void *self, const speclab_batch *batch)
{
    (void)self;
    for (int32_t i = 0; i < batch->n; i++) {
        batch->ret_token[i * (batch->n_nodes + 1)] = batch->token[i * batch->n_nodes];
        batch->ret_n_emitted[i] = 1;
    }
    return 0;
}

static void validation(speclab *lab)
{
    static const char *const only[] = {"plain-4", NULL};
    spec_sampler_about about;
    speclab_sampler sampler;
    speclab_validate_options options;
    speclab_validation *validation;
    memset(&about, 0, sizeof about);
    about.size = sizeof about;
    strcpy(about.name, "first");
    about.scopes = SPEC_SCOPE_VERIFY;
    memset(&sampler, 0, sizeof sampler);
    sampler.size = sizeof sampler;
    sampler.about = &about;
    sampler.batch = first_token;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.only = only;
    options.draws = 10000;
    options.no_hints = 1;
    check(speclab_validate(&validation, lab, &sampler, &options, error, sizeof error));
    printf("verdict %d: %s\n", (int)speclab_validation_verdict(validation),
           speclab_validation_reason(validation));
    speclab_validation_free(validation);
}

int main(void)
{
    speclab_options options;
    speclab *lab;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.threads = 1;
    check(speclab_open(&lab, &options, error, sizeof error));
    experiment(lab);
    one_round(lab);
    simulation(lab);
    text(lab);
    validation(lab);
    speclab_close(lab);
    return 0;
}
