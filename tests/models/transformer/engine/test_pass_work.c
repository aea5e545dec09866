#include "models/transformer/engine/pass_work.h"
#include "tests/support/simulated_card.h"
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
    assert_int_equal(work.launches, 0); /* calls */
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
    assert_int_equal(some.launches, 0);
    spec_model_close(draft);
    spec_model_close(target);
}

/* The card faults at a launch of the first pass as long as there are so many: with 1 layer and with 3. A pass of one
 * token and one of 40 after a longer text alike. */
static void a_card_launches_what_is_counted(void **state)
{
    (void)state;
    if (spec_card_is_real()) skip();
    for (int c = 0; c < 4; c++) {
        const int layers = c % 2 ? 3 : 1, n = c < 2 ? 1 : 40, token[40] = {0};
        for (int more = 0; more < 2; more++) {
            spec_model *model;
            spec_session session;
            spec_error error;
            char spec[120], at[16];
            snprintf(spec, sizeof spec,
                     "random?dim=64&layers=%d&heads=4&kv_heads=2&ffn=96&vocab=100&type=bf16&device=gpu", layers);
            setenv("SPECLAB_GPU_RECORD", "0", 1);
            snprintf(at, sizeof at, "%d", 10 * layers + 4 + more);
            setenv("SIM_FAULT_AT", at, 1);
            const spec_transformer *t = open_model(&model, spec, NULL);
            const int launches = spec_pass_work_of(t).launches;
            assert_int_equal(spec_session_init(&session, model, &error), GSL_SUCCESS);
            spec_forward *forward = spec_transformer_forward(session.data);
            const int status =
                spec_session_score_begin(&session, token, (size_t)n, NULL, NULL, 0, 0, NULL, NULL, &error);
            assert_int_equal(status, GSL_SUCCESS);
            assert_int_equal(launches, 10 * layers + 4);
            assert_int_equal(spec_forward_wait(forward, &error) == GSL_SUCCESS, more);
            (void)spec_session_score_end(&session, &error);
            spec_session_free(&session);
            spec_model_close(model);
        }
    }
    unsetenv("SIM_FAULT_AT");
    unsetenv("SPECLAB_GPU_RECORD");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_counted_by_the_shape),
        cmocka_unit_test(a_draft_of_some_layers_has_the_work_of_these),
        cmocka_unit_test(a_card_launches_what_is_counted),
    };
    spec_simulated_card();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
