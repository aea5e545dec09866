/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/output.h"

#include "cli/text_stream.h"
#include "cli/usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t write_shown(void *stream, const char *bytes, size_t n)
{
    spec_text_stream_write(stream, bytes, n, "");
    return fflush(stdout) == 0 && !ferror(stdout) ? (ssize_t)n : 0;
}

FILE *spec_output_standard(void)
{
    static spec_text_stream stream;
    static FILE *shown;
    if (shown != NULL) return shown;
    if (!isatty(STDOUT_FILENO)) return stdout;
    spec_text_stream_init(&stream, stdout, true, false);
    const cookie_io_functions_t functions = {.write = write_shown};
    shown = fopencookie(&stream, "w", functions);
    if (shown == NULL) spec_usage_no_memory("speclab");
    setvbuf(shown, NULL, _IOLBF, BUFSIZ);
    return shown;
}

void spec_output_say_left_over(const char *path, const char *verb)
{
    char *name = spec_new_file_left_over(path);
    if (name != NULL) spec_usage_say(verb, "%s is left over from a killed run; remove it", name);
    free(name);
}

void spec_output_say_kept(const char *path, int kept, bool force, const char *verb)
{
    char *name = kept > 0 ? spec_new_file_former(path, kept) : NULL;
    if (name != NULL && force) unlink(name);
    else if (name != NULL)
        spec_usage_say(verb, "%s: the older file is kept as %s", path, name);
    free(name);
}

const char *spec_output_name(const spec_output *output)
{
    return output->path != NULL ? output->path : "standard output";
}

static int fail(const spec_output *output, spec_error *error)
{
    return spec_fail(error, GSL_EFAILED, "%.300s: %s", spec_output_name(output),
                     strerror(errno == 0 ? EIO : errno));
}

int spec_output_open(spec_output *output, const char *opt_path, const char *verb, spec_error *error)
{
    struct stat info;
    int status = GSL_SUCCESS;
    if (opt_path != NULL && strcmp(opt_path, "-") == 0) opt_path = NULL;
    *output = (spec_output){.path = opt_path};
    if (opt_path == NULL) {
        output->out = spec_output_standard();
    } else if (stat(opt_path, &info) == 0 && !S_ISREG(info.st_mode)) {
        output->out = fopen(opt_path, "we");
        if (output->out == NULL) status = fail(output, error);
    } else {
        spec_output_say_left_over(opt_path, verb);
        status = spec_new_file_open(&output->file, opt_path, error);
        output->out = output->file.out;
    }
    return status;
}

int spec_output_probe(const char *opt_path, spec_error *error)
{
    struct stat info;
    spec_new_file file;
    if (opt_path == NULL || strcmp(opt_path, "-") == 0) return GSL_SUCCESS;
    if (stat(opt_path, &info) == 0 && !S_ISREG(info.st_mode)) {
        errno = S_ISDIR(info.st_mode) ? EISDIR : 0;
        if (errno == 0 && access(opt_path, W_OK) == 0) return GSL_SUCCESS;
        return spec_fail(error, GSL_EFAILED, "%.300s: %s", opt_path, strerror(errno));
    }
    const int status = spec_new_file_open(&file, opt_path, error);
    spec_new_file_free(&file);
    return status;
}

int spec_output_check(const spec_output *output, int status, spec_error *error)
{
    if (status == GSL_SUCCESS || !ferror(output->out)) return status;
    const spec_error inner = *error;
    return spec_fail(error, status, "%.200s: %s", spec_output_name(output), inner.text);
}

int spec_output_close(spec_output *output, bool force, const char *verb, spec_error *error)
{
    int status = GSL_SUCCESS;
    const bool whole = fflush(output->out) == 0 && !ferror(output->out);
    if (!whole) SPEC_TRY(fail(output, error));
    if (output->file.out != NULL) {
        SPEC_TRY(spec_new_file_close(&output->file, error));
        spec_output_say_kept(output->path, output->file.kept, force, verb);
    } else if (output->path != NULL) {
        FILE *out = output->out;
        output->out = NULL;
        if (fclose(out) != 0) SPEC_TRY(fail(output, error));
    }
done:
    spec_output_discard(output);
    return status;
}

void spec_output_retire(spec_output *output, bool force, const char *verb)
{
    spec_error error = {{0}};
    if (output->file.out != NULL && spec_new_file_retire(&output->file, &error) == GSL_SUCCESS)
        spec_output_say_kept(output->path, output->file.kept, force, verb);
    else if (error.text[0] != '\0')
        spec_usage_say(verb, "%s", error.text);
    spec_output_discard(output);
}

void spec_output_discard(spec_output *output)
{
    if (output->path != NULL && output->out != NULL && output->file.out == NULL &&
        output->file.path == NULL)
        fclose(output->out);
    output->out = NULL;
    spec_new_file_free(&output->file);
}
