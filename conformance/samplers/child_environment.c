/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conformance/samplers/child_environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Names, or prefixes if they end in *. */
static const char *const list[] = {"PATH",
                                   "HOME",
                                   "USER",
                                   "LOGNAME",
                                   "SHELL",
                                   "TERM",
                                   "TZ",
                                   "TMPDIR",
                                   "LANG",
                                   "LANGUAGE",
                                   "LC_*",
                                   "XDG_CACHE_HOME",
                                   "LD_LIBRARY_PATH",
                                   "LD_PRELOAD",
                                   "VIRTUAL_ENV",
                                   "CONDA_PREFIX",
                                   "PYENV_ROOT",
                                   "PYTHON*",
                                   "PERL5LIB",
                                   "NODE_PATH",
                                   "JAVA_HOME",
                                   "HF_HOME",
                                   "CUDA_*",
                                   "NVIDIA_*",
                                   "TORCH*",
                                   "TRITON_*",
                                   "OMP_*",
                                   "GOMP_*",
                                   "MKL_*",
                                   "OPENBLAS_*",
                                   "ASAN_OPTIONS",
                                   "UBSAN_OPTIONS",
                                   "TSAN_OPTIONS",
                                   "LSAN_OPTIONS",
                                   "SPECLAB*",
                                   NULL};

static bool is_on(const char *const *opt_names, const char *variable)
{
    const size_t length = strcspn(variable, "=");
    for (const char *const *name = opt_names; name != NULL && *name != NULL; name++) {
        const size_t n = strlen(*name);
        const bool begins = n > 0 && (*name)[n - 1] == '*';
        if (begins ? strncmp(variable, *name, n - 1) == 0
                   : n == length && strncmp(variable, *name, n) == 0)
            return true;
    }
    return false;
}

char **spec_child_environment(const char *const *opt_more)
{
    size_t n = 0, kept = 0;
    while (environ != NULL && environ[n] != NULL) n++;
    char **variables = calloc(n + 1, sizeof *variables);
    for (size_t i = 0; variables != NULL && i < n; i++)
        if (is_on(list, environ[i]) || is_on(opt_more, environ[i])) variables[kept++] = environ[i];
    return variables;
}
