/* fixtures_rows: fixtures whose rows are those of real models, from a file of rows (models/rows/rows_file.h): places
 * where little of the draft is accepted, some of it, most of it, and places of all kinds side by side.
 * A set of fixtures owns the file, and must outlive what is opened of it. */
#ifndef SPECLAB_FIXTURES_ROWS_H
#define SPECLAB_FIXTURES_ROWS_H

#include "experiments/conformance/fixture.h"
#include "models/rows/rows_file.h"

enum { SPEC_FIXTURES_ROWS = 4, SPEC_FIXTURES_ROWS_PLACES = 4096 };

typedef struct spec_fixtures_rows spec_fixtures_rows;

/* One of them; its kind comes first. */
typedef struct {
    spec_fixture_kind kind;
    const spec_fixtures_rows *set;
    double low, high; /* of the places in order of their overlap: from here to there, as shares of all */
    bool blind;
} spec_fixture_of_rows;

struct spec_fixtures_rows {
    spec_rows_file file;
    uint64_t *place; /* (n_places) by their overlap, the least first; at most SPEC_FIXTURES_ROWS_PLACES of the file's */
    size_t n_places;
    spec_fixture_of_rows one[SPEC_FIXTURES_ROWS];
    const spec_fixture_kind *kind[SPEC_FIXTURES_ROWS + 1]; /* NULL-terminated */
};

/* GSL_EINVAL for what is no file of rows, or has no draft. Places are taken evenly from a long file. */
int spec_fixtures_rows_init(spec_fixtures_rows *set, const char *path, spec_error *error);
void spec_fixtures_rows_free(spec_fixtures_rows *set); /* a zeroed one is fine */

#endif
