/* transform: temperature, top_k, top_p and min_p, applied to a row.
 * All filters are judged on the same renormalised probabilities, after the temperature, and the survivors renormalised
 * once ("joint", FlashInfer); `chained` renormalises after top_k, top_p, min_p in turn (vLLM, Hugging Face). */
#ifndef SPECLAB_TRANSFORM_H
#define SPECLAB_TRANSFORM_H

#include "models/model.h"

typedef struct {
    double temperature; /* >= 0; 0 is the argmax, the lowest id among ties; 1 changes nothing */
    int top_k;          /* keep the k most probable; ties with the k-th stay; 0 keeps all */
    double top_p;       /* keep the fewest, most probable first (ties: lowest id), of mass >= top_p; 1 keeps all */
    double min_p;       /* keep tokens of probability >= min_p * max; 0 keeps all */
    bool chained;
} spec_transform;

#define SPEC_TRANSFORM_NONE ((spec_transform){.temperature = 1.0, .top_p = 1.0})
#define SPEC_TRANSFORM_KEYS "temperature,top_k,top_p,min_p,filters"

bool spec_transform_is_none(const spec_transform *transform);

/* Read temperature, top_k, top_p, min_p and filters=joint|chained from a model's settings. */
int spec_transform_read(spec_transform *ret_transform, spec_settings *settings, spec_error *error);

/* Transform `row` (V, normalised) in place. `order` (V) is workspace. The most probable token always survives. */
void spec_transform_apply(double *row, int vocab, const spec_transform *transform, int *order);

/* A model that applies `transform` to every row of `base`, and closes `base` when it is closed. */
int spec_transform_wrap(spec_model **ret_model, spec_model *base, const spec_transform *transform, spec_error *error);

/* What such a model applies; NULL where it is another one. */
const spec_transform *spec_transform_of(const spec_model *model);

#endif
