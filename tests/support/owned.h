/* SPDX-License-Identifier: GPL-3.0-or-later */
/* owned: locals that free themselves at the end of their block, the last declared first.
 * So declare what a local uses before it. A test that fails frees nothing. */
#ifndef SPECLAB_TESTS_OWNED_H
#define SPECLAB_TESTS_OWNED_H

#include <gsl/gsl_rng.h>
#include <stdlib.h>

/* `OWNED(stage) s;` ends with stage_free(&s), `CLOSED(spec_subject) s;` with
 * spec_subject_close(&s), `FREED char *text = ...;` with free(text). */
#define OWNED(type) __attribute__((cleanup(type##_free))) type
#define CLOSED(type) __attribute__((cleanup(type##_close))) type
#define FREED __attribute__((cleanup(spec_test_free)))

/* `OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());`; `OWNED_MODEL *model;` */
#define OWNED_RNG __attribute__((cleanup(spec_test_rng_free))) gsl_rng
#define OWNED_MODEL __attribute__((cleanup(spec_test_model_close))) struct spec_model

static inline void spec_test_free(const void *pointer)
{
    free(*(void *const *)pointer);
}

static inline void spec_test_rng_free(gsl_rng *const *rng)
{
    gsl_rng_free(*rng);
}

static inline gsl_rng *spec_test_rng(const gsl_rng_type *type, unsigned long seed)
{
    gsl_rng *rng = gsl_rng_alloc(type);
    if (rng == NULL) abort();
    gsl_rng_set(rng, seed);
    return rng;
}

struct spec_model;
void spec_model_close(struct spec_model *model);
static inline void spec_test_model_close(struct spec_model *const *model)
{
    spec_model_close(*model);
}

#endif
