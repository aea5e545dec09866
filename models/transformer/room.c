#include "models/transformer/room.h"

#include "models/bytes.h"
#include "models/transformer/transformer.h"
#include "speclab/round.h"

static int choose_kv(spec_tensor_type *ret_type, const spec_backend *backend, bool all_floats,
                     const spec_settings *settings, spec_error *error)
{
    static const char *const types[] = {"auto", "f32", "bf16", NULL};
    enum { AUTO, F32, BF16 };
    int type;
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

static size_t text_bytes(const spec_backend *backend, const spec_shape *shape, spec_tensor_type kv_type)
{
    return backend->piece(backend->kv_bytes(shape, kv_type, shape->context + SPEC_NODES_MAX));
}

/* What a target that is open has still to take on this backend. */
static size_t target_bytes(const spec_backend *backend, const spec_model *opt_target)
{
    const spec_transformer *target = opt_target != NULL ? spec_transformer_of(opt_target) : NULL;
    if (target == NULL || target->weights->backend != backend) return 0;
    const spec_shape *shape = &target->checkpoint->shape;
    return text_bytes(backend, shape, target->kv_type) + spec_forward_bytes(backend, shape);
}

int spec_room_check(spec_tensor_type *ret_kv_type, const spec_backend *backend, const spec_checkpoint *checkpoint,
                    spec_tensor_type opt_type, const spec_model *opt_target, const spec_settings *settings,
                    spec_error *error)
{
    const spec_shape *shape = &checkpoint->shape;
    char a[SPEC_BYTES_SIZE], b[SPEC_BYTES_SIZE], c[SPEC_BYTES_SIZE], d[SPEC_BYTES_SIZE];
    spec_error why = {{0}};
    bool all_floats;
    const size_t weights = spec_weights_bytes(&all_floats, checkpoint, opt_type, backend);
    int status = choose_kv(ret_kv_type, backend, all_floats, settings, error);
    if (status != GSL_SUCCESS) return status;
    const size_t text = text_bytes(backend, shape, *ret_kv_type), pass = spec_forward_bytes(backend, shape);
    const size_t target = target_bytes(backend, opt_target);
    status = backend->check(backend, weights + text + pass + target, &why);
    if (status != GSL_ENOMEM) return status == GSL_SUCCESS ? status : spec_fail(error, status, "%s", why.text);
    return spec_fail(error, status, "%.250s: weights %s, keys and values of a text of %d tokens %s, a pass %s%s%s%s",
                     why.text, spec_bytes_text(a, weights), shape->context, spec_bytes_text(b, text),
                     spec_bytes_text(c, pass), target > 0 ? ", those of the target " : "",
                     target > 0 ? spec_bytes_text(d, target) : "",
                     text > weights + pass ? "; a smaller context= needs less" : "");
}
