/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/live_prompts.h"

#include "base/escape.h"
#include "base/input_file.h"
#include "base/json_memory.h"
#include "base/text_lines.h"
#include "base/utf8.h"
#include "speclab/no_memory.h"

enum { PROMPT_BYTES = 1 << 20 };

/* Returns whether a category is missing, or is a string that a table can show. */
static bool is_category(const json_t *category)
{
    const char *name = json_string_value(category);
    if (category == NULL) return true;
    if (name == NULL) return false;
    for (size_t left = json_string_length(category); left > 0;) {
        uint32_t code;
        const size_t n = spec_utf8_decode(&code, (const unsigned char *)name, left);
        if (spec_escape_is_control(code)) return false;
        name += n;
        left -= n;
    }
    return true;
}

/* Checks that a line is a chat. What a message may contain is the server's affair. */
static bool is_chat(const json_t *line)
{
    const json_t *messages = json_object_get(line, "messages");
    const size_t n = json_array_size(messages);
    for (size_t i = 0; i < n; i++)
        if (!json_is_string(json_object_get(json_array_get(messages, i), "role"))) return false;
    return n > 0;
}

/* Returns why an object is not a prompt; NULL: it is one. */
static const char *wrong_with(const json_t *line, bool chats)
{
    const json_t *text = json_object_get(line, "prompt");
    const bool chat = is_chat(line);
    if (json_is_string(text))
        return chats && chat ? "give \"prompt\" or \"messages\", not both" : NULL;
    if (chat && chats) return NULL;
    if (chat) return "\"messages\" is for 'speclab served'; give a \"prompt\" here";
    if (text != NULL) return "\"prompt\" must be a string";
    if (chats && json_object_get(line, "messages") != NULL)
        return "\"messages\" must be a list of messages, each with a \"role\"";
    return chats
               ? "a prompt is like {\"prompt\": \"Once\"} or {\"messages\": [{\"role\": \"user\", "
                 "\"content\": \"Hi\"}]}"
               : "a prompt is like {\"prompt\": \"Once\"}";
}

int spec_live_prompts_read(json_t **ret, const char *path, int most, unsigned kinds,
                           spec_error *error)
{
    FILE *file = NULL;
    json_error_t why;
    const bool chats = (kinds & SPEC_LIVE_CHATS) != 0,
               categories = (kinds & SPEC_LIVE_CATEGORIES) != 0;
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
        if (line == NULL)
            SPEC_TRY(spec_text_lines_bad(&lines, error, "not valid JSON: %.120s", why.text));
        const char *wrong = wrong_with(line, chats);
        const bool named = !categories || is_category(json_object_get(line, "category"));
        if (wrong == NULL && named) json_array_append(*ret, line);
        json_decref(line);
        if (wrong != NULL) SPEC_TRY(spec_text_lines_bad(&lines, error, "%s", wrong));
        if (!named)
            SPEC_TRY(spec_text_lines_bad(
                &lines, error, "\"category\" must be a string without control characters"));
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
