/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/timing_report.h"

#include "analysis/statistics/moments.h"
#include "base/build_info.h"
#include "base/cpu.h"
#include "base/memory_text.h"
#include "base/thread_pool.h"
#include "models/transformer/engine/placement.h"
#include "tools/bench/timing_load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 128, DEPTHS_SHOWN = 16, LIST_SIZE = 1024 };

const char *const spec_timing_report_columns[] = {"K",
                                                  "pass",
                                                  "texts",
                                                  "rounds",
                                                  "tokens_per_round",
                                                  "tokens_per_round_se",
                                                  "tokens_per_round_predicted",
                                                  "tokens_per_round_by_depth",
                                                  "alpha_tested_pooled",
                                                  "alpha_tested",
                                                  "beta",
                                                  "beta_z",
                                                  "ahead",
                                                  "verify",
                                                  "c",
                                                  "c_se",
                                                  "c_low",
                                                  "c_high",
                                                  "c_in_run",
                                                  "speedup",
                                                  "speedup_se",
                                                  "speedup_low",
                                                  "speedup_high",
                                                  "speedup_predicted",
                                                  "speedup_costed",
                                                  "best",
                                                  "tokens_per_s",
                                                  "plain_ms",
                                                  "round_ms",
                                                  "draft_ms",
                                                  "draft_ms_costed",
                                                  "verify_ms",
                                                  "verify_ms_costed",
                                                  "ahead_ms",
                                                  "ahead_ms_costed",
                                                  "handed",
                                                  "hit",
                                                  "hit_low",
                                                  "hit_high",
                                                  "hit_predicted",
                                                  "guess",
                                                  "gain",
                                                  "gain_low",
                                                  "gain_high",
                                                  "gain_predicted",
                                                  "gain_costed",
                                                  "rule_ms",
                                                  "rest_ms",
                                                  "gap_tokens",
                                                  "gap_draft",
                                                  "gap_verify",
                                                  "gap_rule",
                                                  "gap_rest",
                                                  "target_pass_ms",
                                                  "target_pass_ratio",
                                                  "target_pass_ratio_se",
                                                  "target_pass_limit_ms",
                                                  "target_pass_experts",
                                                  "target_pass_experts_expected",
                                                  "target_pass_bytes",
                                                  "target_pass_gb_per_s",
                                                  "target_pass_read_share",
                                                  "draft_pass_ms",
                                                  "draft_pass_ratio",
                                                  "draft_pass_ratio_se",
                                                  "draft_pass_limit_ms",
                                                  "draft_pass_experts",
                                                  "draft_pass_experts_expected",
                                                  "draft_pass_bytes",
                                                  "draft_pass_gb_per_s",
                                                  "draft_pass_read_share",
                                                  "threads",
                                                  "processors",
                                                  "clock",
                                                  "waits_on_card",
                                                  "processor_share",
                                                  "switches_per_s",
                                                  "others",
                                                  "lost",
                                                  "spread",
                                                  "plain_spread",
                                                  "speed_spread",
                                                  NULL};

enum { N_COLUMNS = sizeof spec_timing_report_columns / sizeof spec_timing_report_columns[0] - 1 };

/* ---- words ----------------------------------------------------------------------------------- */

/* Reads the processor's model name. */
static void machine_name(char name[NAME_SIZE])
{
    char line[512];
    FILE *in = fopen("/proc/cpuinfo", "r");
    snprintf(name, NAME_SIZE, "unknown processor");
    while (in != NULL && fgets(line, sizeof line, in) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
        snprintf(name, NAME_SIZE, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (in != NULL) fclose(in);
}

/* Lists the acceptance rate at each depth of one way, "0.89 0.87". */
static void betas(char list[LIST_SIZE], const spec_timing_way *way)
{
    size_t used = 0;
    list[0] = '\0';
    for (int i = 0; i < way->K && i < DEPTHS_SHOWN && way->tally.tested[i] > 0; i++)
        used += (size_t)snprintf(list + used, LIST_SIZE - used, "%s%.3g", i > 0 ? " " : "",
                                 (double)way->tally.passed[i] / (double)way->tally.tested[i]);
}

static void fill_standing(spec_table *table, const spec_timing_prediction *p, int i)
{
    if (i == p->best) spec_table_text(table, "best", "best");
    else if (p->speed[i].tied) spec_table_text(table, "best", "alike");
}

/* The probability that a normal number exceeds SPEC_CHECK_Z. z is not normal if there are few
 * tokens and they are almost certain to be accepted. */
#define SPEC_BY_CHANCE 5.7e-7

bool spec_timing_report_contradicts(const spec_timing_prediction *p, int *ret_K, double *ret_z)
{
    for (int i = 0; i < p->n_speeds; i++) {
        *ret_K = p->speed[i].way->K;
        *ret_z = p->speed[i].beta_z;
        if (fabs(*ret_z) > SPEC_CHECK_Z && p->speed[i].beta_log_e > -log(SPEC_BY_CHANCE))
            return true;
    }
    return false;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void fill_speed(spec_table *table, const spec_timing *timed, const spec_timing_prediction *p,
                       int i)
{
    const spec_timing_speed *speed = &p->speed[i];
    char list[LIST_SIZE];
    betas(list, speed->way);
    spec_table_integer(table, "K", speed->way->K);
    spec_table_integer(table, "ahead", speed->way->ahead);
    spec_table_text(table, "verify", speed->way->device ? "device" : "host");
    spec_table_integer(table, "texts", timed->n_blocks);
    spec_table_integer(table, "rounds", (long long)speed->way->tally.rounds);
    spec_table_number(table, "tokens_per_round", speed->tokens_per_round.value);
    spec_table_number(table, "tokens_per_round_se", speed->tokens_per_round.se);
    spec_table_number(table, "tokens_per_round_predicted", speed->tokens_theorem);
    spec_table_number(table, "tokens_per_round_by_depth", speed->tokens_by_depth);
    spec_table_number(table, "alpha_tested_pooled", p->alpha);
    spec_table_number(table, "alpha_tested", speed->alpha_tested);
    spec_table_text(table, "beta", list);
    spec_table_number(table, "beta_z", speed->beta_z);
    spec_table_number(table, "c", p->c.value);
    spec_table_number(table, "c_se", p->c.se);
    spec_table_number(table, "c_low", p->c.low);
    spec_table_number(table, "c_high", p->c.high);
    spec_table_number(table, "c_in_run", speed->c_in_run);
    spec_table_number(table, "speedup", speed->speedup.value);
    spec_table_number(table, "speedup_se", speed->speedup.se);
    spec_table_number(table, "speedup_low", speed->speedup.low);
    spec_table_number(table, "speedup_high", speed->speedup.high);
    spec_table_number(table, "speedup_predicted", speed->speedup_theorem);
    spec_table_number(table, "speedup_costed", speed->speedup_costed);
    fill_standing(table, p, i);
    spec_table_number(table, "tokens_per_s", speed->speedup.value / p->plain.value);
    const spec_phases *round = &speed->round;
    spec_table_number(table, "plain_ms", 1e3 * p->plain.value);
    spec_table_number(table, "round_ms",
                      1e3 *
                          (round->draft + round->score + round->ahead + round->rule + round->rest));
    spec_table_number(table, "draft_ms", 1e3 * round->draft);
    spec_table_number(table, "draft_ms_costed", 1e3 * speed->draft_costed);
    spec_table_number(table, "verify_ms", 1e3 * round->score);
    spec_table_number(table, "verify_ms_costed", 1e3 * speed->verify_costed);
    if (speed->way->ahead) {
        spec_table_number(table, "ahead_ms", 1e3 * round->ahead);
        spec_table_number(table, "ahead_ms_costed", 1e3 * speed->ahead_costed);
        spec_table_number(table, "handed", speed->handed);
        spec_table_number(table, "hit", speed->hit.value);
        spec_table_number(table, "hit_low", speed->hit.low);
        spec_table_number(table, "hit_high", speed->hit.high);
        spec_table_number(table, "hit_predicted", speed->hit_predicted);
        spec_table_number(table, "guess", p->guess);
        spec_table_number(table, "gain", speed->gain.value);
        spec_table_number(table, "gain_low", speed->gain.low);
        spec_table_number(table, "gain_high", speed->gain.high);
        spec_table_number(table, "gain_predicted", speed->gain_predicted);
        spec_table_number(table, "gain_costed", speed->gain_costed);
    }
    spec_table_number(table, "rule_ms", 1e3 * round->rule);
    spec_table_number(table, "rest_ms", 1e3 * round->rest);
    spec_table_number(table, "gap_tokens", speed->gap_tokens);
    spec_table_number(table, "gap_draft", speed->gap_draft);
    spec_table_number(table, "gap_verify", speed->gap_verify);
    spec_table_number(table, "gap_rule", speed->gap_rule);
    spec_table_number(table, "gap_rest", speed->gap_rest);
}

static void fill_load(spec_table *table, const spec_timing_trust *trust,
                      const spec_timing_load *load)
{
    spec_table_integer(table, "threads", trust->threads);
    spec_table_integer(table, "processors", trust->processors);
    spec_table_text(table, "clock", trust->processor_clock ? "processor" : "wall");
    spec_table_integer(table, "waits_on_card", trust->waits_on_card);
    spec_table_number(table, "processor_share", load->processor_share);
    spec_table_number(table, "switches_per_s", load->switches_per_s);
    spec_table_number(table, "others", trust->others);
    spec_table_number(table, "lost", trust->lost);
    spec_table_number(table, "spread", load->spread);
    spec_table_number(table, "plain_spread", trust->spread);
    spec_table_number(table, "speed_spread", trust->speed_spread);
}

/* Fills a column of the target's passes, or of the draft's. */
static void fill_of(spec_table *table, const char *which, const char *what, double value)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%s_pass_%s", which, what);
    spec_table_number(table, name, value);
}

static void fill_device(spec_table *table, const char *which, const spec_timing_limit *limit,
                        double limit_seconds, double seconds, int width, double experts)
{
    const double bytes =
        limit->opt_backend != NULL ? spec_pass_work_bytes(&limit->work, experts) : NAN;
    fill_of(table, which, "limit_ms", 1e3 * limit_seconds);
    fill_of(table, which, "experts", experts);
    fill_of(table, which, "experts_expected", spec_timing_limit_experts(limit, width));
    fill_of(table, which, "bytes", bytes);
    fill_of(table, which, "gb_per_s", 1e-9 * bytes / seconds);
    fill_of(table, which, "read_share", spec_timing_limit_share(limit, experts, seconds));
}

static void fill_pass(spec_table *table, const spec_timing *timed, const spec_timing_pass *pass)
{
    spec_table_integer(table, "pass", pass->width);
    spec_table_number(table, "target_pass_ms", 1e3 * pass->target);
    spec_table_number(table, "target_pass_ratio", pass->target_ratio.value);
    spec_table_number(table, "target_pass_ratio_se", pass->target_ratio.se);
    fill_device(table, "target", &timed->target_limit, pass->target_limit, pass->target,
                pass->width, pass->target_experts);
    spec_table_number(table, "draft_pass_ms", 1e3 * pass->draft);
    spec_table_number(table, "draft_pass_ratio", pass->draft_ratio.value);
    spec_table_number(table, "draft_pass_ratio_se", pass->draft_ratio.se);
    fill_device(table, "draft", &timed->draft_limit, pass->draft_limit, pass->draft, pass->width,
                pass->draft_experts);
}

/* Returns whether this pass is the largest of some K, and so belongs to its row. */
static bool has_row(const spec_timing_prediction *p, int width)
{
    for (int i = 0; i < p->n_speeds; i++)
        if (p->speed[i].way->widest == width) return true;
    return false;
}

static void say_models(const spec_timing *timed, FILE *out)
{
    const spec_decoder_config *config = &timed->plan.decoder;
    fprintf(out, "target: %s\n", config->target->spec);
    if (config->opt_draft != NULL) fprintf(out, "draft: %s\n", config->opt_draft->spec);
    fprintf(out, "decoding: rule %s, drafting %s, policy %s%s\n", config->rule, config->drafting,
            config->policy, timed->way[1].device ? ", verified on the device" : "");
}

static void say_texts(const spec_timing *timed, FILE *out)
{
    const spec_timing_plan *plan = &timed->plan;
    char name[NAME_SIZE];
    machine_name(name);
    fprintf(out,
            "texts: %d of %d tokens, in turns of %d; prompts: %d, %s, of at most %zu tokens; seed "
            "%llu\n",
            timed->n_blocks, plan->tokens, plan->turn, plan->prompts->n, plan->prompts->source,
            spec_timing_prompts_longest(plan->prompts), (unsigned long long)plan->seed);
    const int threads = spec_thread_pool_size(plan->opt_pool);
    fprintf(out, "machine: %s, %d thread%s, %s%s\n", name, threads, threads > 1 ? "s" : "",
            spec_cpu_isa_name(spec_cpu_isa()),
            plan->clock.seconds == spec_clock_processor().seconds ? ", processor time" : "");
}

static void say_devices(const spec_timing *timed, FILE *out)
{
    const spec_decoder_config *config = &timed->plan.decoder;
    char text[SPEC_PLACEMENT_SIZE];
    if (spec_placement_text(text, config->target, config->opt_draft))
        fprintf(out, "devices: %s\n", text);
}

/* Writes the measured roofline of a device. */
static void say_roofline(const spec_timing_limit *limit, FILE *out)
{
    const spec_roofline *roofline = &limit->roofline;
    if (limit->opt_backend == NULL || !(roofline->read > 0.0)) return;
    fprintf(out, "roofline of %s: reads %.4g GB/s", limit->opt_backend->name,
            1e-9 * roofline->read);
    if (roofline->bf16 > 0.0) fprintf(out, ", %.4g TFLOP/s in bf16", 1e-12 * roofline->bf16);
    if (roofline->int8 > 0.0) fprintf(out, ", %.4g TOP/s in int8", 1e-12 * roofline->int8);
    if (roofline->launch > 0.0)
        fprintf(out, ", %.3g us from kernel to kernel", 1e6 * roofline->launch);
    fputc('\n', out);
}

static void say_circumstances(const spec_timing *timed, FILE *out)
{
    say_models(timed, out);
    say_devices(timed, out);
    say_roofline(&timed->target_limit, out);
    if (timed->draft_limit.opt_backend != timed->target_limit.opt_backend)
        say_roofline(&timed->draft_limit, out);
    say_texts(timed, out);
}

static char *provenance(const spec_timing *timed, const spec_timing_prediction *p,
                        const char *asked)
{
    spec_memory_text text;
    if (!spec_memory_text_open(&text)) return NULL;
    FILE *out = text.out;
    fprintf(out, "speclab %s\nfigure: bench\ncompiler: %s\n", spec_build_info_version,
            spec_build_info_compiler);
    say_circumstances(timed, out);
    fprintf(out, "plain: %.6g ms a token\n", 1e3 * p->plain.value);
    fprintf(out,
            "times are this machine's on that day; tokens and tallies follow from the seed%s\n| %s",
            timed->plan.seconds > 0.0 ? " and the number of texts" : "", asked);
    return spec_memory_text_take(&text, NULL);
}

int spec_timing_report_table(spec_table *ret, const spec_timing *timed,
                             const spec_timing_prediction *p, const char *asked, spec_error *error)
{
    int status = GSL_SUCCESS;
    double *work = malloc(((size_t)timed->n_blocks + 1) * sizeof *work);
    *ret = (spec_table){0};
    SPEC_TRY(work != NULL ? GSL_SUCCESS : GSL_ENOMEM);
    const spec_timing_trust trust = spec_timing_load_trust(timed, work);
    SPEC_TRY(spec_table_init(ret, spec_timing_report_columns, N_COLUMNS));
    free(ret->provenance);
    ret->provenance = provenance(timed, p, asked);
    SPEC_TRY(ret->provenance != NULL ? GSL_SUCCESS : GSL_ENOMEM);
    for (int i = 0; i < p->n_speeds; i++) {
        fill_speed(ret, timed, p, i);
        const spec_timing_load load = spec_timing_load_of(timed, i + 1, work);
        fill_load(ret, &trust, &load);
        for (int k = 0; k < p->n_passes; k++)
            if (p->pass[k].width == p->speed[i].way->widest) fill_pass(ret, timed, &p->pass[k]);
        SPEC_TRY(spec_table_append(ret));
    }
    for (int k = 0; k < p->n_passes; k++) {
        if (has_row(p, p->pass[k].width)) continue;
        fill_pass(ret, timed, &p->pass[k]);
        SPEC_TRY(spec_table_append(ret));
    }
done:
    free(work);
    if (status == GSL_SUCCESS) return status;
    spec_table_free(ret);
    return spec_fail(error, GSL_ENOMEM, "out of memory for the result");
}
