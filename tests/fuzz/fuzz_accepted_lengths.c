/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz files of accepted lengths: any bytes must give lengths or a one-line error that names the
 * file. Rounds replay them within their limits. The first byte chooses the field. */
#include "sim/serving/requests/accepted_lengths.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const fields[] = {NULL, "acc", "acc_ngram"};
    spec_accepted_lengths lengths;
    spec_error error = {.text = ""};
    if (size < 2) return 0;
    FILE *file = fmemopen((void *)(uintptr_t)(data + 1), size - 1, "r");
    assert(file != NULL);
    const int status = spec_accepted_lengths_read(&lengths, file, "x", fields[data[0] % 3], &error);
    fclose(file);
    if (status != GSL_SUCCESS) {
        assert(strncmp(error.text, "x:", 2) == 0 && strchr(error.text, '\n') == NULL);
        assert(lengths.n == 0 && lengths.first == NULL && lengths.length == NULL);
        return 0;
    }
    for (int32_t r = 0; r < lengths.n; r++) {
        const int64_t count = lengths.first[r + 1] - lengths.first[r];
        assert(count >= 1 && lengths.alpha[r] >= 0.0f && lengths.alpha[r] <= 1.0f);
        for (int K = 0; K < 200; K = 3 * K + 1) {
            const spec_accepted_count all = spec_accepted_lengths_count(&lengths, r, K);
            int32_t place = 0;
            assert(all.rounds >= 1 && all.rounds <= count && all.tested >= all.accepted);
            for (int64_t i = 0; i < all.rounds + 3; i++) {
                const int n = spec_accepted_lengths_next(&lengths, r, &place, K);
                assert(n >= 0 && n <= K && n <= lengths.most && place >= 0 && place < count);
            }
        }
    }
    spec_accepted_lengths_free(&lengths);
    return 0;
}
