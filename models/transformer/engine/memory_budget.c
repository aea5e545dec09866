/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/memory_budget.h"

#include "base/bytes.h"
#include "models/transformer/engine/weights.h"

int spec_memory_budget_choose_kv(spec_tensor_type *ret_type, const spec_backend *backend,
                                 const spec_checkpoint *checkpoint, spec_tensor_type opt_type,
                                 const spec_settings *settings, spec_error *error)
{
    static const char *const names[] = {"auto", "f32", "f16", "bf16", NULL};
    const spec_tensor_type types[] = {backend->half_kv, SPEC_TENSOR_F32, SPEC_TENSOR_F16,
                                      SPEC_TENSOR_BF16};
    enum { AUTO, F32, F16 };
    int choice;
    bool all_floats;
    (void)spec_weights_bytes(&all_floats, checkpoint, opt_type, backend);
    *ret_type = SPEC_TENSOR_F32;
    const int status = spec_settings_choice(&choice, settings, "kv", AUTO, names, error);
    if (status != GSL_SUCCESS) return status;
    if (choice == F16 && backend->half_kv != SPEC_TENSOR_F16)
        return spec_fail(error, GSL_EINVAL, "kv=f16: %s (%s) keeps keys and values as f32 or bf16",
                         backend->name, backend->device);
    if (choice != AUTO || !all_floats) *ret_type = types[choice];
    return GSL_SUCCESS;
}

static size_t total(const spec_memory_budget_need *need)
{
    return need->weights + need->texts + need->passes + need->laws;
}

/* Writes "weights 13 GiB, keys and values of a text of 4096 tokens 1 GiB, a pass 99 MiB" and the
 * needs of the other models. */
static int refuse(const spec_memory_budget_need *need, int n, int first, const char *why,
                  spec_error *error)
{
    char a[SPEC_BYTES_SIZE], weights[40] = "", texts[100] = "", passes[20] = "a pass",
                             laws[60] = "", others[60] = "";
    const spec_memory_budget_need own = need[first];
    size_t other = 0;
    int n_others = 0;
    for (int i = first + 1; i < n; i++)
        if (need[i].backend == own.backend) {
            other += total(&need[i]);
            n_others++;
        }
    if (own.weights > 0)
        snprintf(weights, sizeof weights, "weights %s, ", spec_bytes_text(a, own.weights));
    if (own.n_texts == 1)
        snprintf(texts, sizeof texts, "keys and values of a text of %d tokens %s, ", own.context,
                 spec_bytes_text(a, own.texts));
    else if (own.n_texts > 1)
        snprintf(texts, sizeof texts, "keys and values of %d texts of %d tokens %s, ", own.n_texts,
                 own.context, spec_bytes_text(a, own.texts));
    if (own.n_passes > 1) snprintf(passes, sizeof passes, "%d passes", own.n_passes);
    if (own.laws > 0)
        snprintf(laws, sizeof laws, ", what drafts were drawn from %s",
                 spec_bytes_text(a, own.laws));
    if (n_others == 1)
        snprintf(others, sizeof others, ", those of the target %s", spec_bytes_text(a, other));
    if (n_others > 1)
        snprintf(others, sizeof others, ", those of %d other models %s", n_others,
                 spec_bytes_text(a, other));
    return spec_fail(error, GSL_ENOMEM, "%.250s: %s%s%s %s%s%s%s", why, weights, texts, passes,
                     spec_bytes_text(a, own.passes), laws, others,
                     own.texts > own.weights + own.passes ? "; a smaller context= needs less" : "");
}

int spec_memory_budget_check(const spec_memory_budget_need *need, int n, spec_error *error)
{
    for (int first = 0; first < n; first++) {
        const spec_backend *backend = need[first].backend;
        size_t bytes = 0;
        bool done = backend == NULL;
        for (int i = 0; i < first && !done; i++) done = need[i].backend == backend;
        for (int i = first; i < n && !done; i++)
            if (need[i].backend == backend) bytes += total(&need[i]);
        spec_error why = {{0}};
        const int status = done ? GSL_SUCCESS : backend->check(backend, bytes, &why);
        if (status == GSL_ENOMEM) return refuse(need, n, first, why.text, error);
        if (status != GSL_SUCCESS) return spec_fail(error, status, "%s", why.text);
    }
    return GSL_SUCCESS;
}
