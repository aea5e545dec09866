/* logits: what is read out of a pass's logits on the CPU: the largest, or the distribution at a temperature.
 * Rows are double and normalised; sums run in blocks of SPEC_VECTOR_EXPS, so that they are the same for any number of
 * threads. */
#ifndef SPECLAB_LOGITS_H
#define SPECLAB_LOGITS_H

#include "models/transformer/kernels/vector.h"

/* As the backend's argmax and rows, of logits (n, vocab); rows by the team where it is taken. */
int spec_logits_argmax(int *ret_token, const float *logits, int n, int vocab, const spec_vector_kernels *kernels,
                       spec_error *error);
int spec_logits_rows(double *const *row, const float *logits, double temperature, int n, int vocab,
                     const spec_vector_kernels *kernels, bool taken, spec_error *error);

#endif
