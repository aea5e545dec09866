/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/bench/bench.h"
#include "tools/validate/samplers/supervisor.h"

#include "base/cpu.h"
#include "tests/bench/yardstick.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct {
    const char *name;
    const spec_bench_row *rows;
} families[] = {
    {"random numbers", spec_bench_rng},
    {"acceptance", spec_bench_acceptance},
    {"Monte Carlo", spec_bench_montecarlo},
    {"fixed pair", spec_bench_fixed_pair},
    {"decoding loop", spec_bench_decode},
    {"drafts without training, after texts of 4,096 bytes", spec_bench_drafts},
    {"filters, V = 32,000", spec_bench_filters},
    {"multi-draft, V = 32,000, n = 4", spec_bench_multi_draft},
    {"n-grams", spec_bench_ngram},
    {"conformance, V = 64, batches of 256", spec_bench_conformance},
    {"traces", spec_bench_trace},
    {"transformer, 768 x 12, V = 32,000", spec_bench_transformer},
    {"the rest of a pass, 12 heads of 64", spec_bench_vector},
    {"tokenizers, 22,000 pieces", spec_bench_tokenizer},
    {"matrix products, 768 x 12, V = 32,000", spec_bench_product},
    {"training, 2,048 tokens", spec_bench_train},
    {"serving engine, outputs of 256 tokens", spec_bench_serving},
    {"logs of engines", spec_bench_advice},
};

enum { FAMILIES = sizeof families / sizeof *families, REPEATS_MAX = 99, MEASURES_MAX = 256 };

static bool on_processor;           /* measure processor time for all rows */
static const double seconds = 0.05; /* how long one repeat of a row or of a yardstick takes */

typedef struct {
    const spec_bench_row *row;
    const char *family;
    const char *reason; /* reason for not measuring it, or NULL */
    void *state;
    uint64_t n; /* units per repeat */
    double rate[REPEATS_MAX], yardstick[REPEATS_MAX];
} measure;

bool spec_bench_choose_isa(const char *opt_name)
{
    return spec_cpu_limit(opt_name, NULL) == GSL_SUCCESS &&
           (opt_name == NULL || strcmp(spec_cpu_isa_name(spec_cpu_isa()), opt_name) == 0);
}

static double now(const spec_bench_row *row)
{
    struct timespec t;
    clock_gettime(row->wall && !on_processor ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double rate_of(const measure *m)
{
    const double begin = now(m->row);
    const uint64_t done = m->row->run(m->state, m->n);
    return (double)done / (now(m->row) - begin);
}

/* Chooses n so that a repeat takes about `seconds`. */
static void calibrate(measure *m)
{
    double elapsed = 0.0;
    for (m->n = 1; elapsed < seconds / 4.0 && m->n < (uint64_t)1 << 50; m->n *= 2) {
        const double begin = now(m->row);
        m->row->run(m->state, m->n);
        elapsed = now(m->row) - begin;
    }
    m->n = (uint64_t)fmax(1.0, (double)m->n / 2.0 * seconds / elapsed);
}

static double median(const double *value, int n)
{
    double sorted[REPEATS_MAX];
    memcpy(sorted, value, (size_t)n * sizeof *sorted);
    gsl_sort(sorted, 1, (size_t)n);
    return gsl_stats_median_from_sorted_data(sorted, 1, (size_t)n);
}

/* "1.29 G", three digits. */
static const char *scaled(char buffer[16], double value)
{
    static const char prefix[] = " kMGT";
    int p = 0;
    if (!isfinite(value)) return "-";
    for (; value >= 999.5 && p < 4; p++) value /= 1000.0;
    snprintf(buffer, 16, "%.*f %c", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, prefix[p]);
    if (p == 0) buffer[strlen(buffer) - 1] = '\0';
    return buffer;
}

static const measure *find(const measure *all, int n, const char *work)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(all[i].row->work, work) == 0) return &all[i];
    }
    return NULL;
}

/* Runs a repeat of everything in turns, so that a slow phase of the machine affects a row and its
 * yardstick equally. */
static void repeat_all(measure *all, int n, int r)
{
    for (int i = 0; i < n; i++) {
        const spec_bench_row *row = all[i].row;
        all[i].rate[r] = all[i].reason == NULL ? rate_of(&all[i]) : NAN;
        all[i].yardstick[r] = NAN;
        if (row->yardstick != NULL && all[i].reason == NULL &&
            strncmp(row->yardstick, "row:", 4) != 0) {
            all[i].yardstick[r] = spec_yardstick_rate(row->yardstick, seconds);
        }
    }
    for (int i = 0; i < n; i++) {
        const spec_bench_row *row = all[i].row;
        if (row->yardstick == NULL || strncmp(row->yardstick, "row:", 4) != 0) continue;
        const measure *other = find(all, n, row->yardstick + 4);
        if (other != NULL) all[i].yardstick[r] = other->rate[r];
    }
}

/* The goals of a table, by the medians. */
typedef struct {
    int asked, reached, n_missed;
    const char *missed[MEASURES_MAX]; /* the works */
} goals;

/* Prints one line of the table, and counts its goal. */
static void print_row(const measure *m, int repeats, goals *counted)
{
    char here[16], best[16], beside[16], wanted[16] = "", ratio_text[24] = "-",
                                         wanted_ratio[16] = "", unit[32];
    const spec_bench_row *row = m->row;
    if (m->reason != NULL) {
        printf("%-36s  skipped: %s\n", row->work, m->reason);
        return;
    }
    const double rate = median(m->rate, repeats);
    double yardstick = NAN, ratio = NAN, quotient[REPEATS_MAX];
    if (row->yardstick != NULL) {
        const double per = row->per > 0.0 ? row->per : 1.0;
        for (int r = 0; r < repeats; r++) quotient[r] = m->rate[r] / (m->yardstick[r] / per);
        yardstick = median(m->yardstick, repeats) / per;
        ratio = median(quotient, repeats);
        if (isfinite(ratio))
            snprintf(ratio_text, sizeof ratio_text, "%.*f", ratio < 10.0 ? 2 : 1, ratio);
    }
    const char *verdict = "";
    if (row->asked > 0.0 || row->asked_ratio > 0.0) {
        const bool unknown = row->asked_ratio > 0.0 && !isfinite(ratio);
        const bool yes =
            !(rate < row->asked) && (row->asked_ratio == 0.0 || ratio >= row->asked_ratio);
        verdict = unknown ? "?" : yes ? "yes" : "NO";
        counted->asked++;
        counted->reached += yes && !unknown;
        if (!yes && !unknown) counted->missed[counted->n_missed++] = row->work;
        if (row->asked > 0.0) scaled(wanted, row->asked);
        if (row->asked_ratio > 0.0)
            snprintf(wanted_ratio, sizeof wanted_ratio, "%.3gx", row->asked_ratio);
    }
    snprintf(unit, sizeof unit, "%s/s", row->unit);
    printf("%-36s %9s%-9s %8s  %8s %6s  %8s %7s  %-4s  %s\n", row->work, scaled(here, rate), unit,
           scaled(best, gsl_stats_max(m->rate, 1, (size_t)repeats)), wanted, wanted_ratio,
           scaled(beside, yardstick), ratio_text, verdict,
           row->yardstick == NULL ? ""
           : isfinite(yardstick) || strncmp(row->yardstick, "row:", 4) == 0
               ? row->yardstick
               : "skipped: python3 lacks what its yardstick imports");
}

static void print_table(const measure *all, int n, int repeats)
{
    goals counted = {0};
    printf("%-36s %9s%-9s %8s  %8s %6s  %8s %7s  %-4s  %s\n", "work", "median", "", "best", "asked",
           "", "yardst.", "ratio", "met", "yardstick");
    for (int i = 0; i < n; i++) {
        if (i == 0 || all[i].family != all[i - 1].family) printf("-- %s\n", all[i].family);
        print_row(&all[i], repeats, &counted);
    }
    printf("%d of %d goals are reached; medians of %d interleaved repeats of %g s of "
           "processor time%s; "
           "instructions: %s\n",
           counted.reached, counted.asked, repeats, seconds,
           on_processor ? "" : " (threads: of wall time)", spec_cpu_isa_name(spec_cpu_best_isa()));
    for (int i = 0; i < counted.n_missed; i++)
        printf("%s%s", i == 0 ? "missed: " : "; ", counted.missed[i]);
    if (counted.n_missed > 0) printf("\n");
}

/* bench [-p] [-r REPEATS] [WORD]: rows whose work or family contains WORD, and their yardsticks. -p
 * takes processor time for all, which serves on a busy machine with OMP_NUM_THREADS=1. */
int main(int argc, char **argv)
{
    int repeats = 7, option;
    spec_supervisor_main(argc, argv);
    while ((option = getopt(argc, argv, "pr:")) != -1) {
        if (option == 'p') {
            on_processor = true;
            continue;
        }
        const long value = option == 'r' ? strtol(optarg, NULL, 10) : 0;
        if (value < 1 || value > REPEATS_MAX) {
            fprintf(stderr, "usage: bench [-p] [-r REPEATS (1..%d)] [WORD]\n", REPEATS_MAX);
            return 2;
        }
        repeats = (int)value;
    }
    const char *word = optind < argc ? argv[optind] : "";

    static measure all[MEASURES_MAX];
    static bool chosen[MEASURES_MAX];
    static measure kept[MEASURES_MAX];
    int n = 0, n_kept = 0;
    for (int f = 0; f < FAMILIES; f++) {
        for (const spec_bench_row *row = families[f].rows; row->work != NULL && n < MEASURES_MAX;
             row++, n++) {
            all[n].row = row;
            all[n].family = families[f].name;
            chosen[n] = strstr(row->work, word) != NULL || strstr(families[f].name, word) != NULL;
        }
    }
    for (int i = 0; i < n; i++) {
        const char *yardstick = all[i].row->yardstick;
        if (!chosen[i] || yardstick == NULL || strncmp(yardstick, "row:", 4) != 0) continue;
        const measure *other = find(all, n, yardstick + 4);
        if (other != NULL) chosen[other - all] = true;
    }
    for (int i = 0; i < n; i++) {
        if (chosen[i]) kept[n_kept++] = all[i];
    }

    for (int i = 0; i < n_kept; i++) {
        if (isatty(STDERR_FILENO)) fprintf(stderr, "\rpreparing %d of %d", i + 1, n_kept);
        kept[i].reason = kept[i].row->init(&kept[i].state, kept[i].row->setup);
        if (kept[i].reason == NULL) calibrate(&kept[i]);
    }
    for (int r = 0; r < repeats; r++) {
        if (isatty(STDERR_FILENO)) fprintf(stderr, "\rrepeat %d of %d      ", r + 1, repeats);
        repeat_all(kept, n_kept, r);
    }
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r%30s\r", "");
    print_table(kept, n_kept, repeats);

    for (int i = 0; i < n_kept; i++) {
        if (kept[i].reason == NULL) kept[i].row->free(kept[i].state);
    }
    spec_yardstick_close();
    return 0;
}
