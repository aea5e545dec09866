/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/folder.h"

#include "tests/support/support.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

char spec_folder_before[PATH_MAX];
static char folder[PATH_MAX];

int spec_folder_enter(void **state)
{
    (void)state;
    const char *data = getenv("SPECLAB_DATA");
    char whole[PATH_MAX];
    if (data != NULL && realpath(data, whole) != NULL) setenv("SPECLAB_DATA", whole, 1);
    const char *above = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/speclab-test-XXXXXX", above != NULL ? above : "/tmp");
    if (getcwd(spec_folder_before, sizeof spec_folder_before) == NULL || mkdtemp(folder) == NULL)
        return -1;
    return chdir(folder);
}

int spec_folder_leave(void **state)
{
    (void)state;
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir(spec_folder_before) != 0 || system(command) != 0 ? -1 : 0;
}
