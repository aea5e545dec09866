/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/bench/yardstick.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SCRIPTS_MAX = 16 };

typedef struct {
    char file[64];
    pid_t pid;
    FILE *to, *from; /* NULL: the script could not start, or has ended */
} script;

/* State of the program: the scripts live as long as the run. */
static script scripts[SCRIPTS_MAX];
static int n_scripts;

static void start(script *s)
{
    char path[128];
    int down[2], up[2];
    snprintf(path, sizeof path, "tests/bench/%s", s->file);
    if (pipe(down) != 0) return;
    if (pipe(up) != 0) {
        close(down[0]);
        close(down[1]);
        return;
    }
    fflush(NULL);
    s->pid = fork();
    if (s->pid == 0) {
        dup2(down[0], STDIN_FILENO);
        dup2(up[1], STDOUT_FILENO);
        for (int fd = 3; fd < 64; fd++)
            close(fd); /* otherwise the other scripts never see the end of their input */
        setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
        execlp("python3", "python3", path, (char *)NULL);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    s->to = fdopen(down[1], "w");
    s->from = fdopen(up[0], "r");
}

static void stop(script *s)
{
    if (s->to != NULL) fclose(s->to);
    if (s->from != NULL) fclose(s->from);
    if (s->pid > 0) waitpid(s->pid, NULL, 0);
    s->to = s->from = NULL;
    s->pid = 0;
}

static script *find(const char *file, size_t length)
{
    for (int i = 0; i < n_scripts; i++) {
        if (strlen(scripts[i].file) == length && memcmp(scripts[i].file, file, length) == 0)
            return &scripts[i];
    }
    if (n_scripts == SCRIPTS_MAX || length >= sizeof scripts->file) return NULL;
    script *s = &scripts[n_scripts++];
    memcpy(s->file, file, length);
    start(s);
    return s;
}

double spec_yardstick_rate(const char *name, double seconds)
{
    signal(SIGPIPE, SIG_IGN); /* a script that ends is reported as NaN and does not end the
                               * program */
    const char *colon = strchr(name, ':');
    script *s = colon != NULL ? find(name, (size_t)(colon - name)) : NULL;
    if (s == NULL || s->to == NULL || s->from == NULL) return NAN;

    char line[256];
    double rate;
    fprintf(s->to, "%s %g\n", colon + 1, seconds);
    if (fflush(s->to) != 0 || fgets(line, sizeof line, s->from) == NULL) {
        stop(s);
        return NAN;
    }
    return sscanf(line, "%lf", &rate) == 1 ? rate : NAN;
}

void spec_yardstick_close(void)
{
    for (int i = 0; i < n_scripts; i++) stop(&scripts[i]);
    n_scripts = 0;
}
