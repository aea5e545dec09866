/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/generate_output.h"

#include "analysis/alpha.h"
#include "base/escape.h"
#include "base/json_memory.h"
#include "base/progress.h"
#include "models/transformer/engine/placement.h"
#include "models/vocabularies.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const colours[SPEC_ORIGINS] = {"32", "31", "36", ""}; /* green, red, cyan */
static const char *const prompt_colour = "2";                            /* faint */
static const char *const ending_names[] = {"length", "end of text", "window", "interrupted"};

/* Fails if jansson ran out of memory since the beginning of the output. */
static int check_memory(spec_error *error)
{
    return spec_json_lost() ? spec_fail(error, GSL_ENOMEM, "out of memory for the text")
                            : GSL_SUCCESS;
}

int spec_generate_output_init(spec_generate_output *output, const spec_generate_args *args,
                              const spec_model *target, FILE *out, spec_error *error)
{
    *output = (spec_generate_output){.args = args, .target = target, .out = out};
    output->name = args->common.output != NULL ? args->common.output : "standard output";
    output->speaks = spec_vocabularies_speaks(target);
    spec_text_stream_init(&output->stream, out, args->shown, args->coloured);
    output->word = malloc(output->word_size = 256);
    spec_json_begin();
    output->json_texts = args->json ? json_array() : NULL;
    if (output->word == NULL) return spec_no_memory(error);
    return check_memory(error);
}

void spec_generate_output_free(spec_generate_output *output)
{
    json_decref(output->json_texts);
    json_decref(output->json_tokens);
    free(output->word);
    free(output->text);
    *output = (spec_generate_output){0};
}

static int check_file(spec_generate_output *output, spec_error *error)
{
    if (fflush(output->out) == 0 && !ferror(output->out)) return GSL_SUCCESS;
    return spec_fail(error, GSL_EFAILED, "%s: %s", output->name, strerror(errno));
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Reads a token's text into output->word; returns its bytes, or -1 if memory runs out. */
static long read_word(spec_generate_output *output, int token)
{
    if (!output->speaks)
        return snprintf(output->word, output->word_size, "%s%d", output->tokens > 0 ? " " : "",
                        token);
    size_t n =
        output->target->kind->token_text(output->target, token, output->word, output->word_size);
    if (n >= output->word_size) {
        char *word = realloc(output->word, n + 1);
        if (word == NULL) return -1;
        output->word = word;
        output->word_size = n + 1;
        n = output->target->kind->token_text(output->target, token, word, n + 1);
    }
    return (long)n;
}

static int keep_word(spec_generate_output *output, int token, spec_origin origin, size_t n,
                     bool said)
{
    if (output->n_text + n > output->text_size) {
        const size_t size = 2 * (output->n_text + n);
        char *text = realloc(output->text, size);
        if (text == NULL) return -1;
        output->text = text;
        output->text_size = size;
    }
    if (said) {
        memcpy(output->text + output->n_text, output->word, n);
        output->n_text += n;
    }
    json_t *word = output->speaks ? spec_json_string(output->word, n) : NULL;
    return json_array_append_new(output->json_tokens,
                                 json_pack("{si ss so*}", "token", token, "origin",
                                           spec_origin_names[origin], "text", word));
}

int spec_generate_output_hear(void *self, const int *token, const spec_origin *origin, int n,
                              spec_error *error)
{
    spec_generate_output *output = self;
    for (int i = 0; i < n; i++) {
        const bool said = !spec_model_ends_text(output->target, token[i]);
        const long length = read_word(output, token[i]);
        if (length < 0 || (output->args->json &&
                           keep_word(output, token[i], origin[i], (size_t)length, said) != 0))
            return spec_fail(error, GSL_ENOMEM, "out of memory for the text");
        if (said && !output->args->json)
            spec_text_stream_write(&output->stream, output->word, (size_t)length,
                                   colours[origin[i]]);
        output->tokens += said;
    }
    output->heard += (uint64_t)n;
    if (!output->args->shown ||
        output->args->json) /* otherwise the text itself shows the progress */
        spec_progress_report((double)output->heard,
                             (double)(output->args->texts * output->args->tokens), "tokens", NULL);
    return output->args->json ? check_memory(error) : check_file(output, error);
}

/* ---- texts ----------------------------------------------------------------------------------- */

int spec_generate_output_begin(spec_generate_output *output, uint64_t text, spec_error *error)
{
    output->tokens = 0;
    output->n_text = 0;
    if (output->args->json) {
        output->json_tokens = json_array();
        return check_memory(error);
    }
    if (text > 0) {
        if (!output->stream.shown) fputc('\n', output->out);
        fputs("----\n", output->out);
    }
    if (output->args->shown) {
        spec_text_stream_write(&output->stream, output->args->prompt, output->args->n_prompt,
                               prompt_colour);
        if (!output->speaks && output->args->n_prompt > 0)
            spec_text_stream_write(&output->stream, " ", 1, prompt_colour);
    }
    return check_file(output, error);
}

int spec_generate_output_end(spec_generate_output *output, spec_ending ending, spec_error *error)
{
    if (!output->args->json) {
        spec_text_stream_end(&output->stream);
        return check_file(output, error);
    }
    json_t *text = spec_json_string(output->text, output->n_text);
    json_t *object = json_pack("{so so ss}", "text", text, "tokens", output->json_tokens, "ended",
                               ending_names[ending]);
    output->json_tokens = NULL;
    json_array_append_new(output->json_texts, object);
    return check_memory(error);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *list(const uint64_t *count, int n)
{
    json_t *array = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(array, json_integer((json_int_t)count[i]));
    return array;
}

int spec_generate_output_close(spec_generate_output *output, const spec_generation *g,
                               spec_error *error)
{
    output->speedup = (spec_block_interval){NAN, NAN, NAN, NAN};
    output->trust =
        (spec_timing_trust){.others = NAN, .lost = NAN, .spread = NAN, .speed_spread = NAN};
    if (g->plan.baseline) {
        const int known =
            spec_generation_speedup(&output->speedup, &output->verdict, &output->trust, g, error);
        if (known != GSL_SUCCESS) return known;
    }
    if (!output->args->json) return GSL_SUCCESS;
    const spec_tally *tally = &g->tally;
    const spec_decoder_config *config = &g->plan.decoder;
    const int K = g->decoder.policy.K;
    const spec_generate_args *args = output->args;
    json_t *draft = args->pair.draft != NULL ? json_string(args->pair.draft) : json_null();
    json_t *root =
        json_pack("{ss so ss ss ss si sI sb so sO}", "target", args->pair.target, "draft", draft,
                  "rule", config->rule, "drafting", config->drafting, "policy", config->policy, "K",
                  config->K, "seed", (json_int_t)g->plan.seed, "plain", g->plan.plain, "prompt",
                  spec_json_string(args->prompt, args->n_prompt), "texts", output->json_texts);
    json_t *counts = json_pack(
        "{sI sI sI sI sI sI so so so}", "prompt_tokens", (json_int_t)g->prompt_tokens, "tokens",
        (json_int_t)g->tokens, "rounds", (json_int_t)tally->rounds, "drafted",
        (json_int_t)tally->drafted, "total_n_accepted", (json_int_t)tally->accepted, "emitted",
        (json_int_t)tally->emitted, "n_accepted", list(tally->n_accepted, K + 1), "tested",
        list(tally->tested, K), "passed", list(tally->passed, K));
    json_t *numbers = json_pack(
        "{so so sf sf so so so so so so so so so}", "tokens_per_round",
        real((double)tally->emitted / (double)tally->rounds), "alpha_tested",
        real(spec_alpha_tested(tally->passed, tally->tested, SPEC_K_MAX)), "prompt_seconds",
        g->prompt_seconds, "seconds", g->seconds, "tokens_per_s",
        real((double)g->tokens / g->seconds), "plain_seconds",
        real(g->plan.baseline ? g->beside_seconds : NAN), "speedup", real(output->speedup.value),
        "speedup_low", real(output->speedup.low), "speedup_high", real(output->speedup.high),
        "others", real(output->trust.others), "lost", real(output->trust.lost), "plain_spread",
        real(output->trust.spread), "speed_spread", real(output->trust.speed_spread));
    char devices[SPEC_PLACEMENT_SIZE];
    int status = GSL_SUCCESS;
    json_object_set_new(numbers, "devices",
                        spec_placement_text(devices, config->target, config->opt_draft)
                            ? json_string(devices)
                            : json_null());
    json_object_set_new(numbers, "verify", json_string(g->decoder.device.on ? "device" : "host"));
    json_object_set_new(numbers, "ahead", json_boolean(config->ahead));
    json_object_set_new(numbers, "hits", json_integer((json_int_t)tally->hits));
    json_object_set_new(numbers, "guesses_tested", json_integer((json_int_t)tally->guesses_tested));
    json_object_set_new(numbers, "guesses_right", json_integer((json_int_t)tally->guesses_right));
    if (config->opt_inner != NULL) {
        json_object_set_new(root, "inner_draft", json_string(args->pair.inner_draft));
        json_object_set_new(numbers, "draft_passes", json_integer((json_int_t)g->draft_passes));
        json_object_set_new(numbers, "inner_passes", json_integer((json_int_t)g->inner_passes));
    }
    json_object_update(root, counts);
    json_object_update(root, numbers);
    status = check_memory(error);
    if (status == GSL_SUCCESS && (json_dumpf(root, output->out, JSON_REAL_PRECISION(10)) != 0 ||
                                  fputc('\n', output->out) == EOF || fflush(output->out) != 0)) {
        status = check_memory(error);
        if (status == GSL_SUCCESS)
            status = spec_fail(error, GSL_EFAILED, "%s: %s", output->name, strerror(errno));
    }
    json_decref(root);
    json_decref(counts);
    json_decref(numbers);
    return status;
}

void spec_generate_output_legend(const spec_generate_args *args)
{
    static const char *const means[] = {"accepted draft tokens", "corrections", "bonus tokens"};
    static const char *const names[] = {"green", "red", "cyan"};
    spec_progress_clear();
    if (!args->coloured || args->json) return;
    for (int i = 0; i < 3; i++) {
        const bool lit = isatty(STDERR_FILENO);
        fprintf(stderr, "%s%s%s%s%s: %s", i > 0 ? ", " : "", lit ? "\033[" : "",
                lit ? colours[i] : "", lit ? "m" : "", names[i], means[i]);
        if (lit) fputs("\033[0m", stderr);
    }
    fputs("; other tokens are the target's own\n", stderr);
}

static void say_rate(double tokens, double seconds)
{
    const double rate = tokens / seconds;
    fprintf(stderr, "%.*f tokens/s", rate < 10.0 ? 2 : rate < 100.0 ? 1 : 0, rate);
}

static void say_speedup(const spec_generate_output *output, const spec_generation *g)
{
    const spec_block_interval *speedup = &output->speedup;
    if (output->verdict == SPEC_RATIO_REPORTED)
        fprintf(stderr, "; %.2f times plain decoding, %.2f to %.2f (", speedup->value, speedup->low,
                speedup->high);
    else if (!isnan(speedup->low))
        fprintf(stderr, "; speed-up withheld, between %.2g and %.2g (plain decoding ", speedup->low,
                speedup->high);
    else
        fputs("; speed-up withheld (plain decoding ", stderr);
    say_rate((double)g->tokens, g->beside_seconds);
    fputs(" on the same text)", stderr);
}

static void say_warning(const spec_generate_output *output, const char *verb)
{
    char line[512];
    static const char *const withheld[] = {
        [SPEC_RATIO_REPORTED] = NULL,
        [SPEC_RATIO_VAGUE] = "the speed-up (known to no better than a factor of two)",
        [SPEC_RATIO_IMPOSSIBLE] = "the speed-up (a round cannot take less than a plain token)"};
    if (spec_timing_trust_line(line, sizeof line, &output->trust, withheld[output->verdict],
                               "more --tokens", false))
        spec_usage_say(verb, "%s", line);
}

void spec_generate_output_summary(const spec_generate_output *output, const spec_generation *g,
                                  spec_ending ending, const char *verb)
{
    const spec_tally *tally = &g->tally;
    const spec_decoder_config *config = &g->plan.decoder;
    char devices[SPEC_PLACEMENT_SIZE];
    spec_progress_clear();
    fprintf(stderr, "%llu tokens", (unsigned long long)g->tokens);
    if (g->tokens > 0) {
        fputs(" at ", stderr);
        say_rate((double)g->tokens, g->seconds);
    }
    if (tally->rounds > 0) {
        const double alpha = spec_alpha_tested(tally->passed, tally->tested, SPEC_K_MAX);
        fprintf(stderr, ", %.2f a round; ", (double)tally->emitted / (double)tally->rounds);
        if (isnan(alpha)) fputs("no draft token was tested", stderr);
        else fprintf(stderr, "alpha_tested %.3f", alpha);
    } else if (g->plan.plain) {
        fputs(", plain decoding", stderr);
    }
    if (g->plan.decoder.ahead && tally->rounds > 0)
        fprintf(stderr, "; %.3f of the rounds found their chain drafted ahead",
                (double)tally->hits / (double)tally->rounds);
    if (config->opt_inner != NULL)
        fprintf(stderr, "; passes: target %llu, draft %llu, inner draft %llu",
                (unsigned long long)tally->rounds, (unsigned long long)g->draft_passes,
                (unsigned long long)g->inner_passes);
    if (g->decoder.device.on) fputs("; chains verified on the device", stderr);
    if (spec_placement_is_told(config->target, config->opt_draft) &&
        spec_placement_text(devices, config->target, config->opt_draft))
        fputs("; ", stderr), spec_escape_line(stderr, devices, strlen(devices));
    if (g->plan.baseline && g->tokens > 0) say_speedup(output, g);
    if (g->prompt_tokens > 0)
        fprintf(stderr, "; prompt: %llu token%s in %.3g s", (unsigned long long)g->prompt_tokens,
                g->prompt_tokens > 1 ? "s" : "", g->prompt_seconds);
    if (ending == SPEC_ENDED_TEXT) fputs("; the text has ended", stderr);
    if (ending == SPEC_ENDED_WINDOW)
        fprintf(stderr, "; the context of %d tokens is full", g->plan.decoder.target->window);
    if (ending == SPEC_ENDED_STOPPED) fputs("; interrupted", stderr);
    fputc('\n', stderr);
    if (g->plan.baseline && g->tokens > 0) say_warning(output, verb);
}
