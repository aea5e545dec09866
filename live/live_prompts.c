/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live/live_prompts.h"

#include "base/input_file.h"
#include "base/json_memory.h"
#include "base/text_lines.h"
#include "speclab/no_memory.h"

enum { PROMPT_BYTES = 1 << 20 };

int spec_live_prompts_read(json_t **ret, const char *path, int most, spec_error *error)
{
    FILE *file = NULL;
    json_error_t why;
    bool end = false;
    spec_text_lines lines = {.file = NULL};
    int status = GSL_SUCCESS;
    if ((*ret = json_array()) == NULL) return spec_no_memory(error);
    SPEC_TRY(spec_input_file_stream(&file, path, error));
    lines = spec_text_lines_of(file, path, PROMPT_BYTES);
    while ((int)json_array_size(*ret) < most) {
        SPEC_TRY(spec_text_lines_next_data(&lines, &end, error));
        if (end) break;
        json_t *line = spec_json_load(lines.bytes, lines.length, JSON_DECODE_ANY, &why);
        if (line == NULL && spec_json_lost()) SPEC_TRY(spec_no_memory(error));
        const bool good = json_is_string(json_object_get(line, "prompt"));
        if (good) json_array_append(*ret, line);
        json_decref(line);
        if (!good)
            SPEC_TRY(spec_text_lines_bad(&lines, error, "a prompt is like {\"prompt\": \"Once\"}"));
    }
    if (json_array_size(*ret) == 0)
        status = spec_fail(error, GSL_EINVAL, "%.200s: there is no prompt in it", path);
done:
    spec_text_lines_free(&lines);
    if (file != NULL) fclose(file);
    if (status != GSL_SUCCESS) {
        json_decref(*ret);
        *ret = NULL;
    }
    return status;
}

const char *spec_live_prompt(const json_t *prompts, int i)
{
    return json_string_value(json_object_get(json_array_get(prompts, (size_t)i), "prompt"));
}
