#include "cli/figures/figure.h"

#include "cli/share.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char figure_key[] = "# figure: ";

int spec_figure_name(char *name, size_t size, const char *csv_path, spec_error *error)
{
    name[0] = '\0';
    FILE *in = fopen(csv_path, "r");
    if (in == NULL) return spec_fail(error, GSL_EFAILED, "%s: %s", csv_path, strerror(errno));
    char line[4096];
    while (fgets(line, sizeof line, in) != NULL && line[0] == '#') {
        if (strncmp(line, figure_key, sizeof figure_key - 1) != 0) continue;
        const char *value = line + sizeof figure_key - 1;
        size_t length = strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
        if (length > 0 && length < size && (value[length] == '\n' || value[length] == '\0')) {
            memcpy(name, value, length);
            name[length] = '\0';
        }
    }
    bool broken = ferror(in) != 0;
    fclose(in);
    return broken ? spec_fail(error, GSL_EFAILED, "%s: cannot be read", csv_path) : GSL_SUCCESS;
}

/* What gnuplot says on its standard error, up to its end. */
static void read_complaint(int fd, char *text, size_t size)
{
    size_t used = 0;
    char block[512];
    for (ssize_t n; (n = read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR);) {
        for (ssize_t i = 0; i < n && used + 1 < size; i++) text[used++] = block[i];
    }
    text[used] = '\0';
}

static int no_script(const char *name, spec_error *error)
{
    char near[NAME_MAX + 1], folder[PATH_MAX];
    if (spec_share_folder(folder, sizeof folder) != 0)
        return spec_fail(error, GSL_EINVAL,
                         "there is no folder of figure scripts: SPECLAB_SHARE is to name the one with plots/ in it");
    if (spec_share_nearest(near, sizeof near, "plots", ".gp", name) == 0)
        return spec_fail(error, GSL_EINVAL, "there is no figure script plots/%s.gp; did you mean '%s'?", name, near);
    return spec_fail(error, GSL_EINVAL, "there is no figure script plots/%s.gp", name);
}

int spec_figure_check_writable(const char *path, spec_error *error)
{
    const bool was = access(path, F_OK) == 0;
    FILE *out = fopen(path, "a");
    if (out == NULL) return spec_fail(error, GSL_EFAILED, "%s: %s", path, strerror(errno));
    fclose(out);
    if (!was) unlink(path);
    return GSL_SUCCESS;
}

int spec_figure_check_ending(const char *path, spec_error *error)
{
    const char *ending = strrchr(path, '.');
    if (ending != NULL && (strcmp(ending, ".svg") == 0 || strcmp(ending, ".png") == 0 || strcmp(ending, ".pdf") == 0))
        return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "%s: a figure ends in .svg, .png or .pdf", path);
}

int spec_figure_draw(const char *name, const char *csv_path, const char *out_path, spec_error *error)
{
    char relative[NAME_MAX + 16], script[PATH_MAX], style[PATH_MAX];
    snprintf(relative, sizeof relative, "plots/%s.gp", name);
    if (spec_share_find(script, sizeof script, relative) != 0)
        return no_script(name, error);
    if (spec_share_find(style, sizeof style, "plots/style.gp") != 0)
        return spec_fail(error, GSL_EINVAL, "plots/style.gp is missing beside '%s'", relative);

    int status = GSL_SUCCESS;
    const bool was = access(out_path, F_OK) == 0;
    if ((status = spec_figure_check_writable(out_path, error)) != GSL_SUCCESS) return status;
    int pipe_fd[2];
    if (pipe(pipe_fd) != 0) return spec_fail(error, GSL_EFAILED, "pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0) {
        close(pipe_fd[0]);
        close(pipe_fd[1]);
        return spec_fail(error, GSL_EFAILED, "fork: %s", strerror(errno));
    }
    if (child == 0) {
        dup2(pipe_fd[1], STDERR_FILENO);
        close(pipe_fd[0]);
        close(pipe_fd[1]);
        execlp("gnuplot", "gnuplot", "-c", script, csv_path, out_path, style, (char *)NULL);
        _exit(127);
    }
    close(pipe_fd[1]);
    char complaint[2048];
    read_complaint(pipe_fd[0], complaint, sizeof complaint);
    close(pipe_fd[0]);
    int state = 0;
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return GSL_SUCCESS;
    if (!was) unlink(out_path); /* what a script had begun */
    if (WIFEXITED(state) && WEXITSTATUS(state) == 127)
        return spec_fail(error, GSL_EFAILED, "gnuplot is not there; on Debian: apt-get install gnuplot-nox");
    for (char *c = complaint; *c != '\0'; c++) {
        if (*c == '\n') *c = ' ';
    }
    return spec_fail(error, GSL_EFAILED, "gnuplot could not draw %s: %.300s", csv_path, complaint);
}
