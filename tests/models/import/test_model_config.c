/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads config.json: every value that is supported, and every one that is refused. */
#include "models/import/model_config.h"

#include "tests/support/hf_folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

#define MISTRAL "'model_type':'mistral','num_key_value_heads':2,"
#define MOE                                                                                        \
    "'model_type':'qwen3_moe','num_key_value_heads':2,'num_experts':6,'num_experts_per_tok':2,"    \
    "'moe_intermediate_size':20"
#define GPT                                                                                        \
    "'model_type':'gpt_oss','num_key_value_heads':2,'num_local_experts':6,"                        \
    "'num_experts_per_tok':2"
#define YARN                                                                                       \
    "'rope_scaling':{'rope_type':'yarn','factor':32.0,'beta_fast':32.0,'beta_slow':1.0,"           \
    "'original_max_position_embeddings':4096,'truncate':false}"
#define GEMMA "'model_type':'gemma3_text','num_key_value_heads':2,'head_dim':16"

/* Reads a config written with single quotes instead of double ones; `more` has further members. */
static int read_config(spec_model_config *ret, const char *more, spec_error *error)
{
    char text[1024];
    json_t *root;
    snprintf(text, sizeof text,
             "{'hidden_size':48,%s'num_attention_heads':4,'intermediate_size':80,'vocab_size':96,"
             "'max_position_embeddings':64%s%s}",
             strstr(more, "'num_hidden_layers'") == NULL ? "'num_hidden_layers':3," : "",
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
    assert_works(read_config(ret, more, &error));
}

TEST(defaults_are_those_of_transformers)
{
    OWNED(spec_model_config) config;
    reads(&config, "'model_type':'llama','num_key_value_heads':null,'rope_scaling':null");
    const spec_shape *s = &config.shape;
    assert_true(s->dim == 48 && s->n_layers == 3 && s->n_heads == 4 && s->ffn_dim == 80);
    assert_true(s->n_kv_heads == 4 && s->head_dim == 12 && s->vocab == 96 && s->context == 64);
    assert_true(s->norm_eps == 1e-6f && s->rope.base == 10000.0);
    assert_true(s->rope_pairs == SPEC_ROPE_HALVES && s->rope.opt_factor == NULL);
    assert_true(!config.has_biases && !config.is_tied && config.cut_window == 0);
    assert_true(config.begin_of_text == -1 && config.ends.n == 0);
}

TEST(values_replace_the_defaults)
{
    OWNED(spec_model_config) config;
    reads(&config, "'model_type':'qwen2','num_key_value_heads':2,'head_dim':16,'rms_norm_eps':1e-5,"
                   "'rope_theta':1000000,'tie_word_embeddings':true,'bos_token_id':1,"
                   "'eos_token_id':[7,8]");
    const spec_shape *s = &config.shape;
    assert_true(s->n_kv_heads == 2 && s->head_dim == 16 && s->norm_eps == 1e-5f);
    assert_true(s->rope.base == 1e6 && config.has_biases && config.is_tied);
    assert_true(config.begin_of_text == 1 && config.ends.n == 2 && config.ends.token[0] == 7);
    spec_model_config_free(&config);
    reads(&config, "'model_type':'llama','rope_parameters':{'rope_theta':500,'rope_type':"
                   "'default'}");
    assert_true(config.shape.rope.base == 500.0);
}

TEST(a_window_in_effect_cuts_the_context)
{
    static const struct {
        const char *more;
        int context, window;
    } cases[] = {
        {MISTRAL "'sliding_window':32", 32, 32},
        {MISTRAL "'sliding_window':64", 64, 0},
        {MISTRAL "'sliding_window':null", 64, 0},
        {"'model_type':'qwen2','sliding_window':32,'use_sliding_window':false", 64, 0},
        {"'model_type':'qwen2','sliding_window':32", 64, 0},
        {"'model_type':'qwen2','sliding_window':32,'use_sliding_window':true", 32, 32},
        {"'model_type':'qwen2','sliding_window':32,'use_sliding_window':true,'layer_types':["
         "'full_attention','full_attention','full_attention']",
         64, 0},
        {"'model_type':'qwen2','sliding_window':32,'use_sliding_window':true,'layer_types':["
         "'full_attention','full_attention','sliding_attention']",
         32, 32},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        OWNED(spec_model_config) config;
        reads(&config, cases[i].more);
        assert_int_equal(config.shape.context, cases[i].context);
        assert_int_equal(config.cut_window, cases[i].window);
    }
}

/* The factors of transformers 5.23 (ROPE_INIT_FUNCTIONS), for the shape of this file and for that
 * of Llama 3.2 1B. */
TEST(ropes_are_scaled_as_in_transformers)
{
    static const float small[] = {1.73594f, 8.0f, 8.0f, 8.0f, 8.0f, 8.0f};
    OWNED(spec_model_config) config;
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
}

/* The factors of transformers 5.24 for head_dim 64 and base 150000, and for those of this file. */
TEST(yarn_is_that_of_transformers)
{
    static const float middle[] = {1.0f,      1.1043f,   1.247749f, 1.434031f, 1.685695f, 2.044491f,
                                   2.597326f, 3.559942f, 5.656254f, 13.75752f, 32.0f},
                       rounded[] = {1.0f,     1.107266f, 1.24031f,  1.409692f, 1.632653f, 1.939394f,
                                    2.38806f, 3.106796f, 4.444444f, 7.804877f, 32.0f},
                       small[] = {1.0f, 4.0f / 3.0f, 2.0f, 4.0f, 4.0f, 4.0f};
    OWNED(spec_model_config) config;
    reads(&config, GPT ",'head_dim':64," YARN);
    for (int i = 0; i < 32; i++)
        assert_near((double)config.shape.rope.opt_factor[i],
                    (double)(i < 8    ? 1.0f
                             : i > 18 ? 32.0f
                                      : middle[i - 8]),
                    1e-5);
    assert_near((double)config.shape.rope.magnitude, 1.34657359, 1e-7);
    assert_true(config.shape.rope.yarn.factor == 32.0 && config.shape.rope.yarn.context == 4096);
    assert_true(config.shape.rope.yarn.fast == 32.0 && config.shape.rope.yarn.slow == 1.0);
    assert_true(config.shape.rope.yarn.keeps_fractions);
    assert_ptr_equal(config.shape.window_rope.opt_factor, config.shape.rope.opt_factor);
    spec_model_config_free(&config);
    reads(&config, "'model_type':'llama','head_dim':64,'rope_parameters':{'rope_theta':150000.0,"
                   "'rope_type':'yarn','factor':32.0,'original_max_position_embeddings':4096,"
                   "'attention_factor':1.3465735902799727}");
    for (int i = 8; i <= 18; i++)
        assert_near((double)config.shape.rope.opt_factor[i], (double)rounded[i - 8], 1e-5);
    assert_false(config.shape.rope.yarn.keeps_fractions);
    spec_model_config_free(&config);
    reads(&config, "'model_type':'llama','rope_theta':500.0,'rope_scaling':{'type':'yarn',"
                   "'factor':4.0,'original_max_position_embeddings':64}");
    for (int i = 0; i < 6; i++)
        assert_near((double)config.shape.rope.opt_factor[i], (double)small[i], 1e-5);
    spec_model_config_free(&config);
    reads(&config, "'model_type':'llama','rope_scaling':{'rope_type':'yarn','factor':4,"
                   "'attention_factor':0.27}");
    assert_near((double)config.shape.rope.magnitude, 0.27, 1e-7);
    spec_model_config_free(&config);
    reads(&config, "'model_type':'llama','rope_scaling':{'rope_type':'yarn','factor':4,"
                   "'mscale':1.5,'mscale_all_dim':0.8}");
    assert_near((double)config.shape.rope.magnitude, 1.20794415 / 1.11090355, 1e-7);
}

TEST(experts_are_read)
{
    OWNED(spec_model_config) config;
    reads(&config, MOE ",'norm_topk_prob':true,'head_dim':16");
    assert_string_equal(config.architecture->name, "qwen3moe");
    assert_true(config.shape.n_experts == 6 && config.shape.n_active == 2);
    assert_true(config.shape.expert_dim == 20 && config.shape.gate == SPEC_GATE_SILU);
    assert_true(!config.has_biases && !config.begins);
    spec_model_config_free(&config);
    reads(&config, GPT "," YARN);
    assert_string_equal(config.architecture->name, "gpt-oss");
    assert_true(config.shape.expert_dim == 80 && config.shape.gate == SPEC_GATE_CLAMPED);
    assert_true(config.shape.rope.base == 150000.0 && config.shape.norm_eps == 1e-5f);
    assert_true(config.has_biases && config.shape.head_dim == 64 && config.shape.window == 128);
    assert_true(config.has_window[0] && !config.has_window[1] && config.has_window[2]);
    spec_model_config_free(&config);
    reads(&config, GPT "," YARN ",'quantization_config':{'quant_method':'mxfp4'}");
}

TEST(windows_are_those_of_layers)
{
    OWNED(spec_model_config) config;
    reads(&config, GEMMA ",'num_hidden_layers':13,'sliding_window':8");
    assert_string_equal(config.architecture->name, "gemma3");
    for (int i = 0; i < 13; i++) assert_int_equal(config.has_window[i], i != 5 && i != 11);
    assert_true(config.shape.window == 8 && config.shape.context == 64 && config.cut_window == 0);
    assert_true(config.shape.rope.base == 1e6 && config.shape.window_rope.base == 1e4);
    assert_true(config.shape.gate == SPEC_GATE_GELU && config.gains_minus_one && config.is_tied);
    assert_near((double)config.shape.embedding_scale, sqrt(48.0), 1e-6);
    assert_near((double)config.shape.query_scale, 1.0 / 16.0, 1e-9); /* query_pre_attn_scalar 256 */
    spec_model_config_free(&config);
    reads(&config, GEMMA ",'num_hidden_layers':3,'sliding_window_pattern':2,"
                         "'query_pre_attn_scalar':16,'rope_theta':5e5,'rope_local_base_freq':3e3,"
                         "'rope_scaling':{'rope_type':'linear','factor':8.0}");
    assert_true(config.has_window[0] && !config.has_window[1] && config.has_window[2]);
    assert_true(config.shape.query_scale == 0.0f && config.shape.window == 4096);
    assert_true(config.shape.rope.base == 5e5 && config.shape.window_rope.base == 3e3);
    assert_true(config.shape.rope.opt_factor[3] == 8.0f);
    assert_null(config.shape.window_rope.opt_factor);
    spec_model_config_free(&config);
    reads(&config, GEMMA ",'layer_types':['full_attention','sliding_attention','full_attention'],"
                         "'rope_parameters':{'full_attention':{'rope_theta':7e5,'rope_type':"
                         "'linear','factor':2.0},'sliding_attention':{'rope_theta':2e3,"
                         "'rope_type':'default'}}");
    assert_true(!config.has_window[0] && config.has_window[1] && !config.has_window[2]);
    assert_true(config.shape.rope.base == 7e5 && config.shape.window_rope.base == 2e3);
    assert_true(config.shape.rope.opt_factor[0] == 2.0f);
    spec_model_config_free(&config);
    reads(&config, GEMMA ",'layer_types':['full_attention','full_attention','full_attention']");
    assert_int_equal(config.shape.window, 0);
}

/* Values that are missing in the part for text are taken from the whole file. */
TEST(a_text_model_beside_one_for_images_is_read)
{
    OWNED(spec_model_config) config;
    reads(&config, "'model_type':'gemma3','eos_token_id':[1,106],'text_config':{'model_type':"
                   "'gemma3_text','hidden_size':32,'num_hidden_layers':2,'intermediate_size':64,"
                   "'bos_token_id':2,'sliding_window':9}");
    const spec_shape *s = &config.shape;
    assert_true(s->dim == 32 && s->n_layers == 2 && s->ffn_dim == 64 && s->window == 9);
    assert_true(s->n_heads == 8 && s->n_kv_heads == 4 && s->head_dim == 256);
    assert_true(s->vocab == 262208 && s->context == 131072);
    assert_true(config.begin_of_text == 2 && config.ends.n == 2 && config.ends.token[0] == 1 &&
                config.is_tied);
}

#define HYBRID "'model_type':'qwen3_5_text','num_key_value_heads':2,"

TEST(a_hybrid_is_read)
{
    OWNED(spec_model_config) config;
    reads(&config, HYBRID "'full_attention_interval':3");
    const spec_delta_shape *s = &config.shape.delta;
    assert_true(s->n_layers == 2 && s->n_key_heads == 16 && s->n_value_heads == 32);
    assert_true(s->key_dim == 128 && s->value_dim == 128 && s->kernel == 4 && s->is_tiled);
    assert_true(config.is_recurrent[0] && config.is_recurrent[1] && !config.is_recurrent[2]);
    assert_true(config.shape.rotated == 64 && config.shape.gates_attention);
    assert_true(config.gains_minus_one);
}

TEST(configs_that_are_not_computed_are_refused)
{
    static const char *const cases[][2] = {
        {"",
         "model_type is ''; only llama, mistral, qwen2, qwen3, qwen3_moe, gemma3_text, gpt_oss, "
         "qwen3_next, qwen3_5_text and qwen3_5_moe_text"},
        {"'model_type':'gpt2'", "model_type is 'gpt2'; only llama, mistral, qwen2, qwen3, "},
        {"'model_type':'gemma3'", "key 'text_config' is missing"},
        {MOE, "'norm_topk_prob' is false; the weights of experts must sum to 1"},
        {MOE ",'norm_topk_prob':true,'decoder_sparse_step':2",
         "'decoder_sparse_step' gives some layers no experts"},
        {MOE ",'norm_topk_prob':true,'mlp_only_layers':[0]",
         "'mlp_only_layers' gives some layers no experts"},
        {GPT, "key 'rope_scaling' is missing"},
        {GPT "," YARN ",'swiglu_limit':6.0", "swiglu_limit is 6; only 7 is supported"},
        {GPT "," YARN ",'swiglu_alpha':1.0", "swiglu_alpha is 1; only 1.702 is supported"},
        {"'model_type':'gpt_oss','num_key_value_heads':2,'num_local_experts':6,"
         "'num_experts_per_tok':7," YARN,
         "the value of 'num_experts_per_tok' is not a whole number between 1 and 6"},
        {GPT "," YARN ",'quantization_config':{'quant_method':'fp8'}",
         "has a quantization_config; import the weights in F32, F16 or BF16"},
        {GPT "," YARN ",'layer_types':['full_attention']",
         "the value of 'layer_types' is not a list of a type for each layer"},
        {GPT "," YARN ",'layer_types':['full_attention','chunked_attention','full_attention']",
         "layer 1 is of type 'chunked_attention'; only full_attention and sliding_attention are"},
        {GPT "," YARN ",'sliding_window':0", "key 'sliding_window' is missing"},
        {GEMMA ",'hidden_activation':'gelu'", "hidden_act is 'gelu'; only gelu_pytorch_tanh is"},
        {GEMMA ",'final_logit_softcapping':30.0", "'final_logit_softcapping' is 30; soft caps"},
        {GEMMA ",'use_bidirectional_attention':true", "'use_bidirectional_attention' is true"},
        {GEMMA ",'rope_parameters':{'sliding_attention':{'rope_type':'linear','factor':2.0}}",
         "rope_scaling of type 'linear' in layers with a window is not supported"},
        {"'model_type':3", "the value of 'model_type' is not a text"},
        {"'model_type':'llama','hidden_act':'gelu'",
         "hidden_act is 'gelu'; only silu is supported"},
        {"'model_type':'llama','quantization_config':{}", "has a quantization_config"},
        {"'model_type':'llama','rope_scaling':{'rope_type':'dynamic','factor':4}",
         "rope_scaling of type 'dynamic' is not supported; linear, llama3 and yarn are"},
        {"'model_type':'llama','rope_scaling':{'rope_type':'yarn','factor':4,'beta_fast':1}",
         "YaRN with beta_fast 1 and beta_slow 1 is not possible: beta_slow must be above 0 and "
         "below beta_fast"},
        {"'model_type':'llama','rope_scaling':{'rope_type':'yarn','factor':4,"
         "'attention_factor':-1.0}",
         "a rope_scaling that multiplies queries and keys by -1 is not possible"},
        {"'model_type':'llama','rope_scaling':{'type':'linear','factor':0}",
         "rope_scaling by a factor of 0 is outside 1 to 1e6"},
        {"'model_type':'llama','rope_scaling':{'type':'llama3','factor':8,'low_freq_factor':4}",
         "a rope_scaling of low_freq_factor 4, high_freq_factor 4"},
        {"'model_type':'llama','rope_scaling':'linear'",
         "the value of 'rope_scaling' is not an object"},
        {"'model_type':'llama','partial_rotary_factor':0.5",
         "a rotary embedding of only a share 0.5 of each head is not supported"},
        {HYBRID "'layer_types':['full_attention']",
         "the value of 'layer_types' is not a list of a type for each layer"},
        {HYBRID "'layer_types':['full_attention','full_attention','mamba']",
         "layer 2 is of type 'mamba'; only full_attention and linear_attention are supported"},
        {HYBRID "'full_attention_interval':1", "none of the 3 layers is recurrent"},
        {HYBRID "'full_attention_interval':4",
         "the number of recurrent layers is 3, which is not between 1 and 2"},
        {HYBRID "'full_attention_interval':3,'linear_num_value_heads':24",
         "24 value heads cannot share 16 key heads evenly"},
        {HYBRID "'full_attention_interval':3,'linear_key_head_dim':257",
         "the value of 'linear_key_head_dim' is not a whole number between 1 and 256"},
        {HYBRID "'full_attention_interval':3,'partial_rotary_factor':0.005",
         "a rotary embedding of 1 of the 256 dimensions"},
        {"'model_type':'qwen3_5'", "key 'text_config' is missing"},
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

TEST(values_that_a_model_needs_are_asked_for)
{
    spec_model_config config;
    spec_error error = {""};
    json_t *root = json_pack("{s:s,s:i}", "model_type", "llama", "hidden_size", 8);
    const spec_json_values values = {"config.json", root, &error};
    assert_int_equal(spec_model_config_read(&config, &values), GSL_EINVAL);
    assert_string_equal(error.text, "config.json: key 'num_hidden_layers' is missing");
    json_object_set_new(root, "num_hidden_layers", json_integer(100000));
    assert_int_equal(spec_model_config_read(&config, &values), GSL_EINVAL);
    assert_non_null(strstr(error.text, "'num_hidden_layers' is not a whole number between 1 and"));
    json_decref(root);
}
