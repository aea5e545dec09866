/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the chat template in each of its places in a folder. */
#include "models/import/chat_template.h"

#include "tests/support/folder.h"
#include "tests/support/hf_folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* `config`: tokenizer_config.json, or NULL; expected NULL: no template. */
static void assert_template(const char *config, const char *expected)
{
    json_t *root = config != NULL ? json_loads(config, 0, NULL) : NULL;
    char *text;
    assert_works(spec_chat_template_read(&text, "hf", root, &error));
    if (expected == NULL)
        assert_null(text);
    else
        assert_string_equal(text, expected);
    free(text);
    json_decref(root);
}

TEST(a_template_has_several_places)
{
    static const char one[] = "{\"chat_template\":\"{{ a }}\"}",
                      several[] = "{\"chat_template\":[{\"name\":\"rag\",\"template\":\"r\"},"
                                  "{\"name\":\"default\",\"template\":\"d\"}]}",
                      none_default[] =
                          "{\"chat_template\":[{\"name\":\"rag\",\"template\":\"r\"}]}";
    mkdir("hf", 0700);
    assert_template(NULL, NULL);
    assert_template("{}", NULL);
    assert_template("{\"chat_template\":3}", NULL);
    assert_template(one, "{{ a }}");
    assert_template(several, "d");
    assert_template(none_default, NULL);
    spec_hf_folder_text("hf/chat_template.json", "{'chat_template':'of its file'}");
    assert_template(NULL, "of its file");
    assert_template(one, "{{ a }}");
    spec_hf_folder_text("hf/chat_template.jinja", "{%- jinja %}\n");
    assert_template(one, "{%- jinja %}\n");
}

TEST(files_that_are_no_template_are_refused)
{
    spec_error error = {""};
    char *text;
    mkdir("hf", 0700);
    unlink("hf/chat_template.jinja");
    spec_hf_folder_text("hf/chat_template.json", "[");
    assert_int_equal(spec_chat_template_read(&text, "hf", NULL, &error), GSL_EINVAL);
    assert_memory_equal(error.text, "hf/chat_template.json: is not valid JSON", 40);
    assert_null(text);
    FILE *out = fopen("hf/chat_template.jinja", "wb");
    assert_non_null(out);
    for (int i = 0; i <= 4 << 20; i++) fputc('a', out);
    assert_int_equal(fclose(out), 0);
    assert_fails_with(spec_chat_template_read(&text, "hf", NULL, &error), GSL_EINVAL,
                      "hf/chat_template.jinja");
    assert_null(text);
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
