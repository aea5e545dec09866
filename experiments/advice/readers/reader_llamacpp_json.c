/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/readers.h"
#include "experiments/advice/readers/request_counts.h"

/* `timings` of llama-server's responses. mlx-vlm has more members under the same name. */

static bool is_mlx_vlm(const char *bytes, size_t n)
{
    return spec_json_part_has(bytes, n, "draft_rounds") ||
           spec_json_part_has(bytes, n, "draft_kind");
}

static bool llamacpp_concerns(const char *bytes, size_t n)
{
    return spec_json_part_has(bytes, n, "predicted_ms") &&
           spec_json_part_has(bytes, n, "predicted_n") && !is_mlx_vlm(bytes, n);
}

static bool mlx_vlm_concerns(const char *bytes, size_t n)
{
    return spec_json_part_has(bytes, n, "draft_rounds") && spec_json_part_has(bytes, n, "draft_n");
}

static int take(const spec_json_place *place, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_log_record *record = place->record;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, record->line);
    spec_json_member m[] = {{.key = "draft_rounds"}, {.key = "draft_n_accepted"},
                            {.key = "draft_n"},      {.key = "predicted_n"},
                            {.key = "predicted_ms"}, {0}};
    if (spec_request_counts_unfinished(place->element)) goto done;
    SPEC_TRY(spec_json_member_find(m, place->object, record, error));
    const spec_request_counts counts = {
        .rounds = m[0], .accepted = m[1], .drafted = m[2], .emitted = m[3]};
    SPEC_TRY(spec_request_counts_read(&o, &counts, record, error));
    SPEC_TRY(spec_json_member_real(&o.seconds, &m[4], record, error));
    o.seconds *= 1e-3;
    SPEC_TRY(spec_request_counts_hand_over(&o, &counts, place, error));
done:
    return status;
}

static int llamacpp_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                         spec_error *error)
{
    (void)state;
    return spec_json_part_each(record, learned, "predicted_n", take, error);
}

static int mlx_vlm_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                        spec_error *error)
{
    (void)state;
    return spec_json_part_each(record, learned, "draft_rounds", take, error);
}

const spec_log_format spec_reader_llamacpp_response = {
    .name = "llama.cpp-response",
    .engine = "llama.cpp",
    .summary = "timings in responses of llama-server",
    .generations = (const char *const[]){"timings with draft_n since 2025", NULL},
    .concerns = llamacpp_concerns,
    .needles = (const char *const[]){"\"predicted_ms\"", NULL},
    .read = llamacpp_read,
};

const spec_log_format spec_reader_mlx_vlm_response = {
    .name = "mlx-vlm-response",
    .engine = "mlx-vlm",
    .summary = "timings in responses of mlx-vlm",
    .generations = (const char *const[]){"timings with draft_rounds", NULL},
    .concerns = mlx_vlm_concerns,
    .needles = (const char *const[]){"\"draft_rounds\"", NULL},
    .read = mlx_vlm_read,
};
