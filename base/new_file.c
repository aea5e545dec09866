#include "base/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int spec_new_file_open(spec_new_file *file, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    struct stat info;
    *file = (spec_new_file){0};
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return spec_fail(error, GSL_EINVAL, "%.300s: is there, and is not a regular file", path);
    file->path = strdup(path);
    if (asprintf(&file->partial, "%s.%ld.partial", path, (long)getpid()) < 0) file->partial = NULL;
    if (file->path == NULL || file->partial == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "%.300s: out of memory", path));
    file->out = fopen(file->partial, "wbx");
    if (file->out == NULL) status = spec_fail(error, GSL_EFAILED, "%.300s: %s", path, strerror(errno));
done:
    if (status != GSL_SUCCESS) spec_new_file_free(file);
    return status;
}

int spec_new_file_close(spec_new_file *file, spec_error *error)
{
    if (fflush(file->out) != 0 || fsync(fileno(file->out)) != 0 || rename(file->partial, file->path) != 0)
        return spec_fail(error, GSL_EFAILED, "%.300s: %s", file->path, strerror(errno));
    fclose(file->out);
    file->out = NULL;
    return GSL_SUCCESS;
}

void spec_new_file_free(spec_new_file *file)
{
    if (file->out != NULL) {
        fclose(file->out);
        unlink(file->partial);
    }
    free(file->path);
    free(file->partial);
    *file = (spec_new_file){0};
}
