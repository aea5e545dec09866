/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/chat_template.h"

#include "base/input_file.h"
#include "models/import/json_values.h"
#include "models/import/tensor_folder.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char key[] = "chat_template";
static const spec_input_limit limit = {"a chat template", 4 << 20};

/* Returns a value's text: itself, or the one named "default" in a list; NULL if neither. */
static const char *text_of(const json_t *value)
{
    size_t i;
    json_t *one;
    json_array_foreach((json_t *)(uintptr_t)value, i,
                       one) if (strcmp(spec_json_values_word(one, "name"), "default") ==
                                0) return json_string_value(json_object_get(one, "template"));
    return json_string_value(value);
}

static int read_json(char **ret_text, const char *folder, const json_t *opt_config,
                     spec_error *error)
{
    int status = GSL_SUCCESS;
    char path[SPEC_TENSOR_FOLDER_PATH];
    json_t *root = NULL;
    const char *text = text_of(json_object_get(opt_config, key));
    if (text == NULL) {
        SPEC_TRY(spec_tensor_folder_file(path, folder, "chat_template.json", error));
        SPEC_TRY(spec_json_values_load(&root, path, true, error));
        text = text_of(json_object_get(root, key));
    }
    if (text != NULL && (*ret_text = strdup(text)) == NULL)
        SPEC_TRY(spec_no_memory_for(error, folder));
done:
    json_decref(root);
    return status;
}

int spec_chat_template_read(char **ret_text, const char *folder, const json_t *opt_config,
                            spec_error *error)
{
    int status = GSL_SUCCESS;
    char path[SPEC_TENSOR_FOLDER_PATH];
    size_t n;
    *ret_text = NULL;
    SPEC_TRY(spec_tensor_folder_file(path, folder, "chat_template.jinja", error));
    SPEC_TRY(access(path, F_OK) == 0 ? spec_input_file_read_text(ret_text, &n, path, &limit, error)
                                     : read_json(ret_text, folder, opt_config, error));
done:
    return status;
}
