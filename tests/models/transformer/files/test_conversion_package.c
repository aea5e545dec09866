/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converted files are also read and written by llama.cpp's Python package. */
#include "tests/models/transformer/files/conversion_case.h"
#include "tests/support/support.h"

#include <stdlib.h>

/* Types that the Python package gguf writes. */
static const struct {
    spec_tensor_type type;
    const char *name;
} of_package[] = {{SPEC_TENSOR_F32, "F32"},   {SPEC_TENSOR_F16, "F16"},
                  {SPEC_TENSOR_BF16, "BF16"}, {SPEC_TENSOR_Q8_0, "Q8_0"},
                  {SPEC_TENSOR_Q4_0, "Q4_0"}, {SPEC_TENSOR_Q4_1, "Q4_1"},
                  {SPEC_TENSOR_Q5_0, "Q5_0"}, {SPEC_TENSOR_Q5_1, "Q5_1"}};
enum { PACKAGE_TYPES = sizeof of_package / sizeof of_package[0] };

/* The package reads the same names, shapes and types, and dequantises to the same weights. It
 * quantises the floats to our bytes. */
TEST(the_python_package_reads_the_same)
{
    static const char script[] =
        "import sys, numpy as np, gguf\n"
        "floats = {t.name: t for t in gguf.GGUFReader(sys.argv[1]).tensors}\n"
        "read = gguf.GGUFReader(sys.argv[2])\n"
        "assert read.fields['general.architecture'].contents() == 'llama'\n"
        "assert read.fields['tokenizer.ggml.tokens'].contents()[285] == '\\u2581'\n"
        "assert len(read.tensors) == len(floats)\n"
        "for t in read.tensors:\n"
        "    f = floats[t.name]\n"
        "    assert list(t.shape) == list(f.shape), t.name\n"
        "    assert t.tensor_type.name == (sys.argv[3] if f.data.ndim > 1 and t.shape[0] % 32 == 0 "
        "or "
        "f.data.ndim > 1 and sys.argv[3] in ('F16', 'BF16') else 'F32'), t.name\n"
        "    wanted = gguf.quants.quantize(np.array(f.data), t.tensor_type)\n"
        "    assert np.array_equal(np.asarray(t.data).view(np.uint8), wanted.view(np.uint8)), "
        "t.name\n";
    if (system("python3 -c 'import gguf' 2>/dev/null") != 0) {
        printf("skipped: %s: python3 has no package gguf\n", __func__);
        skip();
    }
    spec_conversion counted;
    const char *spec = spec_of("llama2c", "untied.bin");
    assert_int_equal(convert(&counted, in_folder("a.gguf"), spec, SPEC_TENSOR_F32, NULL),
                     GSL_SUCCESS);
    for (size_t i = 0; i < PACKAGE_TYPES; i++) {
        char command[4096];
        assert_int_equal(convert(&counted, in_folder("b.gguf"), spec, of_package[i].type, NULL),
                         GSL_SUCCESS);
        snprintf(command, sizeof command, "python3 - %s %s %s <<'END'\n%sEND\n",
                 in_folder("a.gguf"), in_folder("b.gguf"), of_package[i].name, script);
        assert_int_equal(system(command), 0);
    }
}

/* From the floats of our file the package writes files that we read as the same model. */
TEST(the_python_package_writes_the_same)
{
    static const char script[] =
        "import sys, numpy as np, gguf\n"
        "read = gguf.GGUFReader(sys.argv[1])\n"
        "out = gguf.GGUFWriter(sys.argv[2], 'llama')\n"
        "for name, field in read.fields.items():\n"
        "    if name.startswith('GGUF.') or name == 'general.architecture': continue\n"
        "    kind, item = field.types[0], field.types[-1]\n"
        "    if kind == gguf.GGUFValueType.ARRAY: out.add_key_value(name, field.contents(), kind, "
        "item)\n"
        "    else: out.add_key_value(name, field.contents(), kind)\n"
        "type = gguf.GGMLQuantizationType[sys.argv[3]]\n"
        "for t in read.tensors:\n"
        "    data = np.array(t.data)\n"
        "    if data.ndim == 1 or t.shape[0] % 32 != 0 and sys.argv[3][0] == 'Q': "
        "out.add_tensor(t.name, data)\n"
        "    else: out.add_tensor(t.name, gguf.quants.quantize(data, type), raw_dtype=type)\n"
        "out.write_header_to_file(); out.write_kv_data_to_file(); out.write_tensors_to_file(); "
        "out.close()\n";
    if (system("python3 -c 'import gguf' 2>/dev/null") != 0) {
        printf("skipped: %s: python3 has no package gguf\n", __func__);
        skip();
    }
    spec_conversion counted;
    spec_checkpoint before, after;
    const char *spec = spec_of("llama2c", "tied.bin");
    assert_int_equal(convert(&counted, in_folder("a.gguf"), spec, SPEC_TENSOR_F32, NULL),
                     GSL_SUCCESS);
    load(&before, spec);
    for (size_t i = 0; i < PACKAGE_TYPES; i++) {
        char command[4096];
        snprintf(command, sizeof command, "python3 - %s %s %s <<'END'\n%sEND\n",
                 in_folder("a.gguf"), in_folder("b.gguf"), of_package[i].name, script);
        assert_int_equal(system(command), 0);
        load(&after, spec_of("gguf", "b.gguf"));
        assert_same_model(&before, &after, of_package[i].type);
        spec_checkpoint_free(&after);
    }
    spec_checkpoint_free(&before);
}

SUITE(.setup = make_models, .teardown = remove_models);
