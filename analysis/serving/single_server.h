/* SPDX-License-Identifier: GPL-3.0-or-later */
/* single_server: an engine with one slot, which serves Poisson arrivals one after another.
 * This is the queue M/G/1, whose service time is the time of a request that runs alone. Pure
 * functions, NaN outside the domain. [Pollaczek30; Khinchine32];
 * docs/formulas/serving.md#single-server. */
#ifndef SPECLAB_SINGLE_SERVER_H
#define SPECLAB_SINGLE_SERVER_H

/* Returns the mean wait from arrival to the first step, s.
 *
 *     rate square / (2 (1 - rate mean))                        [Pollaczek30; Khinchine32]
 *
 *   rate    arrivals, requests/s, >= 0
 *   mean    service time, s, > 0: spec_request_life_total with spec_request_costs_alone
 *   square  its mean square, s^2, >= mean^2
 *   returns s; inf if the load, rate mean, is 1 or more
 * Checked by: the Markov chain of the requests that departures leave behind. */
double spec_single_server_wait(double rate, double mean, double square);

/* Returns the mean latency from arrival to the last token: wait + mean. */
double spec_single_server_latency(double rate, double mean, double square);

#endif
