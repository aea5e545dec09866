/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab accept as its users run it. SPECLAB names the program. */
#include "tests/support/child.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <string.h>

/* Returns the number in a column of the row that begins with these cells. */
static double cell(const char *csv, const char *row, const char *column)
{
    char wanted[64];
    int at = 0;
    const char *head = strstr(csv, "\nrule,");
    const char *found = head != NULL ? strstr(head, column) : NULL;
    assert_non_null(found);
    for (const char *c = head; c < found; c++) at += *c == ',';
    snprintf(wanted, sizeof wanted, "\n%s,", row);
    const char *line = strstr(csv, wanted);
    if (line == NULL) fail_msg("no row %s", row);
    for (line++; at > 0; line++) at -= *line == ',';
    return strtod(line, NULL);
}

/* tests/oracle/vectors.py: rational arithmetic and flows. */
TEST(the_reference_vectors_come_out_to_ten_digits)
{
    static const struct {
        const char *row;
        double acceptance, optimal;
    } first[] = {
        {"token,chain,1", 0.7, 0.7},
        {"match,chain,1", 0.31, 0.7},
        {"match,iid,2", 0.507, 0.86},
        {"naive-tree,iid,2", 0.76, 0.86},
        {"rrs,iid,2", 0.76, 0.86},
        {"kseq,iid,2", 0.791355287257, 0.86},
        {"rrsw,without,2", 283.0 / 350.0, 69.0 / 70.0},
        {"spechub,hub,2", 0.9, 0.9},
        {"token-rest,greedy,2", 0.9, 0.9},
        {"match,top,2", 0.5, 0.5},
        {"match,iid,3", 0.6379, 247.0 / 250.0},
        {"rrs,iid,3", 0.808, 247.0 / 250.0},
        {"kseq,iid,3", 0.858518605654, 247.0 / 250.0},
        {"rrsw,without,3", 1.0, 1.0},
    }, second[] = {{"rrs,iid,2", 0.82, 0.89}, {"rrsw,without,2", 0.875, 139.0 / 140.0}};
    spec_child c;
    spec_needs_program();
    spec_child_run(&c, "accept --target probs:0.5,0.3,0.2 --draft probs:0.2,0.5,0.3 --n 1:3");
    assert_int_equal(c.code, 0);
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        assert_within(cell(c.text, first[i].row, "acceptance"), first[i].acceptance, 1e-9);
        assert_within(cell(c.text, first[i].row, "enumerated"), first[i].acceptance, 1e-9);
        assert_within(cell(c.text, first[i].row, "optimal"), first[i].optimal, 1e-9);
        assert_within(cell(c.text, first[i].row, "ratio"), first[i].acceptance / first[i].optimal,
                      1e-9);
    }
    assert_null(strstr(c.text, "NOT EQUAL"));
    spec_child_free(&c);
    spec_child_run(&c, "accept --target probs:0.3,0.4,0.3 --draft probs:0.6,0.3,0.1 --n 2");
    for (size_t i = 0; i < sizeof second / sizeof second[0]; i++) {
        assert_within(cell(c.text, second[i].row, "acceptance"), second[i].acceptance, 1e-9);
        assert_within(cell(c.text, second[i].row, "optimal"), second[i].optimal, 1e-9);
    }
    spec_child_free(&c);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
