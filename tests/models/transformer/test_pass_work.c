#include "models/transformer/pass_work.h"
#include "tests/support/support.h"

static const spec_transformer *open_model(spec_model **ret, const char *spec, const spec_model *opt_target)
{
    spec_error error;
    if (spec_model_open(ret, spec, opt_target, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
    return spec_transformer_of(*ret);
}

/* dim 64, ffn 96, 4 heads of which 2 have keys: 64 (64 + 32 + 32) + 64 64 + 2 96 64 + 64 96 weights a layer, and
 * 100 64 of the output. */
static void work_is_counted_by_the_shape(void **state)
{
    (void)state;
    spec_model *model;
    const spec_pass_work work =
        spec_pass_work_of(open_model(&model, "random?dim=64&layers=3&heads=4&kv_heads=2&ffn=96&vocab=100&type=q8_0", NULL));
    assert_true(work.weights[SPEC_TENSOR_Q8_0] == 3.0 * (8192 + 4096 + 12288 + 6144) + 6400.0);
    assert_true(work.weights[SPEC_TENSOR_F32] == 0.0 && work.weights[SPEC_TENSOR_BF16] == 0.0);
    assert_true(work.kv_bytes == 2.0 * 2 * 16 * 3 * 4);
    assert_int_equal(work.operations, 3 * 9 + 3);
    assert_true(work.weight_bytes == (double)spec_transformer_of(model)->weights->bytes);
    spec_model_close(model);
}

/* The target's first and third layers, and its output. */
static void a_draft_of_some_layers_has_the_work_of_these(void **state)
{
    (void)state;
    spec_model *target, *draft;
    const char *spec = "random?dim=64&layers=4&heads=4&ffn=96&vocab=100&type=bf16";
    const spec_pass_work all = spec_pass_work_of(open_model(&target, spec, NULL));
    const spec_pass_work some = spec_pass_work_of(open_model(&draft, "layers?exit=3&skip=1", target));
    const double output = 6400.0, layers = all.weights[SPEC_TENSOR_BF16] - output;
    assert_true(some.weights[SPEC_TENSOR_BF16] == layers / 2.0 + output);
    assert_true(some.weight_bytes < all.weight_bytes && some.weight_bytes > all.weight_bytes / 2.0);
    assert_true(some.kv_bytes == all.kv_bytes / 2.0);
    assert_int_equal(some.operations, 2 * 9 + 3);
    spec_model_close(draft);
    spec_model_close(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_counted_by_the_shape),
        cmocka_unit_test(a_draft_of_some_layers_has_the_work_of_these),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
