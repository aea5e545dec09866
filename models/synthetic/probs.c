#include "models/synthetic/fixed_row.h"
#include "models/model_kinds.h"
#include "models/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Bytes a file may have (V numbers of about 25 bytes), and a number. */
enum { FILE_MAX = 1 << 25, NUMBER_MAX = 64 };

static const char blanks[] = " \t\r\n", separators[] = " \t\r\n,";

/* ---- the numbers ------------------------------------------------------------------------------------------------- */

/* Numbers being read from `text`, for messages `name`, and `line` where it is a file's (0: a list in the spec). */
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
    if (in->line > 0) return spec_fail(error, GSL_EINVAL, "%.160s:%d: %s '%.40s'", in->name, in->line, what, piece);
    return spec_fail(error, GSL_EINVAL, "probs:%.80s: %s '%.40s'", in->name, what, piece);
}

/* The next number; *ret_more is false at the end. Numbers are separated by blanks or by one comma. */
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
    snprintf(piece, sizeof piece, "%.*s", (int)(length < NUMBER_MAX ? length : NUMBER_MAX), in->text);
    for (char *c = piece; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f) *c = '?';
    }
    if (length == 0) return fail_at(in, error, "a number is missing before", in->text);
    if (length > NUMBER_MAX || !spec_settings_parse_double(ret_value, piece)) {
        return fail_at(in, error, "not a finite number:", piece);
    }
    if (*ret_value < 0.0) return fail_at(in, error, "a negative probability:", piece);
    in->text += length;
    *ret_more = true;
    return GSL_SUCCESS;
}

/* Read all numbers twice: to count, and, where there is a row, to fill it. */
static int read_numbers(int *ret_n, double *opt_row, reader in, spec_error *error)
{
    int status = GSL_SUCCESS, n = 0;
    for (;; n++) {
        double value;
        bool more;
        SPEC_TRY(next_number(&value, &more, &in, n == 0, error));
        if (!more) break;
        if (n == SPEC_VOCAB_MAX) SPEC_TRY(fail_at(&in, error, "more than 2^20 numbers, from", "here on"));
        if (opt_row != NULL) opt_row[n] = value;
    }
    if (n == 0) SPEC_TRY(spec_fail(error, GSL_EINVAL, "probs:%.160s holds no number", in.name));
done:
    *ret_n = status == GSL_SUCCESS ? n : 0;
    return status;
}

/* ---- where they come from ---------------------------------------------------------------------------------------- */

static int load_file(char **ret_text, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    char *text = NULL;
    struct stat info;
    FILE *file = NULL;

    *ret_text = NULL;
    if (stat(path, &info) != 0) {
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "probs:%.160s is neither a list of numbers nor a file", path));
    }
    if (!S_ISREG(info.st_mode)) SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.160s: not a regular file", path));
    if (info.st_size > FILE_MAX) {
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.160s: larger than %d MB, too large for probabilities", path,
                           FILE_MAX >> 20));
    }
    const size_t size = (size_t)info.st_size;
    file = fopen(path, "rb");
    if (file == NULL) SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.160s: cannot be read", path));
    text = calloc(size + 1, 1);
    if (text == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "%.160s: out of memory", path));
    if (fread(text, 1, size, file) != size) {
        SPEC_TRY(spec_fail(error, GSL_EFAILED, "%.160s: cannot be read to its end", path));
    }
    if (strlen(text) != size) SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.160s: a binary file, not numbers", path));
    *ret_text = text;
    text = NULL;
done:
    if (file != NULL) fclose(file);
    free(text);
    return status;
}

static int check_sum(double sum, int n, bool normalise, spec_error *error)
{
    if (!(sum <= 1e300)) return spec_fail(error, GSL_EDOM, "probs: the %d numbers are too large to add up", n);
    if (sum == 0.0) return spec_fail(error, GSL_EDOM, "probs: the %d numbers sum to 0", n);
    if (!normalise && fabs(sum - 1.0) > 1e-6) {
        return spec_fail(error, GSL_EDOM,
                         "probs: the %d numbers sum to %.9g, not to 1 (add normalise=1 to divide by it)", n, sum);
    }
    return GSL_SUCCESS;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static int open_probs(spec_model **ret_model, spec_settings *settings, const spec_model *opt_target, spec_error *error)
{
    (void)opt_target;
    int status = GSL_SUCCESS, normalise, vocab;
    spec_model *model = NULL;
    double *row;
    char *file_text = NULL;

    const char *path = settings->path;
    const bool is_list = path[strspn(path, "0123456789+-.eE, \t")] == '\0';
    SPEC_TRY(spec_settings_int(&normalise, settings, "normalise", 0, 0, 1, error));
    if (!is_list) SPEC_TRY(load_file(&file_text, path, error));
    const reader in = {.name = path, .text = is_list ? path : file_text, .line = is_list ? 0 : 1};
    SPEC_TRY(read_numbers(&vocab, NULL, in, error));
    SPEC_TRY(spec_fixed_row_open(&model, &row, vocab, error));
    SPEC_TRY(read_numbers(&vocab, row, in, error));
    SPEC_TRY(check_sum(spec_row_sum(row, vocab), vocab, normalise == 1, error));
    spec_row_normalise(row, vocab);
    *ret_model = model;
    model = NULL;
done:
    if (model != NULL) spec_fixed_row_close(model);
    free(file_text);
    return status;
}

const spec_model_kind spec_model_probs = {
    .name = "probs",
    .usage = "probs:0.5,0.3,0.2?normalise=0",
    .summary = "a fixed row, given as numbers or as a file of numbers",
    .reference = "",
    .open = open_probs,
    .close = spec_fixed_row_close,
    .row = spec_fixed_row_row,
};
