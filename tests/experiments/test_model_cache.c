/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The models of a run: each is opened once, and once for each target if it is built from it. */
#include "experiments/model_cache.h"
#include "tests/support/support.h"

static const spec_model *opened(spec_model_cache *cache, const char *spec,
                                const spec_model *opt_target)
{
    const spec_model *model;
    assert_int_equal(spec_model_cache_open(&model, cache, spec, opt_target, NULL), GSL_SUCCESS);
    return model;
}

TEST(only_drafts_made_from_a_target_differ_between_targets)
{
    spec_model_cache cache = {0};
    const spec_model *a = opened(&cache, "dirichlet?V=5&seed=1", NULL),
                     *b = opened(&cache, "dirichlet?V=5&seed=2", NULL);
    assert_ptr_not_equal(a, b);
    assert_ptr_equal(opened(&cache, "dirichlet?V=5&seed=1", NULL), a);
    const char *made = "perturb?alpha=0.7", *own = "uniform?V=5";
    assert_ptr_not_equal(opened(&cache, made, a), opened(&cache, made, b));
    assert_ptr_equal(opened(&cache, made, a), opened(&cache, made, a));
    assert_ptr_equal(opened(&cache, own, a), opened(&cache, own, b));
    /* these two have the same spec, and are not the same model */
    assert_ptr_not_equal(opened(&cache, "perturb?alpha=0.6", opened(&cache, made, a)),
                         opened(&cache, "perturb?alpha=0.6", opened(&cache, made, b)));
    spec_model_cache_trim(&cache, cache.n);
    assert_int_equal(cache.n, 7);
    spec_model_cache_trim(&cache, 6);
    assert_int_equal(cache.n, 0);
    spec_model_cache_free(&cache);
}
