/* sampled_rows: logits of many shapes, filters of many kinds, and the row that the processor makes of them: what the
 * tests of sampling on a card are held against. All by hash of a key. */
#ifndef SPECLAB_TESTS_SAMPLED_ROWS_H
#define SPECLAB_TESTS_SAMPLED_ROWS_H

#include "models/transform.h"

typedef enum {
    SAMPLED_NORMAL,
    SAMPLED_PEAKED,
    SAMPLED_FLAT,  /* within a thousandth */
    SAMPLED_TIES,  /* few whole numbers, both zeros among them */
    SAMPLED_EQUAL, /* all the same */
    SAMPLED_FAR,   /* so far apart that probabilities vanish, and beyond */
    SAMPLED_FAMILIES
} sampled_family;

void sampled_logits(float *ret_logits, int vocab, sampled_family family, uint64_t key);

/* Temperature 0 in one of 8; each filter in one of 2, at values that ties make borders of. */
spec_transform sampled_transform(int vocab, uint64_t key);

/* What backend->rows and the filters make of logits: row (V). */
void sampled_row(double *ret_row, const float *logits, int vocab, const spec_transform *transform);

#endif
