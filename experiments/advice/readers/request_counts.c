/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/request_counts.h"

/* For functions with a record and an error. */
#define BAD(...) spec_log_bad(record, error, __VA_ARGS__)

int spec_request_counts_complete(const spec_request_counts *c, const spec_log_record *record,
                                 spec_error *error)
{
    const spec_json_member *const counts[] = {&c->rounds, &c->accepted, &c->drafted};
    const spec_json_member *given = c->accepted.value.bytes != NULL ? &c->accepted
                                    : c->rounds.value.bytes != NULL ? &c->rounds
                                                                    : &c->drafted;
    for (int i = 0; i < 3; i++)
        if (counts[i]->value.bytes == NULL)
            return BAD("a count '%s' is expected beside '%s'", counts[i]->key, given->key);
    return GSL_SUCCESS;
}

/* The sums of a histogram, in place of counts that are absent; they must agree with the others. */
static int take_histogram(spec_observation *o, const spec_request_counts *c,
                          const spec_log_record *record, spec_error *error)
{
    double count[SPEC_JSON_MEMBER_COUNTS];
    int n;
    const int status = spec_json_member_counts(count, &n, &c->histogram, record, error);
    if (status != GSL_SUCCESS || n == 0) return status;
    const bool dense = *c->histogram.value.bytes == '[';
    if (o->K >= 0 && (n > o->K + 1 || (dense && n < o->K + 1)))
        return BAD("'%s' has %d entries, '%s' is %d: expected %d", c->histogram.key, n, c->K.key,
                   o->K, o->K + 1);
    double rounds = 0.0, accepted = 0.0;
    for (int i = n; i-- > 0;) {
        if (i < SPEC_OBSERVED_DEPTHS) o->passed[i] = rounds; /* that accept more than i tokens */
        rounds += count[i];
        accepted += i * count[i];
    }
    if (isnan(o->rounds)) o->rounds = rounds;
    if (isnan(o->accepted)) o->accepted = accepted;
    if (o->rounds != rounds)
        return BAD("'%s' has %.0f rounds, '%s' is %.0f", c->histogram.key, rounds, c->rounds.key,
                   o->rounds);
    if (o->accepted != accepted)
        return BAD("'%s' has %.0f accepted tokens, '%s' is %.0f", c->histogram.key, accepted,
                   c->accepted.key, o->accepted);
    o->depths = o->K >= 0 ? o->K : n - 1;
    if (o->depths > SPEC_OBSERVED_DEPTHS) o->depths = SPEC_OBSERVED_DEPTHS;
    return GSL_SUCCESS;
}

int spec_request_counts_read(spec_observation *o, const spec_request_counts *c,
                             const spec_log_record *record, spec_error *error)
{
    int status = GSL_SUCCESS;
    double K;
    SPEC_TRY(spec_json_member_count(&o->rounds, &c->rounds, record, error));
    SPEC_TRY(spec_json_member_count(&o->accepted, &c->accepted, record, error));
    SPEC_TRY(spec_json_member_count(&o->drafted, &c->drafted, record, error));
    SPEC_TRY(spec_json_member_count(&o->emitted, &c->emitted, record, error));
    SPEC_TRY(spec_json_member_count(&K, &c->K, record, error));
    if (K > SPEC_OBSERVED_DEPTHS)
        SPEC_TRY(BAD("'%s' is %.0f: expected at most %d", c->K.key, K, SPEC_OBSERVED_DEPTHS));
    if (!isnan(K)) o->K = (int)K;
    SPEC_TRY(take_histogram(o, c, record, error));
    o->rounds_low = o->rounds_high = o->rounds;
    if (c->widths_vary) goto done;
    if (o->accepted > o->drafted)
        SPEC_TRY(BAD("'%s' is %.0f, more than '%s', %.0f", c->accepted.key, o->accepted,
                     c->drafted.key, o->drafted));
    if (o->rounds == 0 && o->drafted > 0)
        SPEC_TRY(
            BAD("'%s' is %.0f without a round in '%s'", c->drafted.key, o->drafted, c->rounds.key));
    if (o->K >= 0 && o->drafted > o->rounds * o->K)
        SPEC_TRY(BAD("'%s' is %.0f, more than %.0f rounds of %d tokens", c->drafted.key, o->drafted,
                     o->rounds, o->K));
done:
    return status;
}

int spec_request_counts_per_step(const spec_observation *o, const spec_json_member *accepted,
                                 const spec_json_member *drafted, const spec_log_record *record,
                                 spec_error *error)
{
    if (accepted->value.bytes == NULL || drafted->value.bytes == NULL) return GSL_SUCCESS;
    spec_json_member a = {.key = accepted->key}, d = {.key = drafted->key};
    size_t at_a = 0, at_d = 0;
    double n = 0.0, sum_a = 0.0, sum_d = 0.0;
    for (;; n++) {
        const bool one = spec_json_part_next(&a.value, accepted->value, &at_a);
        const bool two = spec_json_part_next(&d.value, drafted->value, &at_d);
        if (one != two) return BAD("'%s' and '%s' have different lengths", a.key, d.key);
        if (!one) break;
        double step_a, step_d;
        int status = spec_json_member_count(&step_a, &a, record, error);
        if (status == GSL_SUCCESS) status = spec_json_member_count(&step_d, &d, record, error);
        if (status != GSL_SUCCESS) return status;
        if (step_a > step_d)
            return BAD("'%s' and '%s': a round accepts %.0f of %.0f tokens", a.key, d.key, step_a,
                       step_d);
        sum_a += step_a;
        sum_d += step_d;
    }
    if (n != o->rounds || sum_a != o->accepted || sum_d != o->drafted)
        return BAD("'%s' and '%s' have %.0f rounds, %.0f of %.0f tokens: expected %.0f, %.0f of "
                   "%.0f",
                   a.key, d.key, n, sum_a, sum_d, o->rounds, o->accepted, o->drafted);
    return GSL_SUCCESS;
}

void spec_request_counts_emitted(spec_observation *o, double emitted)
{
    o->emitted = emitted;
    const double passes = emitted - 1.0 - o->accepted;
    if (passes >= o->rounds) o->passes = passes;
}

int spec_request_counts_hand_over(spec_observation *o, const spec_request_counts *c,
                                  const spec_json_place *place, spec_error *error)
{
    const spec_log_record *record = place->record;
    const bool drafted = !isnan(o->drafted), accepted = !isnan(o->accepted);
    if (drafted != accepted)
        return BAD("'%s' is expected beside '%s'", drafted ? c->accepted.key : c->drafted.key,
                   drafted ? c->drafted.key : c->accepted.key);
    if (o->accepted > o->emitted)
        return BAD("'%s' is %.0f, more than '%s', %.0f", c->accepted.key, o->accepted,
                   c->emitted.key, o->emitted);
    if (!drafted && isnan(o->emitted)) return GSL_SUCCESS;
    if (drafted) {
        o->K = record->K;
        o->passes = o->emitted - o->accepted;
    } else {
        spec_observation_decode_plainly(o, o->emitted);
    }
    o->label = spec_json_part_model(place->element);
    place->learned->generation = 0;
    place->learned->gaps = SPEC_LOG_NO_DEPTHS | (isnan(o->rounds) ? SPEC_LOG_NO_ROUNDS : 0) |
                           (isnan(o->seconds) ? SPEC_LOG_NO_TIMES : 0);
    return record->observer->take(record->observer->self, o, error);
}

bool spec_request_counts_unfinished(spec_json_part response)
{
    return spec_json_part_is(spec_json_part_find(response, "finish_reason"), "null") ||
           spec_json_part_is(spec_json_part_find(response, "stop"), "false");
}
