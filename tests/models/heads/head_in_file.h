/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_in_file: writes a random head of a random target to the file `path` of the test. */
#ifndef SPECLAB_HEAD_IN_FILE_H
#define SPECLAB_HEAD_IN_FILE_H

#include "models/heads/head_file.h"

#include "tests/support/drawn_head.h"
#include "tests/support/support.h"

#include <string.h>
#include <unistd.h>

enum { VOCAB = 11, REACH = 3 };

static char path[] = "/tmp/speclab-head-XXXXXX";
static spec_checkpoint target;

static inline spec_checkpoint load_target(const char *spec)
{
    spec_checkpoint loaded;
    OWNED(spec_settings) settings;
    assert_works(spec_settings_init(&settings, spec, &error));
    assert_works(spec_checkpoint_load_random(&loaded, &settings, NULL, &error));
    spec_checkpoint_draw(&loaded);
    return loaded;
}

#define TARGET "random?dim=16&layers=4&heads=4&kv_heads=2&ffn=24&vocab=11&context=32&type=f32"

static inline int make_target(void **state)
{
    (void)state;
    const int descriptor = mkstemp(path);
    target = load_target(TARGET);
    return descriptor < 0 ? -1 : close(descriptor);
}

static inline int remove_target(void **state)
{
    (void)state;
    spec_checkpoint_free(&target);
    return unlink(path);
}

static inline spec_head draw_form(spec_head_kind kind, int draft_vocab, int options)
{
    spec_head head;
    drawn_head(&head, &(drawn_head_config){kind, REACH, draft_vocab, options, 7}, &target);
    head.fingerprint = spec_head_file_fingerprint(&target);
    return head;
}

static inline spec_head draw(spec_head_kind kind, int draft_vocab)
{
    return draw_form(kind, draft_vocab, DRAWN_NORMED);
}

static inline void write_head(const spec_head *head)
{
    int kept;
    assert_int_equal(unlink(path), 0);
    assert_works(spec_head_file_write(&kept, head, path, &error));
}

static inline void refuse(const spec_checkpoint *to, const char *expected)
{
    spec_head read;
    spec_error error = {""};
    assert_int_equal(spec_head_file_load(&read, path, to, false, &error), GSL_EINVAL);
    if (strstr(error.text, expected) == NULL) fail_msg("'%s' lacks '%s'", error.text, expected);
    assert_memory_equal(error.text, path, sizeof path - 1);
    assert_null(strchr(error.text, '\n'));
    assert_null(read.owned);
    assert_null(read.opt_token);
}

#endif
