/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/share.h"

#include "base/names.h"

#include <dirent.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int holds_experiments(const char *folder)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/experiments", folder) < (int)sizeof path &&
           access(path, R_OK | X_OK) == 0;
}

int spec_share_folder(char *path, size_t size)
{
    const char *given = getenv("SPECLAB_SHARE");
    if (given != NULL)
        return snprintf(path, size, "%s", given) < (int)size && holds_experiments(path) ? 0 : -1;

    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return -1;
    self[length] = '\0';
    /* The program is installed, or in build/CONFIG of the source tree. The system has resolved all
     * links. */
    char *const above = dirname(dirname(self));
    if (snprintf(path, size, "%s/share/speclab", above) < (int)size && holds_experiments(path))
        return 0;
    return snprintf(path, size, "%s", dirname(above)) < (int)size && holds_experiments(path) ? 0
                                                                                             : -1;
}

int spec_share_find(char *path, size_t size, const char *relative)
{
    char folder[PATH_MAX];
    if (spec_share_folder(folder, sizeof folder) != 0) return -1;
    return snprintf(path, size, "%s/%s", folder, relative) < (int)size && access(path, R_OK) == 0
               ? 0
               : -1;
}

const char *spec_share_of_texts(char *path, size_t size)
{
    const char *given = getenv("SPECLAB_SHARE");
    return given != NULL ? given : spec_share_folder(path, size) == 0 ? path : NULL;
}

int spec_share_nearest(char *near, size_t size, const char *subfolder, const char *ending,
                       const char *name)
{
    char share[PATH_MAX], folder[2 * PATH_MAX];
    struct dirent **entry = NULL;
    int status = -1;
    if (spec_share_folder(share, sizeof share) != 0) return -1;
    snprintf(folder, sizeof folder, "%s/%s", share, subfolder);
    const int n = scandir(folder, &entry, NULL, alphasort);
    const char **known = calloc((size_t)(n > 0 ? n : 0) + 1, sizeof *known);
    int n_known = 0;
    for (int i = 0; i < n && known != NULL; i++) {
        char *end = strrchr(entry[i]->d_name, '.');
        if (end == NULL || strcmp(end, ending) != 0) continue;
        *end = '\0';
        known[n_known++] = entry[i]->d_name;
    }
    const char *found = known != NULL ? spec_names_nearest(name, known) : NULL;
    if (found != NULL && snprintf(near, size, "%s", found) < (int)size) status = 0;
    for (int i = 0; i < n; i++) free(entry[i]);
    free(entry);
    free(known);
    return status;
}
