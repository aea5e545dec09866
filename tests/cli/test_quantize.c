/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab quantize as its users run it, and invalid weight files at each verb that opens them.
 * SPECLAB names the program. */
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A checkpoint of llama2.c: one layer of two heads, 8 tokens, 16 positions. */
static void write_wide_model(const char *name, int dim, int ffn)
{
    const int head[] = {dim, ffn, 1, 2, 1, 8, 16};
    const int n = 8 * dim + 2 * dim + 3 * dim * dim + 3 * ffn * dim + dim + 16 * dim / 2;
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    fwrite(head, sizeof head, 1, file);
    for (int i = 0; i < n; i++)
        fwrite(&(float){(float)(i * 37 % 101) / 101.0f - 0.49f}, sizeof(float), 1, file);
    assert_int_equal(fclose(file), 0);
}

static void write_model(const char *name)
{
    write_wide_model(name, 32, 40);
}

TEST(a_model_is_written_and_a_table_says_how)
{
    spec_child c;
    spec_needs_program();
    write_model("m.bin");
    spec_child_run(&c, "quantize m.bin m.gguf");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(
        c.text, "from,to,tensors,weights,bytes_before,bytes_after,ratio,error_rms,error_max\n"));
    assert_non_null(
        strstr(c.text, "f32,f32,4,1376,5504,5504,1,0,0\n")); /* three norms, and rows of 40 */
    assert_non_null(strstr(c.text, "f32,q8_0,7,5888,23552,6256,0.265625,"));
    assert_non_null(strstr(c.text, "all,all,11,7264,29056,11760,0.4047356828,"));
    spec_child_free(&c);
    spec_program_prints("quantize gguf:m.gguf again.gguf --type f32 --format json", 0,
                        "\"from\": \"q8_0\", \"to\": \"f32\", \"tensors\": 7");
    spec_program_works("quantize again.gguf once.gguf --type q8_0 --threads 1");
    spec_program_works("quantize again.gguf more.gguf --type q8_0 --threads 3");
    spec_files_same("once.gguf", "more.gguf");
    spec_program_works("quantize m.bin?end=3&context=8 alone.gguf --type bf16 -o table.csv");
    spec_program_works("quantize llama2c:m.bin?end=3&context=8 spec.gguf --type bf16 -o table.csv");
    spec_files_same("alone.gguf", "spec.gguf");
    char *table = spec_file_bytes("table.csv");
    assert_non_null(strstr(table, "all,all,"));
    free(table);
}

/* The width is 256, so that K-quants fit; the embedding is tied, and the only layer gets more
 * bits. */
TEST(a_mixture_is_written_and_kept)
{
    spec_child c;
    spec_needs_program();
    write_wide_model("w.bin", 256, 256);
    spec_child_run(&c, "quantize w.bin w.gguf --type Q4_K_M --threads 1");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.text, "f32,q4_k,5,")); /* query, key, output, gate, up */
    assert_non_null(strstr(c.text, "f32,q6_k,3,")); /* embedding, value, down */
    spec_child_free(&c);
    spec_program_works("quantize w.bin w3.gguf --type q4_k_m --threads 3");
    spec_files_same("w.gguf", "w3.gguf");
    spec_program_prints("quantize w.gguf again.gguf --type q4_K_M", 0,
                        "q4_k,q4_k,5,294912,165888,165888,1,0,0\n",
                        "q6_k,q6_k,3,100352,82320,82320,1,0,0\n");
    spec_files_same("w.gguf", "again.gguf");
}

TEST(a_table_that_cannot_be_written_is_said_in_one_line)
{
    spec_needs_program();
    if (access("/dev/full", W_OK) != 0) skip();
    write_model("m.bin");
    spec_program_fails("quantize m.bin out.gguf -o /dev/full", 2,
                       "speclab quantize: /dev/full: cannot write the result: No space left");
}

/* A sparse file of 128 GB is refused for what its header says, and so is one that claims 64 GB by
 * its length. */
TEST(hostile_files_end_within_a_second_of_processor_time)
{
    spec_needs_program();
    const int absurd[] = {65536, 65536, 512, 256, 256, -1048576, 1048576};
    FILE *file = fopen("claims.bin", "wb");
    fwrite(absurd, sizeof absurd, 1, file);
    fclose(file);
    file = fopen("sparse.bin", "wb");
    fclose(file);
    assert_int_equal(truncate("sparse.bin", (off_t)128 << 30), 0);
    assert_int_equal(mkfifo("pipe.bin", 0600), 0);
    static const char *const line[][2] = {
        {"generate --plain --target llama2c:claims.bin",
         "claims.bin: has 28 bytes where a llama2.c checkpoint with its "
         "header has 62"},
        {"generate --plain --target llama2c:sparse.bin",
         "sparse.bin: not a llama2.c checkpoint: the embedding's width is 0"},
        {"generate --plain --target gguf:sparse.bin", "sparse.bin: is not a GGUF file"},
        {"generate --plain --target gguf:pipe.bin", "pipe.bin: is not a regular file"},
        {"generate --plain --target gguf:/dev/zero", "/dev/zero: is not a regular file"},
    };
    for (size_t i = 0; i < sizeof line / sizeof line[0]; i++) {
        char wanted[256];
        snprintf(wanted, sizeof wanted, "speclab generate: --target: %s", line[i][1]);
        const double before = spec_children_seconds();
        spec_program_fails(line[i][0], 2, wanted);
        assert_true(spec_children_seconds() - before < 1.0);
    }
}

/* The seed file has weights of two types that can only be read, and of three K-quants. */
TEST(weights_in_other_types_are_converted_and_a_line_says_so)
{
    char seed[PATH_MAX + 64], arguments[PATH_MAX + 128];
    spec_child c;
    spec_needs_program();
    snprintf(seed, sizeof seed, "%s/tests/fuzz/seeds/gguf/k_quants", spec_folder_before);
    if (access(seed, R_OK) != 0) {
        printf("skipped: %s: not run from the source tree\n", __func__);
        skip();
    }
    snprintf(arguments, sizeof arguments, "generate --target gguf:%s --plain -n 2", seed);
    spec_child_run(&c, arguments);
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.line, "speclab generate: --target: weights of type q5_0, iq4_nl are "
                                   "computed as q8_0, in 1.7 times the bytes\n"));
    spec_child_free(&c);
    snprintf(arguments, sizeof arguments, "quantize %s out.gguf --type q8_0", seed);
    spec_program_prints(arguments, 0, "\nq6_k,q8_0,1,512,420,544,1.295238095,");
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
