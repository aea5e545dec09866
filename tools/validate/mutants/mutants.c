/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/mutants/mutants.h"

#include "base/names.h"

#include <string.h>

static const spec_mutant *const themes[] = {
    spec_mutants_law,  spec_mutants_block,      spec_mutants_draft, spec_mutants_numbers,
    spec_mutants_rows, spec_mutants_parameters, spec_mutants_trees, spec_mutants_streams,
    spec_mutants_exact, spec_mutants_exact_trees,
};
enum { THEMES = sizeof themes / sizeof themes[0] };

const spec_mutant *spec_mutants_at(int i)
{
    for (int theme = 0; theme < THEMES; theme++)
        for (const spec_mutant *m = themes[theme]; m->name != NULL; m++)
            if (i-- == 0) return m;
    return spec_mutants_pair(i);
}

static const char *name_of(int i)
{
    const spec_mutant *m = spec_mutants_at(i);
    return m != NULL ? m->name : NULL;
}

int spec_mutants_find(const spec_mutant **ret_mutant, const char *name, spec_error *error)
{
    const int i = spec_names_find(name_of, name, "known mistake", error);
    *ret_mutant = i >= 0 ? spec_mutants_at(i) : NULL;
    return i >= 0 ? GSL_SUCCESS : GSL_EINVAL;
}

double spec_mutants_bf16(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}
