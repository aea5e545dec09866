/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/on_terminal.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

enum { MOST_ARGUMENTS = 32, MOST_BYTES = 1 << 20 };

static void exec_program(const char *opt_environment, const char *arguments)
{
    char *copy = strdup(arguments), *argv[MOST_ARGUMENTS + 2] = {spec_program}, *equals;
    int n = 1;
    for (char *rest = copy, *word; (word = strsep(&rest, " ")) != NULL && n <= MOST_ARGUMENTS;)
        if (*word != '\0') argv[n++] = strcmp(word, "''") == 0 ? word + 2 : word;
    unsetenv("COLUMNS");
    char *pair = opt_environment != NULL ? strdup(opt_environment) : NULL;
    if (pair != NULL && (equals = strchr(pair, '=')) != NULL) {
        *equals = '\0';
        setenv(pair, equals + 1, 1);
    }
    execv(spec_program, argv);
    _exit(126);
}

/* Computes the screen that `sent` leaves. It moves bytes rather than characters, since the program
 * never moves the cursor back within a line. */
static void show(char *screen, const char *sent)
{
    size_t begin = 0, at = 0, end = 0; /* start of the line, cursor, end of the line */
    for (const char *c = sent; *c != '\0'; c++) {
        if (*c == '\r') {
            at = begin;
        } else if (*c == '\n') {
            screen[end++] = '\n';
            begin = at = end;
        } else if (*c == '\033' && c[1] == '[') {
            c += 2 + strspn(c + 2, "0123456789;");
            if (*c == 'K') end = at;
        } else {
            screen[at++] = *c;
            if (at > end) end = at;
        }
    }
    screen[end] = '\0';
}

void spec_terminal_start(spec_terminal *terminal, int columns, const char *opt_environment,
                         const char *arguments)
{
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    *terminal = (spec_terminal){.sent = calloc(MOST_BYTES, 1),
                                .screen = calloc(MOST_BYTES, 1),
                                .arguments = arguments};
    assert_non_null(terminal->sent);
    assert_non_null(terminal->screen);
    terminal->pid = forkpty(&terminal->master, NULL, NULL, &size);
    assert_true(terminal->pid >= 0);
    if (terminal->pid == 0) exec_program(opt_environment, arguments);
}

/* Reads what the program sends, for at most 100 ms; returns false after its end. */
static bool read_some(spec_terminal *terminal)
{
    struct pollfd fd = {.fd = terminal->master, .events = POLLIN};
    if (poll(&fd, 1, 100) == 0 && (terminal->waited += 100) > SPEC_CHILD_PATIENCE_MS) {
        kill(terminal->pid, SIGKILL);
        fail_msg("%s: no answer within %d s", terminal->arguments, SPEC_CHILD_PATIENCE_MS / 1000);
    }
    if (fd.revents == 0) return true;
    const ssize_t got = read(terminal->master, terminal->sent + terminal->n_sent,
                             MOST_BYTES - 1 - terminal->n_sent);
    if (got > 0) terminal->n_sent += (size_t)got;
    assert_true(terminal->n_sent < MOST_BYTES - 1);
    return got > 0 || (got < 0 && errno == EINTR); /* EIO after the last writer has closed it */
}

void spec_terminal_await(spec_terminal *terminal, const char *text)
{
    while (strstr(terminal->sent, text) == NULL)
        if (!read_some(terminal))
            fail_msg("%s: '%s' has not come: %s", terminal->arguments, text, terminal->sent);
}

void spec_terminal_finish(spec_terminal *terminal)
{
    int state;
    while (read_some(terminal)) continue;
    close(terminal->master);
    while (waitpid(terminal->pid, &state, 0) < 0) assert_int_equal(errno, EINTR);
    terminal->code = WIFEXITED(state) ? WEXITSTATUS(state) : SPEC_CHILD_KILLED + WTERMSIG(state);
    show(terminal->screen, terminal->sent);
}

void spec_terminal_run(spec_terminal *terminal, int columns, const char *opt_environment,
                       const char *arguments)
{
    spec_terminal_start(terminal, columns, opt_environment, arguments);
    spec_terminal_finish(terminal);
}

void spec_terminal_free(spec_terminal *terminal)
{
    free(terminal->sent);
    free(terminal->screen);
    *terminal = (spec_terminal){0};
}

int spec_terminal_widest(const char *text, const char **ret_line)
{
    int widest = 0;
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0), before = uselocale(utf8);
    assert_true(utf8 != (locale_t)0);
    *ret_line = text;
    for (const char *line = text; *line != '\0';
         line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, "    speclab ", 12) == 0) continue;
        wchar_t wide[4096];
        char copy[4096];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "\n"), line);
        const size_t n = mbstowcs(wide, copy, sizeof wide / sizeof wide[0]);
        assert_true(n != (size_t)-1);
        const int columns = wcswidth(wide, n);
        if (columns < 0) fail_msg("a control character in '%s'", copy);
        if (columns > widest) *ret_line = line;
        if (columns > widest) widest = columns;
    }
    uselocale(before);
    freelocale(utf8);
    return widest;
}
