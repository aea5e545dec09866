/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pair_report: the drafts of a target as sentences, and as a table with a row per draft and K.
 * The first sentence is the answer. Every sentence is written from the numbers. */
#ifndef SPECLAB_PAIR_REPORT_H
#define SPECLAB_PAIR_REPORT_H

#include "base/table.h"
#include "tools/pair/pair_numbers.h"

#include <stdio.h>

/* How the user calls the models, and what else a reader must know. */
typedef struct {
    const char *target, *draft[SPEC_PAIR_DRAFTS]; /* as given */
    const char *name[SPEC_PAIR_DRAFTS];           /* of the drafts, in tables */
    const char *texts; /* "12 texts of 128 tokens, after the prompts of a.jsonl" */
    const char *times; /* "measured on this machine" */
} spec_pair_words;

/* Fills the table: rows of all texts by draft and K, then rows by category. Returns GSL_ENOMEM. */
int spec_pair_report_table(spec_table *ret, const spec_pair_numbers *numbers,
                           const spec_pair_words *words, spec_error *error);

/* Writes the text. Returns GSL_ENOMEM. */
int spec_pair_report(FILE *out, const spec_pair_numbers *numbers, const spec_pair_words *words,
                     spec_error *error);

#endif
