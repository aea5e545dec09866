/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/input_file.h"
#include "models/model_kinds.h"
#include "models/row.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The largest size of one number, in bytes; a file has V numbers of about 25 bytes. */
enum { NUMBER_MAX = 64 };

static const char blanks[] = " \t\r\n", separators[] = " \t\r\n,";

/* ---- the numbers ----------------------------------------------------------------------------- */

/* A reader of numbers from `text`. Messages use `name` and, for a file, `line` (0: the numbers are
 * a list in the spec). */
typedef struct {
    const char *name, *text;
    int line;
} reader;

static void skip_blanks(reader *in)
{
    const size_t n = strspn(in->text, blanks);
    for (size_t i = 0; i < n; i++) in->line += in->line > 0 && in->text[i] == '\n';
    in->text += n;
}

static int fail_at(const reader *in, spec_error *error, const char *what, const char *piece)
{
    if (in->line > 0)
        return spec_fail(error, GSL_EINVAL, "%.160s:%d: %s '%.40s'", in->name, in->line, what,
                         piece);
    return spec_fail(error, GSL_EINVAL, "probs:%.80s: %s '%.40s'", in->name, what, piece);
}

/* Reads the next number; *ret_more is false at the end. Blanks or one comma separate numbers. */
static int next_number(double *ret_value, bool *ret_more, reader *in, bool first, spec_error *error)
{
    *ret_more = false;
    skip_blanks(in);
    if (!first && *in->text == ',') {
        in->text++;
        skip_blanks(in);
    } else if (*in->text == '\0') {
        return GSL_SUCCESS;
    }
    const size_t length = strcspn(in->text, separators);
    char piece[NUMBER_MAX + 1];
    snprintf(piece, sizeof piece, "%.*s", (int)(length < NUMBER_MAX ? length : NUMBER_MAX),
             in->text);
    if (length == 0) return fail_at(in, error, "a number is missing before", in->text);
    if (length > NUMBER_MAX || !spec_settings_parse_double(ret_value, piece)) {
        return fail_at(in, error, "not a finite number:", piece);
    }
    if (*ret_value < 0.0) return fail_at(in, error, "a negative probability:", piece);
    in->text += length;
    *ret_more = true;
    return GSL_SUCCESS;
}

/* Reads all numbers; counts them and, if opt_row is given, fills the row. */
static int read_numbers(int *ret_n, double *opt_row, reader in, spec_error *error)
{
    int status = GSL_SUCCESS, n = 0;
    for (;; n++) {
        double value;
        bool more;
        SPEC_TRY(next_number(&value, &more, &in, n == 0, error));
        if (!more) break;
        if (n == SPEC_VOCAB_MAX)
            SPEC_TRY(fail_at(&in, error, "more than 2^20 numbers, from", "here on"));
        if (opt_row != NULL) opt_row[n] = value;
    }
    if (n == 0) SPEC_TRY(spec_fail(error, GSL_EINVAL, "probs:%.160s contains no number", in.name));
done:
    *ret_n = status == GSL_SUCCESS ? n : 0;
    return status;
}

/* ---- sources of numbers ---------------------------------------------------------------------- */

static const spec_input_limit limit = {"a file of probabilities", 1 << 25};

static int load_file(char **ret_text, const char *path, spec_error *error)
{
    struct stat info;
    size_t n;
    *ret_text = NULL;
    if (stat(path, &info) != 0)
        return spec_fail(error, GSL_EINVAL, "probs:%.160s is neither a list of numbers nor a file",
                         path);
    if (!S_ISREG(info.st_mode))
        return spec_fail(error, GSL_EINVAL, "%.160s: not a regular file", path);
    return spec_input_file_read_text(ret_text, &n, path, &limit, error);
}

static int check_sum(double sum, int n, bool normalise, spec_error *error)
{
    if (!(sum <= 1e300))
        return spec_fail(error, GSL_EDOM, "probs: the %d numbers are too large to add up", n);
    if (sum == 0.0) return spec_fail(error, GSL_EDOM, "probs: the %d numbers sum to 0", n);
    if (!normalise && fabs(sum - 1.0) > 1e-6) {
        return spec_fail(
            error, GSL_EDOM,
            "probs: the %d numbers sum to %.9g, not to 1 (normalise=1 divides by the sum)", n, sum);
    }
    return GSL_SUCCESS;
}

/* ---- the model ------------------------------------------------------------------------------- */

typedef struct {
    spec_model head;
    double row[]; /* (1, V); at order 1 (V + 1, V): at the start of a text, then after each token */
} probs;

/* Finds V from V numbers, or at order 1 from V (V + 1) numbers. */
static int find_vocab(int *ret_vocab, int n, int order, spec_error *error)
{
    const int vocab = order == 0 ? n : (int)sqrt((double)n);
    *ret_vocab = vocab;
    if (order == 0 || vocab * (vocab + 1) == n) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "probs: order=1 needs V + 1 rows of V numbers, that is 2, 6, 12, 20, ... "
                     "numbers, not %d",
                     n);
}

static int open_probs(spec_model **ret_model, spec_settings *settings, const spec_model *opt_target,
                      spec_context *opt_context, spec_error *error)
{
    (void)opt_context;
    (void)opt_target;
    int status = GSL_SUCCESS, normalise, order, n, vocab;
    probs *model = NULL;
    char *file_text = NULL;

    const char *path = settings->path;
    const bool is_list = path[strspn(path, "0123456789+-.eE, \t")] == '\0';
    SPEC_TRY(spec_settings_int(&normalise, settings, "normalise", 0, 0, 1, error));
    SPEC_TRY(spec_settings_int(&order, settings, "order", 0, 0, 1, error));
    if (!is_list) SPEC_TRY(load_file(&file_text, path, error));
    const reader in = {.name = path, .text = is_list ? path : file_text, .line = is_list ? 0 : 1};
    SPEC_TRY(read_numbers(&n, NULL, in, error));
    SPEC_TRY(find_vocab(&vocab, n, order, error));
    model = calloc(1, sizeof *model + (size_t)n * sizeof model->row[0]);
    if (model == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "no memory for %d probabilities", n));
    SPEC_TRY(read_numbers(&n, model->row, in, error));
    for (double *row = model->row; row < model->row + n; row += vocab) {
        SPEC_TRY(check_sum(spec_row_sum(row, vocab), vocab, normalise == 1, error));
        spec_row_normalise(row, vocab);
    }
    model->head.vocab = vocab;
    model->head.order = order;
    *ret_model = &model->head;
    model = NULL;
done:
    free(model);
    free(file_text);
    return status;
}

static void close_probs(spec_model *model)
{
    free(model);
}

static const double *probs_row(const spec_model *model, void *session, const int *context, size_t n,
                               double *scratch, spec_error *error)
{
    (void)session, (void)scratch, (void)error;
    const size_t vocab = (size_t)model->vocab;
    size_t index = 0;
    if (model->order > 0 && n > 0) {
        assert(context[n - 1] >= 0 && (size_t)context[n - 1] < vocab);
        index = 1 + (size_t)context[n - 1];
    }
    return ((const probs *)model)->row + index * vocab;
}

const spec_model_kind spec_model_probs = {
    .name = "probs",
    .usage = "probs:0.5,0.3,0.2?normalise=0&order=0",
    .summary = "given numbers, or a file of them: a row; at order=1 a row for the beginning and "
               "after each token",
    .reference = "",
    .open = open_probs,
    .close = close_probs,
    .row = probs_row,
};
