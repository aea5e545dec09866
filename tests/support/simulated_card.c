/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/simulated_card.h"

#include "tests/support/built.h"
#include "tests/support/support.h"

#include <dlfcn.h>

bool spec_card_is_real(void)
{
    const char *text = getenv("SPECLAB_CARD");
    return text != NULL && strcmp(text, "1") == 0;
}

const char *spec_simulator_path(const char *name)
{
    static char path[PATH_MAX];
    return strcat(spec_built_path(path, "simulator/"), name);
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
