/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/bench_times.h"

/* The client's count of tokens may differ by this share from the engine's, because first tokens
 * come from prefills and last rounds are cut. */
static const double SKEW = 0.10;

void spec_bench_times_add(spec_observation *o, const spec_bench_times *times)
{
    const double tokens = times->tokens - times->requests;
    const double busy = times->token_time * tokens;
    if (times->duration > 0.0) o->seconds = times->duration;
    if (times->duration > 0.0 && busy > 0.0) o->running = busy / times->duration;
    if (!(tokens >= 0.0)) return;
    if (o->K == 0) {
        o->emitted = o->passes = tokens;
    } else if (fabs(tokens - o->rounds - o->accepted) <= SKEW * tokens) {
        o->emitted = o->rounds + o->accepted;
        o->passes = o->rounds;
    } else if (tokens > o->rounds + o->accepted) {
        o->emitted = tokens;
        o->passes = tokens - o->accepted;
    }
}
