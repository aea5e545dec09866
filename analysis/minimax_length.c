/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/minimax_length.h"

#include <math.h>

int spec_minimax_length(double *ret_loss, const double *speed, int scenarios, int n)
{
    int least = 0, valid = n >= 1 && scenarios >= 1;
    for (int i = 0; i < scenarios * n; i++) valid = valid && speed[i] > 0.0 && isfinite(speed[i]);
    for (int k = 0; k < n; k++) ret_loss[k] = valid ? 0.0 : NAN;
    if (!valid) return -1;
    for (int s = 0; s < scenarios; s++) {
        double most = 0.0;
        for (int k = 0; k < n; k++) most = fmax(most, speed[s * n + k]);
        for (int k = 0; k < n; k++) ret_loss[k] = fmax(ret_loss[k], 1.0 - speed[s * n + k] / most);
    }
    for (int k = 1; k < n; k++)
        if (ret_loss[k] < ret_loss[least]) least = k;
    return least;
}
