#include "models/transformer/engine/room.h"

#include "base/bytes.h"
#include "models/transformer/engine/transformer.h"
#include "speclab/round.h"

int spec_room_choose_kv(spec_tensor_type *ret_type, const spec_backend *backend, const spec_checkpoint *checkpoint,
                        spec_tensor_type opt_type, const spec_settings *settings, spec_error *error)
{
    static const char *const types[] = {"auto", "f32", "bf16", NULL};
    enum { AUTO, F32, BF16 };
    int type;
    bool all_floats;
    (void)spec_weights_bytes(&all_floats, checkpoint, opt_type, backend);
    const int status = spec_settings_choice(&type, settings, "kv", AUTO, types, error);
    *ret_type = SPEC_TENSOR_F32;
    if (status != GSL_SUCCESS) return status;
    if (type == BF16 && !backend->keeps_bf16)
        return spec_fail(error, GSL_EINVAL, "kv=bf16: %s (%s) keeps keys and values as floats: leave it out, or compute "
                                            "on a GPU",
                         backend->name, backend->device);
    if (type == BF16 || (type == AUTO && backend->keeps_bf16 && !all_floats)) *ret_type = SPEC_TENSOR_BF16;
    return GSL_SUCCESS;
}

/* What a model needs, in bytes. */
typedef struct {
    size_t weights, texts, passes, laws;
} parts;

static size_t total(const parts *p)
{
    return p->weights + p->texts + p->passes + p->laws;
}

static const spec_transformer *transformer_of(const spec_room_need *need)
{
    return need->opt_model != NULL ? spec_transformer_of(need->opt_model) : NULL;
}

static const spec_backend *backend_of(const spec_room_need *need)
{
    const spec_transformer *model = transformer_of(need);
    return model != NULL ? model->weights->backend : NULL;
}

static parts parts_of(const spec_room_need *need)
{
    const spec_transformer *model = transformer_of(need);
    const spec_backend *backend = model->weights->backend;
    const spec_shape *shape = &model->checkpoint->shape;
    const size_t text = backend->piece(backend->kv_bytes(shape, model->kv_type, model->context + SPEC_NODES_MAX));
    const bool loads = model->weights == &model->own_weights && model->weights->layer == NULL;
    bool unused;
    return (parts){
        .weights = loads ? spec_weights_bytes(&unused, model->checkpoint, model->type, backend) : 0,
        .texts = (size_t)need->texts * text,
        .passes = (size_t)need->passes * spec_forward_bytes(backend, shape),
        .laws = need->laws > 0 && backend->law_bytes != NULL
                    ? (size_t)need->laws * backend->piece(backend->law_bytes(shape->vocab))
                    : 0,
    };
}

/* "weights 13 GiB, keys and values of a text of 4096 tokens 1 GiB, a pass 99 MiB", and the others. */
static int refuse(const spec_room_need *need, int n, int first, const char *why, spec_error *error)
{
    char a[SPEC_BYTES_SIZE], weights[40] = "", texts[100] = "", passes[20] = "a pass", laws[60] = "", others[60] = "";
    const int n_texts = need[first].texts, context = transformer_of(&need[first])->context;
    const spec_backend *backend = backend_of(&need[first]);
    const parts own = parts_of(&need[first]);
    size_t other = 0;
    int n_others = 0;
    for (int i = first + 1; i < n; i++)
        if (backend_of(&need[i]) == backend) {
            const parts p = parts_of(&need[i]);
            other += total(&p);
            n_others++;
        }
    if (own.weights > 0) snprintf(weights, sizeof weights, "weights %s, ", spec_bytes_text(a, own.weights));
    if (n_texts == 1)
        snprintf(texts, sizeof texts, "keys and values of a text of %d tokens %s, ", context,
                 spec_bytes_text(a, own.texts));
    else if (n_texts > 1)
        snprintf(texts, sizeof texts, "keys and values of %d texts of %d tokens %s, ", n_texts, context,
                 spec_bytes_text(a, own.texts));
    if (need[first].passes > 1) snprintf(passes, sizeof passes, "%d passes", need[first].passes);
    if (own.laws > 0) snprintf(laws, sizeof laws, ", what drafts were drawn from %s", spec_bytes_text(a, own.laws));
    if (n_others == 1) snprintf(others, sizeof others, ", those of the target %s", spec_bytes_text(a, other));
    if (n_others > 1)
        snprintf(others, sizeof others, ", those of %d other models %s", n_others, spec_bytes_text(a, other));
    return spec_fail(error, GSL_ENOMEM, "%.250s: %s%s%s %s%s%s%s", why, weights, texts, passes,
                     spec_bytes_text(a, own.passes), laws, others,
                     own.texts > own.weights + own.passes ? "; a smaller context= needs less" : "");
}

int spec_room_check(const spec_room_need *need, int n, spec_error *error)
{
    for (int first = 0; first < n; first++) {
        const spec_backend *backend = backend_of(&need[first]);
        size_t bytes = 0;
        bool done = backend == NULL;
        for (int i = 0; i < first && !done; i++) done = backend_of(&need[i]) == backend;
        for (int i = first; i < n && !done; i++)
            if (backend_of(&need[i]) == backend) {
                const parts p = parts_of(&need[i]);
                bytes += total(&p);
            }
        spec_error why = {{0}};
        const int status = done ? GSL_SUCCESS : backend->check(backend, bytes, &why);
        if (status == GSL_ENOMEM) return refuse(need, n, first, why.text, error);
        if (status != GSL_SUCCESS) return spec_fail(error, status, "%s", why.text);
    }
    return GSL_SUCCESS;
}
