#include "experiments/conformance/fixtures_rows.h"

#include "models/row.h"

#include <gsl/gsl_sort.h>
#include <stdlib.h>

/* Largest vocabularies of fixtures of three drafted tokens, and of batches of some length. */
enum { SMALL = 1024, MIDDLE = 8192 };

/* ---- opening one ------------------------------------------------------------------------------------------------- */

/* The states' places are spread evenly over the share. */
static int fill_state(spec_fixture *fixture, const spec_fixture_of_rows *of, int state, double *row, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_fixtures_rows *set = of->set;
    const double share = of->low + (of->high - of->low) * (state + 0.5) / fixture->n_states;
    const uint64_t place = set->place[(size_t)(share * (double)set->n_places)];
    for (int side = 0; side < 2; side++) {
        SPEC_TRY(spec_rows_file_row(row, &set->file, place, side, error));
        spec_fixture_set(fixture, side == 1, state, row);
    }
done:
    return status;
}

static int open_rows(spec_fixture *fixture, spec_error *error)
{
    const spec_fixture_of_rows *of = (const spec_fixture_of_rows *)fixture->kind; /* its first member */
    const int vocab = of->set->file.vocab;
    int status = GSL_SUCCESS;
    double *row = malloc((size_t)vocab * sizeof *row);
    if (row == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for rows of %d probabilities", vocab));
    SPEC_TRY(spec_fixture_alloc(fixture, vocab, NULL, vocab <= SMALL ? 3 : 1, vocab <= SMALL ? 4 : 2, error));
    fixture->blind = of->blind;
    fixture->batch = vocab <= SMALL ? 256 : vocab <= MIDDLE ? 64 : 8;
    for (int state = 0; state < fixture->n_states; state++) SPEC_TRY(fill_state(fixture, of, state, row, error));
    SPEC_TRY(spec_fixture_finish(fixture, error));
done:
    free(row);
    return status;
}

/* ---- the set ----------------------------------------------------------------------------------------------------- */

/* The places by their overlaps. */
static int sort_places(spec_fixtures_rows *set, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_rows_file *file = &set->file;
    const size_t vocab = (size_t)file->vocab;
    const uint64_t most = SPEC_FIXTURES_ROWS_PLACES;
    const size_t n = file->places < most ? (size_t)file->places : (size_t)most;
    double *row = malloc(2 * vocab * sizeof *row), *overlap = malloc(n * sizeof *overlap);
    size_t *order = malloc(n * sizeof *order);
    set->place = malloc(n * sizeof *set->place);
    if (row == NULL || overlap == NULL || order == NULL || set->place == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for %zu places", n));
    for (size_t i = 0; i < n; i++) {
        for (int side = 0; side < 2; side++)
            SPEC_TRY(spec_rows_file_row(row + (size_t)side * vocab, file, i * file->places / n, side, error));
        overlap[i] = spec_row_overlap(row, row + vocab, file->vocab);
    }
    gsl_sort_index(order, overlap, 1, n);
    for (size_t i = 0; i < n; i++) set->place[i] = order[i] * file->places / n;
    set->n_places = n;
done:
    free(order);
    free(overlap);
    free(row);
    return status;
}

int spec_fixtures_rows_init(spec_fixtures_rows *set, const char *path, spec_error *error)
{
    const spec_fixture_of_rows line[SPEC_FIXTURES_ROWS] = {
        {{"rows-low", "real rows, where the draft is bad: corrections, residuals of long tails",
          SPEC_SCOPE_VERIFY | SPEC_SCOPE_STREAM, open_rows}, set, 0.0, 0.2, false},
        {{"rows-middle", "real rows, as most are",
          SPEC_SCOPE_VERIFY | SPEC_SCOPE_STREAM, open_rows}, set, 0.4, 0.6, false},
        {{"rows-high", "real rows, where the draft is good: late places, bonus tokens, small residuals",
          SPEC_SCOPE_VERIFY | SPEC_SCOPE_STREAM, open_rows}, set, 0.8, 1.0, false},
        {{"rows-blind", "real rows of all kinds side by side, verified and drawn", SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT,
          open_rows}, set, 0.0, 1.0, true},
    };
    int status = GSL_SUCCESS;
    *set = (spec_fixtures_rows){0};
    SPEC_TRY(spec_rows_file_open(&set->file, path, error));
    if (set->file.sides < 2) SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.160s: rows of a target without a draft", path));
    SPEC_TRY(sort_places(set, error));
    for (int i = 0; i < SPEC_FIXTURES_ROWS; i++) {
        set->one[i] = line[i];
        set->kind[i] = &set->one[i].kind;
    }
done:
    if (status != GSL_SUCCESS) spec_fixtures_rows_free(set);
    return status;
}

void spec_fixtures_rows_free(spec_fixtures_rows *set)
{
    spec_rows_file_close(&set->file);
    free(set->place);
    *set = (spec_fixtures_rows){0};
}
