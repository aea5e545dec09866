/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measures how much memory a loaded model takes besides its file: pages that Linux counts, not
 * time. */
#include "models/transformer/files/architecture.h"
#include "models/transformer/files/gguf_model.h"
#include "tests/support/folder.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

#include <sys/stat.h>

#define FILE_NAME "model.gguf"

#if !defined __SANITIZE_ADDRESS__ &&                                                               \
    !defined __SANITIZE_THREAD__ /* sanitizers need memory of their own */

typedef struct {
    spec_tensor_type most, some; /* types of matrices; `some`: of the values and the output */
    int n_layers;
} model_kind;

static spec_tensor_type type_of(const model_kind *kind, spec_part part)
{
    if (spec_checkpoint_parts_is_vector(part)) return SPEC_TENSOR_F32;
    return part == SPEC_PART_VALUE || part == SPEC_PART_OUTPUT ? kind->some : kind->most;
}

/* Writes a file with zeros as weights. Its matrices have 0.2 to 8 MB, so that some are smaller than
 * a large page. Returns its size. */
static double write_model(const model_kind *kind)
{
    static const char zeros[1 << 14];
    OWNED(spec_gguf_writer) writer;
    const spec_shape shape = {.dim = 768,
                              .n_layers = kind->n_layers,
                              .n_heads = 12,
                              .n_kv_heads = 4,
                              .head_dim = 64,
                              .ffn_dim = 2048,
                              .vocab = 10000,
                              .context = 64,
                              .norm_eps = 1e-5f,
                              .rope.base = 10000.0};
    const spec_checkpoint model = {.shape = shape};
    assert_works(spec_gguf_writer_init(&writer, &error));
    spec_gguf_model_shape(&writer, "llama", &shape);
    assert_works(spec_gguf_model_pieces(&writer, &model, &(spec_tokenizer_data){0}, &error));
    for (int data = 0; data < 2; data++) {
        if (data) assert_works(spec_gguf_writer_open(&writer, FILE_NAME, &error));
        for (int part = 0; part < SPEC_PARTS; part++) {
            if (part != SPEC_PART_OUTPUT &&
                !spec_architecture_must(spec_architectures, (spec_part)part))
                continue;
            const int copies = spec_checkpoint_parts_copies((spec_part)part, &shape);
            const spec_tensor_type type = type_of(kind, (spec_part)part);
            for (int layer = 0; layer < copies; layer++) {
                char name[SPEC_PART_NAME_SIZE];
                int rows, cols;
                spec_checkpoint_parts_shape(&rows, &cols, (spec_part)part, &shape);
                spec_checkpoint_parts_name(name, (spec_part)part, layer, NULL);
                if (!data) spec_gguf_writer_tensor(&writer, name, type, rows, cols);
                for (int row = 0; data && row < rows; row++)
                    spec_gguf_writer_data(&writer, zeros, spec_tensor_row_bytes(type, cols));
                if (data) assert_works(spec_gguf_writer_tensor_end(&writer, &error));
            }
        }
    }
    assert_works(spec_gguf_writer_close(&writer, &error));
    struct stat info;
    assert_int_equal(stat(FILE_NAME, &info), 0);
    return (double)info.st_size;
}

/* Returns the bytes of a line of /proc/self/status, such as "VmRSS:". */
static double status_bytes(const char *name)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[200];
    double kilobytes = -1.0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0) kilobytes = atof(line + strlen(name));
    fclose(file);
    return 1024.0 * kilobytes;
}

/* Resets the peak of the memory to what the process has now. */
static bool forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file == NULL) return false;
    const bool written = fputs("5", file) >= 0;
    return fclose(file) == 0 && written;
}

TEST(a_model_takes_the_memory_of_its_file, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    const model_kind kinds[] = {{SPEC_TENSOR_Q8_0, SPEC_TENSOR_Q8_0, 12},
                                {SPEC_TENSOR_Q4_K, SPEC_TENSOR_Q6_K, 20},
                                {SPEC_TENSOR_F16, SPEC_TENSOR_F16, 6}};
    if (getenv("RUNNER") != NULL) skip(); /* an emulator translates code into the same memory */
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const double size = write_model(&kinds[i]), before = status_bytes("VmRSS:");
        if (before < 0.0 || !forget_peak()) skip();
        OWNED_MODEL *model = model_of(FILE_NAME, NULL);
        assert_works(spec_model_load(model, NULL, &error));
        const double after = status_bytes("VmRSS:") - before,
                     peak = status_bytes("VmHWM:") - before;
        /* Less would mean that weights are missing, as if the file were still to be read. */
        if (after < 0.95 * size || after > 1.05 * size || peak > 1.1 * size)
            fail_msg("%s: %.3f times the file of %.0f MB, %.3f while it loaded",
                     spec_tensor_type_names[kinds[i].most], after / size, size * 1e-6, peak / size);
    }
}

#endif

SUITE();
