/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz experiment files: any bytes must give an experiment or a one-line error that names the file,
 * quickly and in little memory. Nothing is run: a loaded experiment is only read completely. */
#include "experiments/experiment.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads every value of the first points, as a run would. */
static void look(const spec_experiment *experiment)
{
    const spec_grid *grid = &experiment->grid;
    uint64_t n = spec_grid_size(grid);
    for (uint64_t i = 0; i < n && i < 8; i++) {
        spec_point point = {.grid = grid, .index = i};
        spec_error error;
        double value;
        int whole;
        char *identity = spec_grid_identity(grid, i, NULL);
        assert(identity != NULL);
        free(identity);
        for (int a = 0; a < grid->n_axes; a++) {
            assert(spec_grid_value(grid, i, grid->axis[a].name) != NULL);
            if (spec_point_double(&value, &point, experiment->measure, grid->axis[a].name, -1.0,
                                  1.0, &error) == GSL_SUCCESS)
                assert(value >= -1.0 && value <= 1.0);
            if (spec_point_int(&whole, &point, experiment->measure, grid->axis[a].name, 0, 9,
                               &error) == GSL_SUCCESS)
                assert(whole >= 0 && whole <= 9);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const set[] = {"K=1:3:1", "TEXT=a.txt", NULL};
    for (int overrides = 0; overrides < 2; overrides++) {
        spec_experiment experiment;
        spec_error error = {.text = ""};
        int status = spec_experiment_parse(&experiment, "x.cfg", (const char *)data, size,
                                           overrides ? set : NULL, &error);
        if (status == GSL_SUCCESS) look(&experiment);
        else assert(strncmp(error.text, "x.cfg", 5) == 0 && strchr(error.text, '\n') == NULL);
        spec_experiment_free(&experiment);
    }
    return 0;
}
