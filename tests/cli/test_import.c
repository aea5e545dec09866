/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab import as its users run it: a model, a head for it, and the lines about them. SPECLAB
 * names the program. */
#include "models/transformer/files/gguf.h"
#include "models/transformer/files/gguf_value.h"
#include "tests/cli/hf_model.h"
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_folders(void)
{
    spec_hf_file file = {0};
    assert_int_equal(system("rm -rf hf head && mkdir hf head"), 0);
    write_hf_model("hf");
    put(&file, "fc.weight", DIM, 3 * DIM);
    put_layer(&file, "midlayer.", 2 * DIM);
    put(&file, "midlayer.hidden_norm.weight", 1, DIM);
    put(&file, "norm.weight", 1, DIM);
    put(&file, "lm_head.weight", 3, DIM);
    const int64_t offset[] = {1, 1, 3};
    spec_hf_folder_put(&file, "d2t", "I64", 1, &(int){3}, offset, sizeof offset);
    spec_hf_folder_write(&file, "head/model.safetensors");
    spec_hf_folder_text("head/config.json", CONFIG("1", ""));
}

TEST(a_model_is_imported_and_writes_text)
{
    spec_child c;
    spec_needs_program();
    write_folders();
    spec_child_run(&c, "import hf -o m.gguf");
    assert_int_equal(c.code, 0);
    assert_string_equal(c.text, "kind,dim,layers,heads,kv_heads,ffn,vocab,context,vocabulary,taps\n"
                                "llama,8,9,2,2,12,6,32,none,\"\"\n");
    assert_string_equal(
        c.line, "speclab import: hf has no tokenizer.json: the file will have no vocabulary\n");
    spec_child_free(&c);
    spec_program_works("generate --target gguf:m.gguf -n 3");
    spec_program_works("import hf -o again.gguf --format json");
    spec_files_same("m.gguf", "again.gguf");
    spec_hf_folder_text("hf/tokenizer.json",
                        "{'model':{'type':'BPE','vocab':{'a':0,'b':1,'ab':2},'merges':['a b']},"
                        "'pre_tokenizer':{'type':'ByteLevel','add_prefix_space':false}}");
    spec_hf_folder_text("hf/config.json", CONFIG("9", ",'sliding_window':16"));
    spec_child_run(&c, "import hf -o text.gguf");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.text, "llama,8,9,2,2,12,6,16,gpt-2,"));
    assert_string_equal(
        c.line, "speclab import: the context is cut to 16 tokens, the model's attention window\n");
    spec_child_free(&c);
    spec_program_works("generate --target gguf:text.gguf -n 3 -p abab");
}

TEST(a_model_has_the_name_of_its_folder)
{
    static const struct {
        const char *folder, *name;
    } cases[] = {
        {"hf", "hf"}, {"tiny-2.5", "tiny-2.5"}, {"tiny-2.5//", "tiny-2.5"}, {"hf/.", NULL}};
    spec_needs_program();
    write_folders();
    assert_int_equal(symlink("hf", "tiny-2.5"), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[80];
        OWNED(spec_gguf) gguf;
        snprintf(command, sizeof command, "import %s -o named.gguf --force", cases[i].folder);
        spec_program_works(command);
        assert_works(spec_gguf_init(&gguf, "named.gguf", &error));
        const spec_gguf_value *value = spec_gguf_value_find(&gguf, "general.name");
        assert_true((value == NULL) == (cases[i].name == NULL));
        if (value == NULL) continue;
        spec_piece name;
        assert_works(spec_gguf_value_text(&name, &gguf, "general.name", "", &error));
        assert_int_equal(name.length, strlen(cases[i].name));
        assert_memory_equal(name.bytes, cases[i].name, name.length);
    }
}

TEST(a_head_is_imported_for_its_target)
{
    spec_child c;
    spec_needs_program();
    write_folders();
    spec_program_works("import hf -o m.gguf");
    spec_child_run(&c, "import head --target gguf:m.gguf -o head.gguf");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.text, "\neagle3,8,1,2,2,12,3,32,the target's,2 4 6\n"));
    assert_string_equal(c.line,
                        "speclab import: taps after layers 2, 4 and 6: the usual ones, since "
                        "config.json names none; with other taps than in training the acceptance "
                        "rate is low\n");
    spec_child_free(&c);
    spec_hf_folder_text(
        "head/config.json",
        CONFIG("1", ",'eagle_config':{'eagle_aux_hidden_state_layer_ids':[1,3,7]}"));
    spec_child_run(&c, "import head --target gguf:m.gguf -o head.gguf --force");
    assert_non_null(strstr(c.text, ",2 4 8\n"));
    assert_string_equal(c.line,
                        "speclab import: taps after layers 2, 4 and 8: the outputs of the layers "
                        "that config.json lists; with other taps than in training the acceptance "
                        "rate is low\n");
    spec_child_free(&c);
    spec_program_prints("import head --target gguf:m.gguf -o head.gguf --force --taps 1,3,7", 0,
                        ",1 3 7\n");
    spec_program_fails("import head -o x.gguf", 2,
                       "speclab import: head: is a draft head (eagle3): name the model that it is "
                       "for, --target gguf:model.gguf");
    spec_program_fails("import hf --target gguf:m.gguf -o x.gguf", 2,
                       "speclab import: hf: its tensors are not those of a draft head");
    spec_program_fails("import head --target gguf:head.gguf -o x.gguf", 2,
                       "speclab import: --target: ");
    assert_int_not_equal(access("x.gguf", F_OK), 0);
}

/* Each error line says what to do instead. */
TEST(folders_that_cannot_be_read_are_one_line)
{
    spec_needs_program();
    write_folders();
    assert_int_equal(rename("hf/model.safetensors", "hf/pytorch_model.bin"), 0);
    spec_program_fails(
        "import hf -o x.gguf", 2,
        "speclab import: hf: pytorch_model.bin is pickled, which is not supported: type "
        "python3 -c 'import sys, torch");
    assert_int_equal(rename("hf/pytorch_model.bin", "hf/model.safetensors"), 0);
    spec_hf_folder_text("hf/tokenizer.json", "{'model':{'type':'Unigram'}}");
    spec_program_fails("import hf -o x.gguf", 2,
                       "speclab import: hf/tokenizer.json: its model 'Unigram' is not plain BPE; "
                       "move the file away to import without a vocabulary");
    unlink("hf/tokenizer.json");
    assert_int_equal(truncate("hf/model.safetensors", 5000), 0);
    spec_program_fails("import hf -o x.gguf", 2,
                       "speclab import: hf/model.safetensors: is cut short");
    assert_int_not_equal(access("x.gguf", F_OK), 0);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
