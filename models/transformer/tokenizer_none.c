/* Until there is a tokenizer: none is built, and models are without text. */
#include "models/transformer/tokenizer.h"

__attribute__((weak)) int spec_tokenizer_init(spec_tokenizer **ret_tokenizer, const spec_tokenizer_data *data,
                                              spec_error *error)
{
    (void)data;
    (void)error;
    *ret_tokenizer = NULL;
    return GSL_SUCCESS;
}

__attribute__((weak)) void spec_tokenizer_free(spec_tokenizer *tokenizer)
{
    (void)tokenizer;
}

__attribute__((weak)) size_t spec_tokenizer_encode(const spec_tokenizer *tokenizer, const char *text, size_t length,
                                                   int *token, size_t capacity)
{
    (void)tokenizer, (void)text, (void)length, (void)token, (void)capacity;
    return 0;
}

__attribute__((weak)) size_t spec_tokenizer_text(const spec_tokenizer *tokenizer, int token, char *buffer, size_t size)
{
    (void)tokenizer, (void)token;
    if (size > 0) buffer[0] = '\0';
    return 0;
}
