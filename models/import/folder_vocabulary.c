/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/folder_vocabulary.h"

#include "models/import/json_values.h"
#include "models/import/pre_tokenizer.h"
#include "models/import/tensor_folder.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

static const char unnamed[] = "[PAD%d]";
enum { UNNAMED_SIZE = 24 };
static const float no_merge = -1e9f; /* the score of a piece that no merge makes */

/* A tokenizer.json being read. */
typedef struct {
    spec_folder_vocabulary *to;
    const json_t *root, *model;
    const char *path;
    size_t text_length; /* used bytes of to->text */
    spec_error *error;
} reader;

#define REFUSE(in, format, ...)                                                                    \
    spec_fail((in)->error, GSL_EINVAL, "%.300s: " format, (in)->path, __VA_ARGS__)

/* ---- pieces ---------------------------------------------------------------------------------- */

static int set_piece(reader *in, json_int_t token, const char *text, int type)
{
    spec_folder_vocabulary *to = in->to;
    if (token < 0 || token >= to->data.vocab)
        return REFUSE(in,
                      "token '%.60s' has the number %" JSON_INTEGER_FORMAT
                      ", which is not below the %d rows of the embedding",
                      text, token, to->data.vocab);
    const spec_piece piece = {text, strlen(text)};
    if (to->piece[token].bytes != NULL && spec_piece_order(to->piece[token], piece) != 0)
        return REFUSE(in, "tokens '%.60s' and '%.60s' have the same number", to->piece[token].bytes,
                      text);
    to->piece[token] = piece;
    to->type[token] = type;
    return GSL_SUCCESS;
}

static int read_pieces(reader *in)
{
    const bool is_spm = in->to->data.kind == SPEC_TOKENIZER_SPM;
    const char *text, *unknown = spec_json_values_word(in->model, "unk_token");
    json_t *value;
    size_t i;
    json_object_foreach(json_object_get(in->model, "vocab"), text, value)
    {
        const spec_piece piece = {text, strlen(text)};
        const int type =
            is_spm && spec_piece_byte(piece) >= 0 ? SPEC_PIECE_BYTE : SPEC_PIECE_NORMAL;
        const int status =
            set_piece(in, json_is_integer(value) ? json_integer_value(value) : -1, text, type);
        if (status != GSL_SUCCESS) return status;
        if (unknown[0] != '\0' && strcmp(text, unknown) == 0)
            in->to->data.unknown = (int)json_integer_value(value);
    }
    json_array_foreach(json_object_get(in->root, "added_tokens"), i, value)
    {
        const json_t *token = json_object_get(value, "id");
        const int status = set_piece(
            in, json_is_integer(token) ? json_integer_value(token) : -1,
            spec_json_values_word(value, "content"),
            spec_json_values_is_on(value, "special", false) ? SPEC_PIECE_CONTROL : SPEC_PIECE_USER);
        if (status != GSL_SUCCESS) return status;
    }
    if (is_spm && in->to->data.unknown >= 0)
        in->to->type[in->to->data.unknown] = SPEC_PIECE_UNKNOWN;
    return GSL_SUCCESS;
}

/* Takes n bytes of `text`, which was allocated large enough for all callers. */
static char *take_text(reader *in, size_t n)
{
    char *text = in->to->text + in->text_length;
    in->text_length += n;
    return text;
}

static void name_others(reader *in)
{
    for (int i = 0; i < in->to->data.vocab; i++) {
        if (in->to->piece[i].bytes != NULL) continue;
        char *text = take_text(in, UNNAMED_SIZE);
        const int n = snprintf(text, UNNAMED_SIZE, unnamed, i);
        in->to->piece[i] = (spec_piece){text, (size_t)n};
        in->to->type[i] = SPEC_PIECE_UNUSED;
    }
}

/* ---- merges ---------------------------------------------------------------------------------- */

/* Splits a merge, "left right" or ["left", "right"]; the halves are NULL if it is neither. */
static void halves_of(const json_t *merge, spec_piece *ret_left, spec_piece *ret_right)
{
    const char *text = json_string_value(merge), *blank = text != NULL ? strchr(text, ' ') : NULL;
    const char *left = json_string_value(json_array_get(merge, 0)),
               *right = json_string_value(json_array_get(merge, 1));
    *ret_left = *ret_right = (spec_piece){NULL, 0};
    if (blank != NULL) {
        *ret_left = (spec_piece){text, (size_t)(blank - text)};
        *ret_right = (spec_piece){blank + 1, strlen(blank + 1)};
    } else if (left != NULL && right != NULL && json_array_size(merge) == 2) {
        *ret_left = (spec_piece){left, strlen(left)};
        *ret_right = (spec_piece){right, strlen(right)};
    }
}

static int read_merges(reader *in, const json_t *merges)
{
    const size_t n = json_array_size(merges);
    in->to->merge = malloc((n + 1) * sizeof *in->to->merge);
    if (in->to->merge == NULL) return spec_no_memory_for(in->error, in->path);
    for (size_t i = 0; i < n; i++) {
        spec_piece left, right;
        halves_of(json_array_get(merges, i), &left, &right);
        if (left.bytes == NULL) return REFUSE(in, "merge %zu is not a pair of pieces", i);
        const size_t length = left.length + 1 + right.length;
        char *text = take_text(in, length);
        memcpy(text, left.bytes, left.length);
        text[left.length] = ' ';
        memcpy(text + left.length + 1, right.bytes, right.length);
        in->to->merge[i] = (spec_piece){text, length};
    }
    in->to->data.merge = in->to->merge;
    in->to->data.n_merges = n;
    return GSL_SUCCESS;
}

/* SentencePiece has scores, but the file has merges, so we give each piece a score by the order of
 * the merges that make it. All merges that make the same piece must be next to each other, as they
 * are in files made from such a model. */
static int read_scores(reader *in, const json_t *merges)
{
    const size_t n = json_array_size(merges);
    const json_t *vocab = json_object_get(in->model, "vocab");
    json_int_t last = -1;
    in->to->score = malloc((size_t)in->to->data.vocab * sizeof *in->to->score);
    if (in->to->score == NULL) return spec_no_memory_for(in->error, in->path);
    for (int i = 0; i < in->to->data.vocab; i++) in->to->score[i] = no_merge;
    int rank = 0;
    for (size_t i = 0; i < n; i++) {
        spec_piece left, right;
        halves_of(json_array_get(merges, i), &left, &right);
        char *text = take_text(in, left.length + right.length + 1);
        if (left.bytes == NULL) return REFUSE(in, "merge %zu is not a pair of pieces", i);
        memcpy(text, left.bytes, left.length);
        memcpy(text + left.length, right.bytes, right.length);
        text[left.length + right.length] = '\0';
        const json_t *piece = json_object_get(vocab, text);
        const json_int_t token = json_integer_value(piece);
        if (piece == NULL)
            return REFUSE(in,
                          "merge %zu makes '%.60s', which is not a "
                          "piece",
                          i, text);
        if (token == last) continue;
        if (in->to->score[token] > no_merge)
            return REFUSE(in,
                          "the merges into '%.60s' are not neighbours: no scores of "
                          "SentencePiece give this order",
                          text);
        in->to->score[last = token] = (float)-rank++;
    }
    in->to->data.opt_score = in->to->score;
    return GSL_SUCCESS;
}

/* Makes room for the copies of all merges, and for the names of tokens without one. */
static int make_room(reader *in, const json_t *merges)
{
    const int vocab = in->to->data.vocab;
    size_t bytes = (size_t)vocab * UNNAMED_SIZE + 1, i;
    json_t *merge;
    json_array_foreach((json_t *)(uintptr_t)merges, i, merge)
    {
        spec_piece left, right;
        halves_of(merge, &left, &right);
        bytes += left.length + right.length + 1;
    }
    in->to->text = malloc(bytes);
    in->to->piece = calloc((size_t)vocab, sizeof *in->to->piece);
    in->to->type = calloc((size_t)vocab, sizeof *in->to->type);
    if (in->to->text == NULL || in->to->piece == NULL || in->to->type == NULL)
        return spec_no_memory_for(in->error, in->path);
    in->to->data.piece = in->to->piece;
    in->to->data.opt_type = in->to->type;
    return GSL_SUCCESS;
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* Returns the token of this spelling, or -1. */
static int token_of(const reader *in, const char *opt_text)
{
    for (int i = 0; opt_text != NULL && i < in->to->data.vocab; i++)
        if (spec_piece_is(in->to->piece[i], opt_text)) return i;
    return -1;
}

/* Returns the token that tokenizer_config.json names, as text or object; -1 if there is none. */
static int special(const reader *in, const char *key)
{
    const json_t *value = json_object_get(in->to->config, key);
    return token_of(in, json_is_object(value) ? spec_json_values_word(value, "content")
                                              : json_string_value(value));
}

static int read_ends(reader *in, const char *folder)
{
    int status = GSL_SUCCESS;
    const char *begin;
    char path[SPEC_TENSOR_FOLDER_PATH];
    SPEC_TRY(spec_tensor_folder_file(path, folder, "tokenizer_config.json", in->error));
    SPEC_TRY(spec_json_values_load(&in->to->config, path, true, in->error));
    in->to->begin_of_text = special(in, "bos_token");
    in->to->end_of_text = special(in, "eos_token");
    /* As in transformers 5, a post_processor takes precedence over tokenizer_config.json. */
    if (!spec_pre_tokenizer_begins(&in->to->adds_begin, &begin, in->root))
        in->to->adds_begin = spec_json_values_is_on(in->to->config, "add_bos_token", false);
    if (in->to->begin_of_text < 0) in->to->begin_of_text = token_of(in, begin);
done:
    return status;
}

/* ---- the whole file -------------------------------------------------------------------------- */

int spec_folder_vocabulary_load(spec_folder_vocabulary *vocabulary, const char *folder, int vocab,
                                spec_error *error)
{
    int status = GSL_SUCCESS;
    char path[SPEC_TENSOR_FOLDER_PATH];
    *vocabulary = (spec_folder_vocabulary){.begin_of_text = -1, .end_of_text = -1};
    SPEC_TRY(spec_tensor_folder_file(path, folder, "tokenizer.json", error));
    SPEC_TRY(spec_json_values_load(&vocabulary->root, path, true, error));
    if (vocabulary->root == NULL) return GSL_SUCCESS;
    const json_t *model = json_object_get(vocabulary->root, "model");
    const json_t *merges = json_object_get(model, "merges");
    reader in = {vocabulary, vocabulary->root, model, path, 0, error};
    SPEC_TRY(spec_pre_tokenizer_read(&vocabulary->data, vocabulary->root, path, error));
    vocabulary->data.vocab = vocab;
    SPEC_TRY(make_room(&in, merges));
    SPEC_TRY(read_pieces(&in));
    SPEC_TRY(vocabulary->data.kind == SPEC_TOKENIZER_SPM ? read_scores(&in, merges)
                                                         : read_merges(&in, merges));
    name_others(&in);
    SPEC_TRY(read_ends(&in, folder));
done:
    if (status != GSL_SUCCESS) spec_folder_vocabulary_free(vocabulary);
    return status;
}

void spec_folder_vocabulary_free(spec_folder_vocabulary *vocabulary)
{
    json_decref(vocabulary->root);
    json_decref(vocabulary->config);
    free(vocabulary->piece);
    free(vocabulary->merge);
    free(vocabulary->score);
    free(vocabulary->type);
    free(vocabulary->text);
    *vocabulary = (spec_folder_vocabulary){0};
}
