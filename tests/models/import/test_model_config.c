/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config.json: every value that is read, and every one that is refused. */
#include "models/import/model_config.h"

#include "tests/support/hf_folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

/* With single quotes for double ones; `more` are further members. */
static int read_config(spec_model_config *ret, const char *more, spec_error *error)
{
    char text[1024];
    json_t *root;
    snprintf(text, sizeof text,
             "{'hidden_size':48,'num_hidden_layers':3,'num_attention_heads':4,"
             "'intermediate_size':80,'vocab_size':96,'max_position_embeddings':64%s%s}",
             *more != '\0' ? "," : "", more);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\'') *c = '"';
    if (spec_json_values_parse(&root, text, strlen(text), "config.json", error) != GSL_SUCCESS)
        fail_msg("%s", error->text);
    const int status = spec_model_config_read(ret, &(spec_json_values){"config.json", root, error});
    json_decref(root);
    return status;
}

static void reads(spec_model_config *ret, const char *more)
{
    spec_error error = {""};
    if (read_config(ret, more, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
}

static void defaults_are_those_of_transformers(void **state)
{
    (void)state;
    spec_model_config config;
    reads(&config, "'model_type':'llama','num_key_value_heads':null,'rope_scaling':null");
    const spec_shape *s = &config.shape;
    assert_true(s->dim == 48 && s->n_layers == 3 && s->n_heads == 4 && s->ffn_dim == 80);
    assert_true(s->n_kv_heads == 4 && s->head_dim == 12 && s->vocab == 96 && s->context == 64);
    assert_true(s->norm_eps == 1e-6f && s->rope.base == 10000.0);
    assert_true(s->rope_pairs == SPEC_ROPE_HALVES && s->rope.opt_factor == NULL);
    assert_true(!config.is_qwen2 && !config.is_tied && config.window == 0);
    assert_true(config.begin_of_text == -1 && config.end_of_text == -1);
    spec_model_config_free(&config);
}

static void values_replace_the_defaults(void **state)
{
    (void)state;
    spec_model_config config;
    reads(&config, "'model_type':'qwen2','num_key_value_heads':2,'head_dim':16,'rms_norm_eps':1e-5,"
                   "'rope_theta':1000000,'tie_word_embeddings':true,'bos_token_id':1,"
                   "'eos_token_id':[7,8]");
    const spec_shape *s = &config.shape;
    assert_true(s->n_kv_heads == 2 && s->head_dim == 16 && s->norm_eps == 1e-5f);
    assert_true(s->rope.base == 1e6 && config.is_qwen2 && config.is_tied);
    assert_true(config.begin_of_text == 1 && config.end_of_text == 7);
    spec_model_config_free(&config);
    reads(&config, "'model_type':'llama','rope_parameters':{'rope_theta':500,'rope_type':"
                   "'default'}");
    assert_true(config.shape.rope.base == 500.0);
    spec_model_config_free(&config);
}

static void a_window_in_effect_cuts_the_context(void **state)
{
    (void)state;
    static const struct {
        const char *more;
        int context, window;
    } cases[] = {
        {"'model_type':'mistral','sliding_window':32", 32, 32},
        {"'model_type':'mistral','sliding_window':64", 64, 0},
        {"'model_type':'mistral','sliding_window':null", 64, 0},
        {"'model_type':'qwen2','sliding_window':32,'use_sliding_window':false", 64, 0},
        {"'model_type':'qwen2','sliding_window':32", 64, 0},
        {"'model_type':'qwen2','sliding_window':32,'use_sliding_window':true", 32, 32},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spec_model_config config;
        reads(&config, cases[i].more);
        assert_int_equal(config.shape.context, cases[i].context);
        assert_int_equal(config.window, cases[i].window);
        spec_model_config_free(&config);
    }
}

/* Factors of transformers 5.23 (ROPE_INIT_FUNCTIONS), for the shape of this file and for that of
 * Llama 3.2 1B. */
static void ropes_are_scaled_as_in_transformers(void **state)
{
    (void)state;
    static const float small[] = {1.73594f, 8.0f, 8.0f, 8.0f, 8.0f, 8.0f};
    spec_model_config config;
    reads(&config, "'model_type':'llama','rope_theta':500.0,'rope_scaling':{'rope_type':'llama3',"
                   "'factor':8.0,'low_freq_factor':1.0,'high_freq_factor':4.0,"
                   "'original_max_position_embeddings':16}");
    for (int i = 0; i < 6; i++)
        assert_near((double)config.shape.rope.opt_factor[i], (double)small[i], 1e-5);
    spec_model_config_free(&config);
    reads(&config, "'model_type':'llama','head_dim':64,'rope_parameters':{'rope_theta':500000.0,"
                   "'rope_type':'llama3','factor':32.0,'low_freq_factor':1.0,"
                   "'high_freq_factor':4.0,'original_max_position_embeddings':8192}");
    const float *factor = config.shape.rope.opt_factor;
    for (int i = 0; i < 15; i++) assert_true(factor[i] == 1.0f);
    assert_near((double)factor[15], 1.65133, 1e-5);
    assert_near((double)factor[16], 3.29226, 1e-5);
    assert_near((double)factor[17], 9.66673, 1e-5);
    for (int i = 18; i < 32; i++) assert_true(factor[i] == 32.0f);
    spec_model_config_free(&config);
    reads(&config, "'model_type':'llama','rope_scaling':{'type':'linear','factor':2.5}");
    for (int i = 0; i < 6; i++) assert_true(config.shape.rope.opt_factor[i] == 2.5f);
    spec_model_config_free(&config);
}

static void configs_that_are_not_computed_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "model_type is ''; llama, mistral and qwen2 are read"},
        {"'model_type':'gpt2'", "model_type is 'gpt2'; llama, mistral and qwen2 are read"},
        {"'model_type':'qwen3'",
         "model_type is 'qwen3', whose norms of each head's queries and keys are not computed"},
        {"'model_type':3", "the value of 'model_type' is not a text"},
        {"'model_type':'llama','hidden_act':'gelu'", "hidden_act is 'gelu'; silu is computed"},
        {"'model_type':'llama','quantization_config':{}", "has a quantization_config"},
        {"'model_type':'llama','rope_scaling':{'rope_type':'yarn','factor':4}",
         "a rope_scaling of type 'yarn' is not computed"},
        {"'model_type':'llama','rope_scaling':{'type':'linear','factor':0}",
         "a rope_scaling by the factor 0 cannot be"},
        {"'model_type':'llama','rope_scaling':{'type':'llama3','factor':8,'low_freq_factor':4}",
         "a rope_scaling of low_freq_factor 4, high_freq_factor 4"},
        {"'model_type':'llama','rope_scaling':'linear'",
         "the value of 'rope_scaling' is not an object"},
        {"'model_type':'llama','partial_rotary_factor':0.5",
         "a rotary embedding of a share 0.5 of each head is not computed"},
        {"'model_type':'llama','num_key_value_heads':3", "4 heads cannot share 3 key-value heads"},
        {"'model_type':'llama','num_key_value_heads':0",
         "the value of 'num_key_value_heads' is not a whole number between 1 and 65536"},
        {"'model_type':'llama','head_dim':13", "the width of a head is 13, which is odd"},
        {"'model_type':'llama','rms_norm_eps':'x'", "the value of 'rms_norm_eps' is not a number"},
        {"'model_type':'llama','rope_theta':-1", "the base of the rotary embedding is -1"},
        {"'model_type':'llama','tie_word_embeddings':1",
         "the value of 'tie_word_embeddings' is not true or false"},
        {"'model_type':'llama','eos_token_id':96",
         "the value of 'eos_token_id' is not a whole number between -1 and 95"},
        {"'model_type':'llama','eos_token_id':[]",
         "the value of 'eos_token_id' is not a list of tokens"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spec_model_config config;
        spec_error error = {""};
        assert_int_equal(read_config(&config, cases[i][0], &error), GSL_EINVAL);
        assert_memory_equal(error.text, "config.json: ", 13);
        if (strstr(error.text, cases[i][1]) == NULL)
            fail_msg("'%s' lacks '%s'", error.text, cases[i][1]);
        assert_null(config.rope_factor);
    }
}

static void values_that_a_model_needs_are_asked_for(void **state)
{
    (void)state;
    spec_model_config config;
    spec_error error = {""};
    json_t *root = json_pack("{s:s,s:i}", "model_type", "llama", "hidden_size", 8);
    const spec_json_values values = {"config.json", root, &error};
    assert_int_equal(spec_model_config_read(&config, &values), GSL_EINVAL);
    assert_string_equal(error.text, "config.json: lacks the value of 'num_hidden_layers'");
    json_object_set_new(root, "num_hidden_layers", json_integer(100000));
    assert_int_equal(spec_model_config_read(&config, &values), GSL_EINVAL);
    assert_non_null(strstr(error.text, "'num_hidden_layers' is not a whole number between 1 and"));
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_transformers),
        cmocka_unit_test(values_replace_the_defaults),
        cmocka_unit_test(a_window_in_effect_cuts_the_context),
        cmocka_unit_test(ropes_are_scaled_as_in_transformers),
        cmocka_unit_test(configs_that_are_not_computed_are_refused),
        cmocka_unit_test(values_that_a_model_needs_are_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
