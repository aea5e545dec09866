/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz profiles: any bytes must give a profile with rates that never rise or a one-line error that
 * names the file. Writing and reading a profile returns the same one. */
#include "sim/acceptance_profile.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    spec_acceptance_profile profile, again;
    spec_error error = {.text = ""};
    char *text = NULL;
    size_t n;
    if (spec_acceptance_profile_parse(&profile, (const char *)data, size, "x", &error) !=
        GSL_SUCCESS) {
        assert(strncmp(error.text, "x: ", 3) == 0 && strchr(error.text, '\n') == NULL);
        assert(profile.K == 0 && profile.file == NULL);
        return 0;
    }
    double before = 1.0;
    for (int i = 0; i < profile.K; i++) {
        assert(profile.unconditional[i].value >= 0.0 && profile.unconditional[i].value <= before);
        before = profile.unconditional[i].value;
    }
    FILE *out = open_memstream(&text, &n);
    assert(out != NULL);
    assert(spec_acceptance_profile_write(&profile, out, &error) == GSL_SUCCESS);
    fclose(out);
    assert(spec_acceptance_profile_parse(&again, text, n, "x", &error) == GSL_SUCCESS);
    assert(again.K == profile.K && again.n_files == profile.n_files);
    assert(fabs(again.length.value - profile.length.value) < 1e-8);
    spec_acceptance_profile_free(&again);
    spec_acceptance_profile_free(&profile);
    free(text);
    return 0;
}
