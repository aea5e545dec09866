/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/recordings.h"

#include <stdlib.h>
#include <string.h>

struct spec_recorded {
    spec_pass_kind kind; /* kv points to the copy below, sublayer to a separate copy */
    spec_kv kv;
    spec_recording *recording;
    uint64_t used;
};

int spec_recordings_init(spec_recordings *recordings, spec_error *error)
{
    *recordings =
        (spec_recordings){.recorded = calloc(SPEC_RECORDINGS_MAX, sizeof *recordings->recorded)};
    return recordings->recorded != NULL ? GSL_SUCCESS
                                        : spec_fail(error, GSL_ENOMEM, "out of memory");
}

static void free_one(struct spec_recorded *one, spec_card *card)
{
    spec_recording_free(card, one->recording);
    free((int *)one->kind.sublayer);
    *one = (struct spec_recorded){0};
}

void spec_recordings_free(spec_recordings *recordings, spec_card *card)
{
    for (int i = 0; i < recordings->n; i++) free_one(&recordings->recorded[i], card);
    free(recordings->recorded);
    *recordings = (spec_recordings){0};
}

static bool same_kv(const spec_kv *one, const spec_kv *other)
{
    return one->data == other->data && one->layers == other->layers && one->slots == other->slots &&
           one->n_kv_heads == other->n_kv_heads && one->head_dim == other->head_dim &&
           one->type == other->type;
}

static bool same(const spec_pass_kind *one, const spec_pass_kind *other)
{
    return one->bucket == other->bucket && one->wanted == other->wanted &&
           one->longest == other->longest && one->n_sublayers == other->n_sublayers &&
           same_kv(one->kv, other->kv) &&
           memcmp(one->sublayer, other->sublayer,
                  (size_t)one->n_sublayers * sizeof *one->sublayer) == 0;
}

spec_recording *spec_recordings_find(spec_recordings *recordings, const spec_pass_kind *kind)
{
    for (int i = 0; i < recordings->n; i++) {
        struct spec_recorded *one = &recordings->recorded[i];
        if (!same(&one->kind, kind)) continue;
        one->used = ++recordings->clock;
        return one->recording;
    }
    return NULL;
}

bool spec_recordings_is_full(const spec_recordings *recordings)
{
    return recordings->n == SPEC_RECORDINGS_MAX;
}

int spec_recordings_add(spec_recordings *recordings, const spec_pass_kind *kind,
                        spec_recording *recording, spec_card *card, spec_error *error)
{
    int *sublayer = malloc((size_t)kind->n_sublayers * sizeof *sublayer), at = 0;
    if (sublayer == NULL) {
        spec_recording_free(card, recording);
        return spec_fail(error, GSL_ENOMEM, "out of memory");
    }
    memcpy(sublayer, kind->sublayer, (size_t)kind->n_sublayers * sizeof *sublayer);
    if (recordings->n < SPEC_RECORDINGS_MAX) {
        at = recordings->n++;
    } else {
        for (int i = 1; i < recordings->n; i++)
            if (recordings->recorded[i].used < recordings->recorded[at].used) at = i;
        free_one(&recordings->recorded[at], card);
    }
    struct spec_recorded *one = &recordings->recorded[at];
    *one = (struct spec_recorded){*kind, *kind->kv, recording, ++recordings->clock};
    one->kind.kv = &one->kv;
    one->kind.sublayer = sublayer;
    return GSL_SUCCESS;
}
