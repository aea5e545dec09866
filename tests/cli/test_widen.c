/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab widen as its users run it. SPECLAB names the program. */
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <string.h>

/* A checkpoint of llama2.c: width 32, feed-forward width 40, one layer of two heads that share
 * keys and values, 8 tokens, 16 positions. */
static void write_model(void)
{
    const int head[] = {32, 40, 1, 2, 1, 8, 16};
    const int n = 8 * 32 + 2 * 32 + 2 * 32 * 32 + 2 * 16 * 32 + 3 * 40 * 32 + 32 + 16 * 16;
    FILE *file = fopen("m.bin", "wb");
    assert_non_null(file);
    fwrite(head, sizeof head, 1, file);
    for (int i = 0; i < n; i++)
        fwrite(&(float){(float)(i * 37 % 101) / 101.0f - 0.49f}, sizeof(float), 1, file);
    assert_int_equal(fclose(file), 0);
}

TEST(a_wider_model_writes_the_same_text)
{
    spec_needs_program();
    write_model();
    spec_program_prints("widen m.bin --by 16 -o wide.gguf --format csv", 0,
                        "model,dim,heads,kv_heads,ffn,weights,bytes\n"
                        "m.bin,32,2,1,40,7264,29056\n"
                        "wide.gguf,512,32,16,640,1775104,7100416\n");
    spec_program_works("widen wide.gguf -o wider.gguf");
    spec_program_works("widen m.bin --by 64 -o same.gguf");
    spec_files_same("wider.gguf", "same.gguf");
    spec_programs_agree("generate --target m.bin --plain --temperature 0 -n 12",
                        "generate --target wide.gguf --plain --temperature 0 -n 12");
}

/* A quantized model is widened in its type. */
TEST(types_are_kept)
{
    spec_needs_program();
    write_model();
    spec_program_works("quantize m.bin q.gguf --type q8_0");
    spec_program_works("widen q.gguf -o w.gguf");
    spec_programs_agree("generate --target q.gguf --plain --temperature 0 -n 12",
                        "generate --target w.gguf --plain --temperature 0 -n 12");
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
