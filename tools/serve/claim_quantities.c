/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/claim_quantities.h"

#include "base/names.h"
#include "tools/serve/claim_formulas.h"
#include "tools/serve/claim_lengths.h"
#include "tools/serve/claim_runs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const spec_claim_quantity spec_claim_quantities[] = {
    {"latency_speedup", "of mean latency over K = 0, same Poisson arrivals, simulated",
     spec_claim_latency_speedup},
    {"tokens_speedup", "of tokens per second at this batch and context", spec_claim_tokens_speedup},
    {"floor", "the least speed-up of tokens per second, without drafts: E[n_emitted] / (K+1)",
     spec_claim_floor},
    {"capacity", "requests per second at load 1", spec_claim_capacity},
    {"break_even_batch", "below it speculation raises tokens per second",
     spec_claim_break_even_batch},
    {"break_even_context", "above it speculation raises tokens per second at every batch",
     spec_claim_break_even_context},
    {"continuous_rounds",
     "of a request in a full batch, over those of its own distribution, "
     "simulated",
     spec_claim_continuous_rounds},
    {"static_rounds", "of a static batch, over those of a request: E[max N] / E[N]",
     spec_claim_static_rounds},
    {"implied_round", "time of a round that a speed-up implies, in plain steps",
     spec_claim_implied_round},
    {"replayed_speedup", "of tokens per second, replaying accepted lengths request by request",
     spec_claim_replayed_speedup},
    {"stop_mean",
     "tokens per second over the optimum where drafting stops at the first token that does "
     "not gain, mean over random batches",
     spec_claim_stop_mean},
    {"stop_worst", "the least of these", spec_claim_stop_worst},
    {"common_mean", "tokens per second of the best common K over the optimum, mean",
     spec_claim_common_mean},
    {"common_worst", "the least of these", spec_claim_common_worst},
    {"ahead_gain", "of drafting ahead in a synchronous batch over drafting beforehand",
     spec_claim_ahead_gain},
    {"parallel_throughput",
     "of target servers that all serve one request in turn (DSI), over "
     "that of plain servers in parallel",
     spec_claim_parallel_throughput},
    {"threshold", "accepted/drafted over the least that pays at this batch", spec_claim_threshold},
    {NULL, NULL, NULL},
};

const spec_claim_quantity *spec_claim_quantity_find(const char *name, spec_error *error)
{
    const char *names[sizeof spec_claim_quantities / sizeof *spec_claim_quantities];
    char meant[SPEC_NAMES_MEANT_SIZE];
    size_t n = 0;
    for (; spec_claim_quantities[n].name != NULL; n++) {
        if (strcmp(spec_claim_quantities[n].name, name) == 0) return &spec_claim_quantities[n];
        names[n] = spec_claim_quantities[n].name;
    }
    names[n] = NULL;
    spec_fail(error, GSL_EINVAL, "there is no quantity '%.60s'%s", name,
              spec_names_meant(meant, name, names, ""));
    return NULL;
}

const char *const spec_claim_relations[] = {"at least", "at most", "more than", "is", NULL};

const char *spec_claim_verdict(const spec_claim_value *value, spec_claim_relation relation,
                               double printed, double within)
{
    bool low, high; /* whether each end of the interval agrees with the claim */
    switch (relation) {
    case SPEC_CLAIM_AT_LEAST:
        low = value->low >= printed;
        high = value->high >= printed;
        break;
    case SPEC_CLAIM_AT_MOST:
        low = value->low <= printed;
        high = value->high <= printed;
        break;
    case SPEC_CLAIM_MORE_THAN:
        low = value->low > printed;
        high = value->high > printed;
        break;
    default: return fabs(value->value / printed - 1.0) <= within ? "reproduced" : "differs";
    }
    return low != high ? "undecided" : low ? "holds" : "refuted";
}
