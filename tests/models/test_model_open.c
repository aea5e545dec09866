/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_open.h"

#include "models/transformer/files/gguf_writer.h"
#include "tests/models/open_model.h"
#include "tests/support/support.h"

#include <unistd.h>

static char path[] = "/tmp/speclab-open-XXXXXX.gguf";

static int make_file(void **state)
{
    (void)state;
    const int descriptor = mkstemps(path, 5);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* Writes a file with one useless tensor; `key` has a text, or the number 3 if the text is NULL. */
static void write_file(const char *architecture, const char *key, const char *opt_text)
{
    OWNED(spec_gguf_writer) writer;
    const float weight = 0.0f;
    unlink(path);
    assert_works(spec_gguf_writer_init(&writer, &error));
    spec_gguf_writer_text(&writer, "general.architecture", architecture);
    if (opt_text != NULL) spec_gguf_writer_text(&writer, key, opt_text);
    if (opt_text == NULL) spec_gguf_writer_u32(&writer, key, 3);
    spec_gguf_writer_tensor(&writer, "x", SPEC_TENSOR_F32, 1, 1);
    assert_works(spec_gguf_writer_open(&writer, path, &error));
    spec_gguf_writer_data(&writer, &weight, sizeof weight);
    assert_works(spec_gguf_writer_tensor_end(&writer, &error));
    assert_works(spec_gguf_writer_close(&writer, &error));
}

TEST(a_gguf_file_says_what_kind_it_is)
{
    static const struct {
        const char *architecture, *key, *opt_text, *kind;
    } cases[] = {
        {"qwen3", "x", "x", "gguf"},
        {"eagle3", "x", "x", "eagle3"},
        {"dflash", "x", "x", "dflash"},
        {"speclab-head", "speclab.head", "hydra", "hydra"},
        {"qwen3", "qwen3.nextn_predict_layers", NULL, "mtp"},
        {"qwen3", "llama.nextn_predict_layers", NULL, "gguf"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(cases[i].architecture, cases[i].key, cases[i].opt_text);
        assert_string_equal(spec_model_open_kind(path)->name, cases[i].kind);
    }
}

TEST(a_gguf_file_cannot_claim_to_be_another_kind)
{
    static const char *const claims[] = {"ngram", "zipf", "layers", "no-such-kind", ""};
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        write_file("speclab-head", "speclab.head", claims[i]);
        assert_string_equal(spec_model_open_kind(path)->name, "gguf");
        assert_refused(path, NULL, "is a draft head of kind");
    }
    write_file("speclab-head", "speclab.head", NULL);
    assert_string_equal(spec_model_open_kind(path)->name, "gguf");
    assert_refused(path, NULL, "'speclab.head' is not a text");
}

SUITE(.setup = make_file, .teardown = remove_file);
