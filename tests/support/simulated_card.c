/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/simulated_card.h"

#include "tests/support/support.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

bool spec_card_is_real(void)
{
    const char *text = getenv("SPECLAB_CARD");
    return text != NULL && strcmp(text, "1") == 0;
}

const char *spec_simulator_path(const char *name)
{
    static char path[PATH_MAX + 64];
    char program[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n < 0) return name;
    program[n] = '\0';
    char *tests =
        NULL; /* the last folder of that name: .../build/<config>/tests/models/gpu/test_card */
    for (char *at = program; (at = strstr(at, "/tests/")) != NULL; at++) tests = at;
    if (tests != NULL) *tests = '\0';
    snprintf(path, sizeof path, "%s/tests/simulator/%s", program, name);
    return path;
}

void spec_simulated_card(void)
{
    const char *name = getenv("SIM_LIBRARY");
    if (!spec_card_is_real())
        setenv("SPECLAB_LIBCUDA", spec_simulator_path(name != NULL ? name : "libcuda.so"), 1);
}

simulated_traffic spec_simulated_traffic(void)
{
    void *library = dlopen(getenv("SPECLAB_LIBCUDA"), RTLD_NOW);
    const simulated_traffic *counts = library != NULL ? dlsym(library, "simulated_counts") : NULL;
    assert_non_null(counts);
    dlclose(library);
    return *counts;
}
