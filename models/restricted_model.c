/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/restricted_model.h"

#include "models/row.h"
#include "models/row_wrapper.h"
#include "models/token_file.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_row_wrapper rows;
    bool kept[]; /* (V) */
} restricted;

static void restrict_row(double *row, const spec_model *model, int *order)
{
    const bool *kept = ((const restricted *)model)->kept;
    double mass = 0.0;
    (void)order;
    for (int i = 0; i < model->vocab; i++) {
        if (!kept[i]) row[i] = 0.0;
        mass += row[i];
    }
    for (int i = 0; i < model->vocab && !(mass > 0.0); i++) row[i] = kept[i] ? 1.0 : 0.0;
    spec_row_normalise(row, model->vocab);
}

static int read_ids(restricted *m, const char *ids, int vocab, spec_error *error)
{
    int *token = NULL, n, first, status = GSL_SUCCESS;
    if (ids[strspn(ids, "0123456789")] == '\0') {
        if (!spec_settings_parse_int(&first, ids) || first < 1 || first > vocab)
            return spec_fail(error, GSL_EINVAL,
                             "ids=%.40s: the model has %d tokens; give a number from 1 to %d, or a "
                             "file of token numbers",
                             ids, vocab, vocab);
        for (int i = 0; i < first; i++) m->kept[i] = true;
        return GSL_SUCCESS;
    }
    SPEC_TRY(spec_token_file_read_numbers(&token, &n, ids, vocab, error));
    for (int i = 0; i < n; i++) m->kept[token[i]] = true;
done:
    free(token);
    return status;
}

int spec_restricted_model_open(spec_model **ret_model, spec_model *base, const char *ids,
                               spec_error *error)
{
    int status = GSL_SUCCESS;
    restricted *model = calloc(1, sizeof *model + (size_t)base->vocab * sizeof model->kept[0]);
    if (model == NULL) return spec_no_memory(error);
    SPEC_TRY(read_ids(model, ids, base->vocab, error));
    SPEC_TRY(spec_row_wrapper_init(&model->rows, base, restrict_row, error));
    model->rows.wrapper.head.one_hot = false; /* a row without any kept token is not one-hot */
    *ret_model = &model->rows.wrapper.head;
    model = NULL;
done:
    free(model);
    return status;
}
