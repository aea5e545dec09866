/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/conversion.h"

#include "base/parallel.h"
#include "base/stop_flag.h"
#include "models/transformer/files/checkpoint_parts.h"
#include "models/transformer/files/gguf.h"
#include "models/transformer/files/gguf_attention.h"
#include "models/transformer/files/gguf_model.h"
#include "models/transformer/files/gguf_nextn.h"
#include "models/transformer/files/gguf_value.h"
#include "models/transformer/files/gguf_writer.h"
#include "models/transformer/files/llama2c_vocabulary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK_BYTES = 1 << 22, QUANTISATION_VERSION = 2 };

/* The quantisation error of one row. */
typedef struct {
    double squared_error, squared, largest_error, largest;
} row_loss;

/* A file being written. */
typedef struct {
    const char *path;
    const spec_type_recipe *recipe;
    spec_checkpoint model;
    spec_gguf_writer writer;
    spec_conversion_watch watch;
    spec_error *error;
} conversion;

/* ---- tensors --------------------------------------------------------------------------------- */

static void write_row(unsigned char *ret_data, row_loss *ret_loss, spec_tensor_type type,
                      const spec_tensor *tensor, int row, float *value, float *back)
{
    *ret_loss = (row_loss){0};
    spec_tensor_convert_row(ret_data, type, tensor, row, value);
    spec_tensor_decode_row(value, tensor, row);
    spec_tensor_decode_row(back, &(spec_tensor){type, 1, tensor->cols, ret_data}, 0);
    for (int i = 0; i < tensor->cols; i++) {
        const double error = fabs((double)back[i] - (double)value[i]),
                     weight = fabs((double)value[i]);
        ret_loss->squared_error += error * error;
        ret_loss->squared += weight * weight;
        if (error > ret_loss->largest_error) ret_loss->largest_error = error;
        if (weight > ret_loss->largest) ret_loss->largest = weight;
    }
    /* A scale may be finite and still too large for readers. */
    if (spec_tensor_first_bad_row(&(spec_tensor){type, 1, tensor->cols, ret_data}, NULL) >= 0)
        ret_loss->squared_error = INFINITY;
}

/* Converts rows first, first + 1, ... of a tensor to another type; each worker has two rows of
 * floats. */
typedef struct {
    unsigned char *data;
    row_loss *loss;
    spec_tensor_type type;
    const spec_tensor *tensor;
    int first;
    float *floats; /* (workers, 2, cols) */
} row_job;

static void write_one(void *self, uint64_t i, int worker)
{
    const row_job *j = self;
    const size_t cols = (size_t)j->tensor->cols,
                 bytes = spec_tensor_row_bytes(j->type, j->tensor->cols);
    float *value = j->floats + 2 * cols * (size_t)worker;
    write_row(j->data + (size_t)i * bytes, &j->loss[i], j->type, j->tensor, j->first + (int)i,
              value, value + cols);
}

static int write_tensor(conversion *to, row_loss *ret_loss, spec_tensor_type type,
                        const spec_tensor *tensor)
{
    int status = GSL_SUCCESS;
    const size_t bytes = spec_tensor_row_bytes(type, tensor->cols), cols = (size_t)tensor->cols;
    const size_t rows = (size_t)tensor->rows, chunk = bytes < CHUNK_BYTES ? CHUNK_BYTES / bytes : 1;
    const size_t most = rows < chunk ? rows : chunk;
    spec_thread_pool *pool = to->watch.opt_pool;
    const int workers = spec_thread_pool_size(pool);
    unsigned char *data = malloc(most * bytes);
    row_loss *loss = malloc(most * sizeof *loss);
    float *floats = malloc((size_t)workers * 2 * cols * sizeof *floats);
    *ret_loss = (row_loss){0};
    if (data == NULL || loss == NULL || floats == NULL)
        SPEC_TRY(spec_fail(to->error, GSL_ENOMEM, "%.300s: out of memory", to->path));
    for (int row = 0; row < tensor->rows; row += (int)most) {
        const int n = (size_t)(tensor->rows - row) < most ? tensor->rows - row : (int)most;
        spec_parallel_run(pool, write_one, &(row_job){data, loss, type, tensor, row, floats},
                          (uint64_t)n, workers);
        spec_gguf_writer_data(&to->writer, data, (size_t)n * bytes);
        for (int i = 0; i < n; i++) { /* in the order of rows, for any number of threads */
            ret_loss->squared_error += loss[i].squared_error;
            ret_loss->squared += loss[i].squared;
            ret_loss->largest_error = fmax(ret_loss->largest_error, loss[i].largest_error);
            ret_loss->largest = fmax(ret_loss->largest, loss[i].largest);
        }
        spec_listener_tell(to->watch.opt_listener,
                           (double)to->writer.written / (double)to->writer.offset);
        SPEC_TRY(spec_stop_check(to->watch.opt_stop, to->error));
    }
    SPEC_TRY(spec_gguf_writer_tensor_end(&to->writer, to->error));
done:
    free(data);
    free(loss);
    free(floats);
    return status;
}

static void count(spec_conversion_count *counted, const spec_tensor *tensor, spec_tensor_type after,
                  const row_loss *loss)
{
    const uint64_t rows = (uint64_t)tensor->rows;
    counted->tensors++;
    counted->weights += rows * (uint64_t)tensor->cols;
    counted->bytes_before += rows * spec_tensor_row_bytes(tensor->type, tensor->cols);
    counted->bytes_after += rows * spec_tensor_row_bytes(after, tensor->cols);
    counted->squared_error += loss->squared_error;
    counted->squared += loss->squared;
    if (loss->largest > 0.0)
        counted->error_max = fmax(counted->error_max, loss->largest_error / loss->largest);
}

/* Adds a tensor's name or, if opt_ret is given, writes its data. */
static int visit(conversion *to, spec_conversion *opt_ret, const char *name, spec_part part,
                 int layer, const spec_tensor *tensor)
{
    int status = GSL_SUCCESS;
    const spec_tensor_type after = spec_type_recipe_type_of(to->recipe, &to->model, part, layer);
    if (tensor->data == NULL) return status;
    if (opt_ret == NULL) {
        const int n = spec_checkpoint_parts_stacked(part) ? to->model.shape.n_experts : 1;
        spec_gguf_writer_stack(&to->writer, name, after, n, tensor->rows / n, tensor->cols);
        return status;
    }
    row_loss loss;
    SPEC_TRY(write_tensor(to, &loss, after, tensor));
    if (!isfinite(loss.squared_error))
        SPEC_TRY(spec_fail(to->error, GSL_EINVAL, "%.300s: %s has weights beyond the range of %s",
                           to->path, name, spec_tensor_type_names[after]));
    count(&opt_ret->count[tensor->type][after], tensor, after, &loss);
done:
    return status;
}

/* Visits all tensors, tied ones once: the model's, then those of its draft blocks. */
static int visit_all(conversion *to, spec_conversion *opt_ret)
{
    int status = GSL_SUCCESS;
    const spec_checkpoint *model = &to->model;
    char name[SPEC_PART_NAME_SIZE];
    for (int i = 0; i < SPEC_PARTS; i++) {
        const spec_part part = (spec_part)i;
        if (part == SPEC_PART_OUTPUT && model->output.data == model->embedding.data) continue;
        for (int layer = 0; layer < spec_checkpoint_parts_copies(part, &model->shape); layer++) {
            spec_checkpoint_parts_name(name, part, layer, model->opt_architecture);
            SPEC_TRY(visit(to, opt_ret, name, part, layer,
                           spec_checkpoint_parts_tensor_const(part, model, layer)));
        }
    }
    for (int i = 0; i < model->n_nextn * SPEC_NEXTN_TENSORS; i++) {
        const int block = i / SPEC_NEXTN_TENSORS;
        spec_part part;
        const spec_tensor *tensor =
            spec_gguf_nextn_tensor(name, &part, model, block, i % SPEC_NEXTN_TENSORS);
        SPEC_TRY(visit(to, opt_ret, name, part, model->shape.n_layers + block, tensor));
    }
done:
    return status;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void write_general(conversion *to)
{
    spec_gguf_writer_u32(&to->writer, "general.file_type", to->recipe->file_type);
    spec_gguf_writer_u32(&to->writer, "general.quantization_version", QUANTISATION_VERSION);
}

/* Copies all values of the file except those about its own types and layout. */
static void write_gguf_values(conversion *to, const spec_gguf *gguf)
{
    static const char *const own[] = {"general.file_type", "general.quantization_version",
                                      "general.alignment"};
    for (size_t i = 0; i < gguf->n_values; i++) {
        bool is_own = false;
        for (size_t k = 0; k < sizeof own / sizeof own[0]; k++)
            is_own = is_own || &gguf->value[i] == spec_gguf_value_find(gguf, own[k]);
        if (!is_own) spec_gguf_writer_value(&to->writer, &gguf->value[i]);
    }
}

static int write_llama2c_values(conversion *to, const spec_settings *settings)
{
    int status = GSL_SUCCESS;
    spec_llama2c_vocabulary vocabulary;
    SPEC_TRY(spec_llama2c_vocabulary_load(&vocabulary, settings->path,
                                          spec_settings_text(settings, "tokenizer"),
                                          to->model.shape.vocab, to->error));
    spec_gguf_model_shape(&to->writer, "llama", &to->model.shape);
    SPEC_TRY(spec_gguf_model_pieces(&to->writer, &to->model, &vocabulary.data, to->error));
done:
    spec_llama2c_vocabulary_free(&vocabulary);
    return status;
}

/* ---- the whole file -------------------------------------------------------------------------- */

static int refuse_itself(const char *path, const char *model_path, spec_error *error)
{
    struct stat out, in;
    if (stat(path, &out) != 0 || stat(model_path, &in) != 0 || out.st_dev != in.st_dev ||
        out.st_ino != in.st_ino)
        return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "%.300s: is the model's own file; use another name", path);
}

/* `opt_gguf` is the container of a GGUF model, NULL for llama2.c. */
static int write_all(spec_conversion *ret, conversion *to, const spec_settings *settings,
                     const spec_gguf *opt_gguf)
{
    int status = GSL_SUCCESS;
    const spec_gguf_tensor *factors = NULL;
    SPEC_TRY(spec_gguf_writer_init(&to->writer, to->error));
    if (opt_gguf != NULL) {
        write_gguf_values(to, opt_gguf);
        factors = spec_gguf_find_tensor(opt_gguf, SPEC_GGUF_ROPE_FACTORS);
    } else {
        SPEC_TRY(write_llama2c_values(to, settings));
    }
    write_general(to);
    SPEC_TRY(visit_all(to, NULL));
    if (factors != NULL)
        spec_gguf_writer_tensor(&to->writer, SPEC_GGUF_ROPE_FACTORS, SPEC_TENSOR_F32, 1,
                                factors->tensor.cols);
    SPEC_TRY(spec_gguf_writer_open(&to->writer, to->path, to->error));
    if (to->watch.opt_announce != NULL)
        SPEC_TRY(to->watch.opt_announce(to->watch.self, to->writer.offset, to->error));
    SPEC_TRY(visit_all(to, ret));
    if (factors != NULL) {
        row_loss none;
        SPEC_TRY(write_tensor(to, &none, SPEC_TENSOR_F32, &factors->tensor));
        count(&ret->count[SPEC_TENSOR_F32][SPEC_TENSOR_F32], &factors->tensor, SPEC_TENSOR_F32,
              &none);
    }
    SPEC_TRY(spec_gguf_writer_close(&to->writer, to->error));
    ret->kept = to->writer.file.kept;
done:
    return status;
}

int spec_conversion_write(spec_conversion *ret, const char *path, spec_settings *settings,
                          const spec_type_recipe *recipe, const spec_conversion_watch *opt_watch,
                          spec_error *error)
{
    int status = GSL_SUCCESS;
    const bool is_gguf = strcmp(settings->name, "gguf") == 0;
    conversion to = {.path = path, .recipe = recipe, .error = error};
    if (opt_watch != NULL) to.watch = *opt_watch;
    spec_gguf gguf = {0};
    *ret = (spec_conversion){0};
    SPEC_TRY(refuse_itself(path, settings->path, error));
    SPEC_TRY((is_gguf ? spec_checkpoint_load_gguf : spec_checkpoint_load_llama2c)(
        &to.model, settings, to.watch.opt_pool, error));
    if (is_gguf) SPEC_TRY(spec_gguf_init(&gguf, settings->path, error));
    SPEC_TRY(write_all(ret, &to, settings, is_gguf ? &gguf : NULL));
done:
    spec_gguf_writer_free(&to.writer);
    spec_gguf_free(&gguf);
    spec_checkpoint_free(&to.model);
    if (status != GSL_SUCCESS) *ret = (spec_conversion){0};
    return status;
}
