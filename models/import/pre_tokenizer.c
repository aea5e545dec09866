/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/pre_tokenizer.h"

#include "models/import/json_values.h"

#include <string.h>

typedef struct {
    spec_tokenizer_data *to;
    const json_t *root, *model;
    const char *path;
    spec_error *error;
} reader;

/* Refuses a tokenizer. Every message ends with what the user can do instead. */
#define REFUSE(in, format, ...)                                                                    \
    spec_fail((in)->error, GSL_EINVAL,                                                             \
              "%.200s: its " format "; move the file away to import without a vocabulary",         \
              (in)->path, __VA_ARGS__)

static bool is_type(const json_t *object, const char *type)
{
    return strcmp(spec_json_values_word(object, "type"), type) == 0;
}

static bool is_absent(const json_t *value)
{
    return value == NULL || json_is_null(value);
}

/* Returns item i of a Sequence, or the object itself as item 0. */
static const json_t *item(const json_t *object, const char *items, size_t i)
{
    if (is_type(object, "Sequence")) return json_array_get(json_object_get(object, items), i);
    return i == 0 && !is_absent(object) ? object : NULL;
}

#define LINES "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define WORDS(numbers)                                                                             \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers                          \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" LINES
#define CAPITALS "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SMALLS "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(ending, numbers)                                                                     \
    "[^\\r\\n\\p{L}\\p{N}]?" CAPITALS "*" SMALLS "+" ending "|[^\\r\\n\\p{L}\\p{N}]?" CAPITALS     \
    "+" SMALLS "*" ending "|" numbers "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" LINES

/* Regular expressions as they are in files, and the names that tokenizer.h gives them. In some
 * cases the file keeps whole tokens where llama.cpp merges; this is the same, because in the
 * published vocabulary the merges yield every token. */
static const struct {
    const char *expression, *pre;
    bool merges, keeps_whole; /* allowed values of ignore_merges: false; true */
} expressions[] = {
    {WORDS("\\p{N}{1,3}"), "llama-bpe", false, true},
    {WORDS("\\p{N}{1,3}"), "smaug-bpe", true, false},
    {WORDS("\\p{N}"), "qwen2", true, false},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
     "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" LINES,
     "qwen35", true, false},
    {CASED("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "\\p{N}{1,3}"), "gpt-4o", true, true},
    {CASED("", "\\p{N}"), "tekken", false, true},
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", "gpt-2",
     true, false},
};
enum { EXPRESSIONS = sizeof expressions / sizeof expressions[0] };

/* Returns `pre` for a Split by a known expression. */
static const char *split_pre(const json_t *split, bool ignores_merges)
{
    const char *expression = spec_json_values_word(json_object_get(split, "pattern"), "Regex");
    if (strcmp(spec_json_values_word(split, "behavior"), "Isolated") != 0 ||
        spec_json_values_is_on(split, "invert", false))
        return NULL;
    for (int i = 0; i < EXPRESSIONS; i++)
        if (strcmp(expressions[i].expression, expression) == 0 &&
            (ignores_merges ? expressions[i].keeps_whole : expressions[i].merges))
            return expressions[i].pre;
    return NULL;
}

/* Reads byte-level BPE: a ByteLevel, alone or after a Split or Digits. */
static int read_pre(reader *in)
{
    const json_t *pre = json_object_get(in->root, "pre_tokenizer");
    const json_t *first = item(pre, "pretokenizers", 0), *second = item(pre, "pretokenizers", 1);
    const json_t *bytes = second != NULL ? second : first;
    const bool ignores_merges = spec_json_values_is_on(in->model, "ignore_merges", false);
    const bool splits = spec_json_values_is_on(bytes, "use_regex", true);
    const char *name = NULL;
    if (item(pre, "pretokenizers", 2) == NULL && is_type(bytes, "ByteLevel") &&
        !spec_json_values_is_on(bytes, "add_prefix_space", true)) {
        if (second == NULL && splits && !ignores_merges) name = "gpt-2";
        if (second != NULL && is_type(first, "Split") && !splits)
            name = split_pre(first, ignores_merges);
        if (second != NULL && is_type(first, "Digits") && splits && !ignores_merges &&
            spec_json_values_is_on(first, "individual_digits", false))
            name = "smollm";
    }
    if (name == NULL)
        return REFUSE(in,
                      "pre_tokenizer '%.20s' of '%.20s' '%.60s' is not one of gpt-2, llama-bpe, "
                      "qwen2, qwen35, smollm, gpt-4o and tekken",
                      spec_json_values_word(pre, "type"), spec_json_values_word(first, "type"),
                      spec_json_values_word(json_object_get(first, "pattern"), "Regex"));
    in->to->pre = name;
    return GSL_SUCCESS;
}

/* Reads how SentencePiece treats blanks: they are U+2581, and one may be put in front. */
static int read_spaces(reader *in)
{
    static const char blank[] = "\xe2\x96\x81";
    const json_t *normalizer = json_object_get(in->root, "normalizer");
    const json_t *pre = json_object_get(in->root, "pre_tokenizer");
    bool replaces = false, known = true;
    const json_t *step;
    for (size_t i = 0; (step = item(normalizer, "normalizers", i)) != NULL; i++) {
        const char *pattern = spec_json_values_word(json_object_get(step, "pattern"), "String");
        if (is_type(step, "Prepend") && strcmp(spec_json_values_word(step, "prepend"), blank) == 0)
            in->to->adds_space = true;
        else if (is_type(step, "Replace") && strcmp(pattern, " ") == 0 &&
                 strcmp(spec_json_values_word(step, "content"), blank) == 0)
            replaces = true;
        else
            known = false;
    }
    if (is_type(pre, "Metaspace")) {
        const char *scheme = spec_json_values_word(pre, "prepend_scheme");
        replaces = strcmp(spec_json_values_word(pre, "replacement"), blank) == 0;
        known = known && !spec_json_values_is_on(pre, "split", true);
        in->to->adds_space = in->to->adds_space || strcmp(scheme, "never") != 0;
    } else if (is_type(pre, "Split")) { /* a split at blanks, of which the normalizer left none */
        const char *at = spec_json_values_word(json_object_get(pre, "pattern"), "String");
        known = known && strcmp(at, " ") == 0 && !spec_json_values_is_on(pre, "invert", false);
    } else {
        known = known && is_absent(pre);
    }
    if (known && replaces) return GSL_SUCCESS;
    return REFUSE(in, "normalizer '%.20s' and pre_tokenizer '%.20s' are not SentencePiece's",
                  spec_json_values_word(normalizer, "type"), spec_json_values_word(pre, "type"));
}

static int read_bytes(reader *in)
{
    const json_t *normalizer = json_object_get(in->root, "normalizer");
    if (!is_absent(normalizer) && !is_type(normalizer, "NFC"))
        return REFUSE(in, "normalizer '%.40s' is not supported",
                      spec_json_values_word(normalizer, "type"));
    return read_pre(in);
}

int spec_pre_tokenizer_read(spec_tokenizer_data *ret, const json_t *root, const char *path,
                            spec_error *error)
{
    const json_t *model = json_object_get(root, "model");
    reader in = {ret, root, model, path, error};
    if (!is_type(model, "BPE") ||
        spec_json_values_word(model, "continuing_subword_prefix")[0] != '\0' ||
        spec_json_values_word(model, "end_of_word_suffix")[0] != '\0' ||
        !is_absent(json_object_get(model, "dropout")))
        return REFUSE(&in, "model '%.40s' is not plain BPE", spec_json_values_word(model, "type"));
    const bool falls_back = spec_json_values_is_on(model, "byte_fallback", false);
    *ret = (spec_tokenizer_data){.kind = falls_back ? SPEC_TOKENIZER_SPM : SPEC_TOKENIZER_BPE,
                                 .unknown = -1};
    return falls_back ? read_spaces(&in) : read_bytes(&in);
}

bool spec_pre_tokenizer_begins(bool *ret_begins, const char **ret_begin, const json_t *root)
{
    const json_t *step, *processor = json_object_get(root, "post_processor");
    *ret_begins = false;
    *ret_begin = "";
    for (size_t i = 0; (step = item(processor, "processors", i)) != NULL; i++) {
        const json_t *first = json_array_get(json_object_get(step, "single"), 0);
        const json_t *token = json_object_get(first, "SpecialToken");
        if (!is_type(step, "TemplateProcessing") || token == NULL) continue;
        *ret_begins = true;
        *ret_begin = spec_json_values_word(token, "id");
    }
    return !is_absent(processor);
}
