/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/gnuplot.h"

#include "base/escape.h"
#include "cli/share.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Files in memory get descriptors from FD_MIN on, above those that gnuplot receives, even if
 * standard descriptors are closed. */
enum { PROGRAM_FD = 3, DRAWN_FD = 4, FD_MIN = 10 };

/* Where `make libraries` unpacks gnuplot for a user who cannot install it, in the source tree. */
static const char unpacked[] = "build/libraries/bin/gnuplot";

/* The exit status of a script that printed a line for the user: fail() of style.gp. */
enum { SCRIPT_FAILS = 3 };
#define PROGRAM_NAME "/dev/fd/3"
static const char open_output[] = "set output '/dev/fd/4'\n";

static int not_there(spec_error *error)
{
    return spec_fail(error, GSL_EFAILED,
                     "gnuplot is not installed; on Debian, type: apt-get install gnuplot-nox");
}

int spec_gnuplot_check(spec_error *error)
{
    const char *folder = getenv("PATH");
    while (folder != NULL && *folder != '\0') {
        char *path = NULL;
        const size_t length = strcspn(folder, ":");
        if (asprintf(&path, "%.*s/gnuplot", (int)length, folder) < 0) return spec_no_memory(error);
        const bool found = access(path, X_OK) == 0;
        free(path);
        if (found) return GSL_SUCCESS;
        folder += length + (folder[length] == ':');
    }
    char path[PATH_MAX];
    return spec_share_find(path, sizeof path, unpacked) == 0 ? GSL_SUCCESS : not_there(error);
}

void spec_gnuplot_texts(FILE *out, const char *name, char *const *text, int n, bool tics)
{
    fprintf(out, "array %s[%d] = [", name, n);
    for (int i = 0; i < n; i++) {
        if (i > 0) fputs(", ", out);
        (tics ? spec_escape_gnuplot_tic : spec_escape_gnuplot)(out, text[i]);
    }
    fputs("]\n", out);
}

void spec_gnuplot_number(FILE *out, char separator, double value)
{
    fputc(separator, out);
    if (isnan(value)) fputs("NaN", out);
    else fprintf(out, "%.10g", value);
}

static int write_all(int fd, const char *bytes, size_t n, spec_error *error)
{
    for (ssize_t wrote; n > 0; bytes += wrote, n -= (size_t)wrote) {
        wrote = write(fd, bytes, n);
        if (wrote < 0 && errno == EINTR) wrote = 0;
        if (wrote < 0)
            return spec_fail(error, GSL_EFAILED, "a file in memory: %s", strerror(errno));
    }
    return GSL_SUCCESS;
}

/* Makes a file in memory that holds n bytes. */
static int memory_file(int *ret_fd, const char *bytes, size_t n, spec_error *error)
{
    const int low = memfd_create("speclab-gnuplot", MFD_CLOEXEC);
    *ret_fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, FD_MIN);
    if (low >= 0) close(low);
    if (*ret_fd < 0) return spec_fail(error, GSL_EFAILED, "memfd_create: %s", strerror(errno));
    return write_all(*ret_fd, bytes, n, error);
}

/* Reads the child's whole output from a file in memory, and appends a zero byte. */
static int read_back(char **ret_bytes, size_t *ret_n, int fd, spec_error *error)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return spec_fail(error, GSL_EFAILED, "a file in memory: %s", strerror(errno));
    const size_t n = (size_t)info.st_size;
    *ret_n = 0;
    if ((*ret_bytes = malloc(n + 1)) == NULL) return spec_no_memory(error);
    for (ssize_t got; *ret_n < n; *ret_n += (size_t)got) {
        got = pread(fd, *ret_bytes + *ret_n, n - *ret_n, (off_t)*ret_n);
        if (got <= 0) return spec_fail(error, GSL_EFAILED, "a file in memory: %s", strerror(errno));
    }
    (*ret_bytes)[n] = '\0';
    return GSL_SUCCESS;
}

/* Runs gnuplot without the user's and the system's settings. */
__attribute__((noreturn)) static void become_gnuplot(int program, int drawn, int complaints)
{
    const int null = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(complaints, STDERR_FILENO) < 0 || dup2(program, PROGRAM_FD) < 0 ||
        dup2(drawn, DRAWN_FD) < 0)
        _exit(126);
    execlp("gnuplot", "gnuplot", "--default-settings", PROGRAM_NAME, (char *)NULL);
    char path[PATH_MAX];
    if (spec_share_find(path, sizeof path, unpacked) == 0)
        execl(path, "gnuplot", "--default-settings", PROGRAM_NAME, (char *)NULL);
    _exit(127);
}

/* Copies gnuplot's message about the program, which follows "line N:", into `line`. Other libraries
 * write to standard error, too. Skips three harmless warnings: that gnuplot widened a range, that
 * statistics are of empty data, which the scripts check themselves, and that a loop is empty, whose
 * body gnuplot still parses once. Returns false if there is no message. */
static bool complaint(char *line, size_t size, const char *said)
{
    const char *at = said;
    while ((at = strstr(at, "\"" PROGRAM_NAME "\" line ")) != NULL) {
        const char *message = strstr(at, ": ");
        if (message == NULL) break;
        message += 2;
        snprintf(line, size, "%.*s", (int)strcspn(message, "\n"), message);
        if (strstr(line, "adjusting to") == NULL && strstr(line, "no valid points") == NULL &&
            strstr(line, "No valid data points") == NULL)
            return true;
        at = message;
    }
    line[0] = '\0';
    return false;
}

/* Reports a failing script, which prints its reason last; warnings of gnuplot may precede it. */
static int script_fails(const char *said, spec_error *error)
{
    size_t end = strlen(said);
    while (end > 0 && said[end - 1] == '\n') end--;
    size_t begin = end;
    while (begin > 0 && said[begin - 1] != '\n') begin--;
    return spec_fail(error, GSL_EINVAL, "%.*s", (int)(end - begin), said + begin);
}

static int judge(int state, const char *said, size_t n_drawn, spec_error *error)
{
    char line[300];
    const bool complained = complaint(line, sizeof line, said);
    if (WIFSIGNALED(state))
        return spec_fail(error, GSL_EFAILED, "gnuplot was killed by signal %d", WTERMSIG(state));
    if (WEXITSTATUS(state) == 127) return not_there(error);
    if (strstr(line, "unknown or ambiguous terminal") != NULL)
        return spec_fail(error, GSL_EFAILED,
                         "this gnuplot was built without that terminal; choose svg or another one");
    if (strstr(line, "difficulty fitting plot titles") != NULL)
        return spec_fail(error, GSL_EFAILED,
                         "the legend does not fit; choose a larger --size, or --legend none");
    if (WEXITSTATUS(state) == SCRIPT_FAILS) return script_fails(said, error);
    if (complained) return spec_fail(error, GSL_EFAILED, "gnuplot: %s", line);
    if (WEXITSTATUS(state) != 0)
        return spec_fail(error, GSL_EFAILED, "gnuplot ended with status %d: %.200s",
                         WEXITSTATUS(state), said);
    if (n_drawn == 0) return spec_fail(error, GSL_EFAILED, "gnuplot drew nothing: %.200s", said);
    return GSL_SUCCESS;
}

int spec_gnuplot_run(char **ret_drawn, size_t *ret_n, const char *program, size_t n,
                     spec_error *error)
{
    int status = GSL_SUCCESS, script = -1, drawn = -1, complaints = -1, state = 0;
    char *said = NULL;
    bool interrupted = false;
    size_t n_said;
    *ret_drawn = NULL;
    *ret_n = 0;
    SPEC_TRY(memory_file(&script, open_output, sizeof open_output - 1, error));
    SPEC_TRY(write_all(script, program, n, error));
    SPEC_TRY(memory_file(&drawn, "", 0, error));
    SPEC_TRY(memory_file(&complaints, "", 0, error));
    const pid_t child = fork();
    if (child == 0) become_gnuplot(script, drawn, complaints);
    if (child < 0) SPEC_TRY(spec_fail(error, GSL_EFAILED, "fork: %s", strerror(errno)));
    while (waitpid(child, &state, 0) < 0) {
        if (errno != EINTR) SPEC_TRY(spec_fail(error, GSL_EFAILED, "waitpid: %s", strerror(errno)));
        interrupted = true; /* all signals with a handler end the program */
        kill(child, SIGKILL);
    }
    if (interrupted) SPEC_TRY(spec_fail(error, GSL_EFAILED, "interrupted"));
    SPEC_TRY(read_back(&said, &n_said, complaints, error));
    SPEC_TRY(read_back(ret_drawn, ret_n, drawn, error));
    status = judge(state, said, *ret_n, error);
done:
    if (status != GSL_SUCCESS) {
        free(*ret_drawn);
        *ret_drawn = NULL;
        *ret_n = 0;
    }
    free(said);
    if (script >= 0) close(script);
    if (drawn >= 0) close(drawn);
    if (complaints >= 0) close(complaints);
    return status;
}
