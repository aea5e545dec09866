#include "models/row.h"

/* Plain sums within a block of lanes, which vectorise, and a compensated sum over blocks [Neumaier74]. */
enum { LANES = 8, BLOCK = 128 };

typedef struct {
    double sum, lost;
} running;

static void add(running *total, double value)
{
    const double sum = total->sum + value;
    const double larger = total->sum > value ? total->sum : value; /* by size: every value here is >= 0 */
    const double smaller = total->sum > value ? value : total->sum;
    total->lost += (larger - sum) + smaller;
    total->sum = sum;
}

static double add_lanes(const double *lane)
{
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

double spec_row_sum(const double *value, int n)
{
    running total = {0.0, 0.0};
    int i = 0;
    for (; n - i >= BLOCK; i += BLOCK) {
        double lane[LANES] = {0.0};
        for (int j = 0; j < BLOCK; j += LANES) {
            for (int l = 0; l < LANES; l++) lane[l] += value[i + j + l];
        }
        add(&total, add_lanes(lane));
    }
    for (; i < n; i++) add(&total, value[i]);
    return total.sum + total.lost;
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

double spec_row_overlap(const double *a, const double *b, int n)
{
    running total = {0.0, 0.0};
    int i = 0;
    for (; n - i >= BLOCK; i += BLOCK) {
        double lane[LANES] = {0.0};
        for (int j = 0; j < BLOCK; j += LANES) {
            for (int l = 0; l < LANES; l++) lane[l] += lesser(a[i + j + l], b[i + j + l]);
        }
        add(&total, add_lanes(lane));
    }
    for (; i < n; i++) add(&total, lesser(a[i], b[i]));
    return total.sum + total.lost;
}

void spec_row_normalise(double *weight, int n)
{
    const double sum = spec_row_sum(weight, n);
    for (int i = 0; i < n; i++) weight[i] /= sum;
}

int spec_row_argmax(const double *value, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++) {
        if (value[i] > value[best]) best = i;
    }
    return best;
}

int spec_row_argmin(const double *value, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++) {
        if (value[i] < value[best]) best = i;
    }
    return best;
}

int spec_row_largest(int *ret_index, int k, const double *value, int n)
{
    int held = 0;
    for (int i = 0; i < n && k > 0; i++) {
        if (held == k && !(value[i] > value[ret_index[k - 1]])) continue;
        int at = held < k ? held++ : k - 1;
        for (; at > 0 && value[i] > value[ret_index[at - 1]]; at--) ret_index[at] = ret_index[at - 1];
        ret_index[at] = i;
    }
    return held;
}
