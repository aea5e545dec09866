/* tree: level by level, every node gets its children from the draft model's row at its place. Whether and how it is
 * drawn never depends on what was drawn, so nothing is anticipated. */
#include "sim/drafter.h"

#include "models/row.h"

#include <string.h>

/* ---- shape ------------------------------------------------------------------------------------------------------- */

static int width_at(const spec_drafter *drafter, int level)
{
    return drafter->width[drafter->n_widths > 0 ? level : 0];
}

static int depth_of(const spec_drafter *drafter, int K)
{
    return drafter->n_widths > 0 && drafter->n_widths < K ? drafter->n_widths : K;
}

static int nodes(const spec_drafter *drafter, int K)
{
    int level_nodes = 1, all = 0;
    for (int level = 0; level < depth_of(drafter, K) && all <= SPEC_NODES_MAX; level++) {
        level_nodes *= width_at(drafter, level); /* at most SPEC_NODES_MAX^2 */
        all += level_nodes;
    }
    return all;
}

/* "3.2.1": a width for each level. */
static int read_widths(spec_drafter *drafter, const char *text, spec_error *error)
{
    const size_t length = strlen(text);
    for (size_t at = 0; at <= length;) {
        char word[8] = "";
        const size_t size = strcspn(text + at, ".");
        int width = 0;
        if (size < sizeof word) memcpy(word, text + at, size);
        if (!spec_settings_parse_int(&width, word) || width < 1 || width > SPEC_NODES_MAX)
            return spec_fail(error, GSL_EINVAL,
                             "widths=%s: '%.*s' is no width of 1 to %d; give one for each level, as in 3.2.1", text,
                             (int)size, text + at, SPEC_NODES_MAX);
        if (drafter->n_widths == SPEC_LEVELS_MAX)
            return spec_fail(error, GSL_EINVAL, "widths=%s: more than %d levels", text, SPEC_LEVELS_MAX);
        drafter->width[drafter->n_widths++] = width;
        at += size + 1;
    }
    return GSL_SUCCESS;
}

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    int siblings, status = GSL_SUCCESS;
    const char *widths = spec_settings_text(settings, "widths");
    SPEC_TRY(spec_settings_choice(&siblings, settings, "siblings", SPEC_SIBLINGS_IID, spec_siblings_names, error));
    drafter->siblings = (spec_siblings)siblings;
    if (widths != NULL && spec_settings_text(settings, "n") != NULL)
        return spec_fail(error, GSL_EINVAL, "give n, one width for all levels, or widths, one for each: not both");
    if (widths != NULL)
        SPEC_TRY(read_widths(drafter, widths, error));
    else
        SPEC_TRY(spec_settings_int(&drafter->width[0], settings, "n", 2, 1, SPEC_NODES_MAX, error));
    for (int i = 0; i == 0 || i < drafter->n_widths; i++)
        if (drafter->width[i] > drafter->widest) drafter->widest = drafter->width[i];
    if (drafter->siblings == SPEC_SIBLINGS_HUB && drafter->widest > 2)
        status = spec_fail(error, GSL_EINVAL, "hub siblings come in pairs: a width of %d is more than 2",
                           drafter->widest);
done:
    return status;
}

/* ---- siblings ---------------------------------------------------------------------------------------------------- */

/* What the siblings from node `first` on leave of their row; false where they are all the tokens there are. */
static bool take_rest(double *weight, const double *row, const spec_draft *draft, int first)
{
    const int V = draft->vocab;
    if (draft->n_nodes - first >= V) return false;
    memcpy(weight, row, (size_t)V * sizeof *weight);
    for (int i = first; i < draft->n_nodes; i++) weight[draft->token[i]] = 0.0;
    if (weight[spec_row_argmax(weight, V)] > 0.0) return true;
    for (int i = 0; i < V; i++) weight[i] = 1.0;
    for (int i = first; i < draft->n_nodes; i++) weight[draft->token[i]] = 0.0;
    return true;
}

/* Is the last of `born` siblings chosen, of n? */
static bool is_chosen(spec_siblings siblings, int born, int n)
{
    return siblings == SPEC_SIBLINGS_TOP || (siblings == SPEC_SIBLINGS_GREEDY && born < n);
}

/* n children of `parent`, or all tokens. */
static void add_children(spec_draft *draft, double *weight, int parent, const double *row, int n, spec_chance *chance)
{
    const int first = draft->n_nodes, V = draft->vocab;
    const bool hub = draft->siblings == SPEC_SIBLINGS_HUB;
    for (int born = 1; born <= n; born++) {
        const double *law = row;
        if (draft->siblings != SPEC_SIBLINGS_IID) {
            if (!take_rest(weight, row, draft, first)) return;
            law = weight;
        }
        const bool chosen = is_chosen(draft->siblings, born, n);
        const bool joins_hub = hub && born == 2 && draft->token[first] != spec_row_argmax(row, V);
        const int token = chosen || joins_hub ? spec_row_argmax(law, V) : spec_chance_pick(chance, law, V);
        spec_draft_append(draft, token, parent, row, !chosen);
    }
}

/* ---- levels ------------------------------------------------------------------------------------------------------ */

/* The path from the root to `node` of that level, after n_path tokens of context. */
static void fill_path(int *path, size_t n_path, const spec_draft *draft, int node, int level)
{
    for (int i = level - 1; i >= 0; i--, node = draft->parent[node]) path[n_path + (size_t)i] = draft->token[node];
}

static int draft_tree(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                      const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    const spec_model *model = drafter->session.model;
    const int depth = depth_of(drafter, policy->now);
    const long n_path = spec_drafter_begin_path(drafter, context, n, depth);
    if (n_path < 0) return spec_fail(error, GSL_ENOMEM, "out of memory for a context of %zu tokens", n);

    int node = -1; /* the next to get children */
    for (int level = 0; level < depth; level++) {
        const int end = level == 0 ? 0 : ret_draft->n_nodes, born = ret_draft->n_nodes;
        for (; node < end; node++) {
            if (node >= 0 && ret_draft->token[node] == model->end_of_text) continue;
            fill_path(drafter->path, (size_t)n_path, ret_draft, node, level);
            const double *row = spec_session_row(&drafter->session, drafter->path, (size_t)n_path + (size_t)level,
                                                 spec_draft_slot(ret_draft), error);
            if (row == NULL) return GSL_EFAILED;
            add_children(ret_draft, drafter->weight, node, row, width_at(drafter, level), chance);
        }
        if (ret_draft->n_nodes == born) break; /* every path has ended */
        drafter->n_calls++;
    }
    return GSL_SUCCESS;
}

const spec_drafter_kind spec_draft_tree = {
    .name = "tree",
    .usage = "tree?n=2&widths=n.n...&siblings=iid",
    .summary = "n children a node, iid, without (replacement), top, hub or greedy; widths=3.2.1 instead of n: by level",
    .reference = "Miao24",
    .needs_model = true,
    .nodes = nodes,
    .init = init,
    .draft = draft_tree,
};
