/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The power section of the text report. */
#include "tools/validate/validate_report.h"

#include <math.h>

enum { NAMES_MOST = 5 }; /* fixtures per line */

static const char *const place_titles[SPEC_PLACES] = {
    [SPEC_PLACE_FIRST] = "first token",  [SPEC_PLACE_LATER] = "later positions",
    [SPEC_PLACE_TEXT] = "text",          [SPEC_PLACE_CORRECTION] = "corrections",
    [SPEC_PLACE_BONUS] = "bonus tokens",
};

/* Selects the fixtures on which a place has no guarantee. */
typedef bool is_lacking(const spec_validate_result *result, spec_place place, double limit);

static bool is_not_covered(const spec_validate_result *result, spec_place place, double limit)
{
    return result->detectable[place].tv > limit;
}

static bool is_not_reached(const spec_validate_result *result, spec_place place, double limit)
{
    (void)limit;
    return result->detectable[place].exists && isnan(result->detectable[place].tv);
}

static bool is_partly_reached(const spec_validate_result *result, spec_place place, double limit)
{
    const spec_detectable *d = &result->detectable[place];
    (void)limit;
    return !isnan(d->tv) && d->seldom > 0;
}

static void write_lacking(const spec_validation *v, const char *title, is_lacking *lacks, FILE *out)
{
    bool titled = false;
    for (spec_place place = 0; place < SPEC_PLACES; place++) {
        int n = 0;
        for (int i = 0; i < v->n_results; i++) {
            const spec_validate_result *result = &v->result[i];
            if (result->draws == 0 || !lacks(result, place, spec_validate_limit(&v->plan)))
                continue;
            if (!titled) fprintf(out, "  %s\n", title);
            titled = true;
            if (n == 0) fprintf(out, "    %-16s", place_titles[place]);
            if (n++ < NAMES_MOST)
                fprintf(out, "%s %s %s", n > 1 ? "," : "", result->kind->name,
                        spec_validate_report_scope(result->scope));
        }
        if (n > NAMES_MOST) fprintf(out, " and %d more", n - NAMES_MOST);
        if (n > 0) fputc('\n', out);
    }
}

static void write_tv(double tv, FILE *out)
{
    if (tv < 1.0)
        fprintf(out, "  %7.2g", tv);
    else
        fputs("        -", out);
}

void spec_validate_report_power(const spec_validation *v, FILE *out)
{
    char title[64];
    fprintf(out,
            "  power        a difference of this TV or more in the tokens after one state is found "
            "with a chance of %g%s\n"
            "                       median    worst  guaranteed on\n",
            v->plan.power, v->plan.endless ? ", by the e-value alone" : "");
    for (spec_place place = 0; place < SPEC_PLACES; place++) {
        const spec_validate_power *power = &v->power[place];
        if (power->reached == 0) continue;
        fprintf(out, "    %-16s", place_titles[place]);
        write_tv(power->median, out);
        write_tv(power->worst, out);
        fprintf(out, "  %d of %d fixtures\n", power->covered, power->reached);
    }
    snprintf(title, sizeof title, "no guarantee, or only from a TV of %g on",
             spec_validate_limit(&v->plan));
    write_lacking(v, title, is_not_covered, out);
    write_lacking(v, "tokens that the sampler never emits, or fewer than one in 1,000",
                  is_not_reached, out);
    write_lacking(v, "the same after some of the states, for which there is no guarantee",
                  is_partly_reached, out);
}
