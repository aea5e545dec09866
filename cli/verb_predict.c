#include "cli/grid_verb.h"
#include "cli/verb.h"

static const struct argp_option options_table[] = {
    {"alpha", 'a', "LIST", 0, "acceptance rates in [0,1] (0.8)", 1},
    {"K", 'K', "LIST", 0, "draft lengths (5)", 1},
    {"c", 'c', "LIST", 0, "draft call over target call, in time (0.1)", 1},
    {"ops-ratio", 'r', "LIST", 0, "operations of a draft token over those of a target token (c)", 1},
    {"law", 'l', NULL, 0, "the whole law of n_accepted instead of its moments", 1},
    {0},
};

typedef struct {
    spec_options common;
    const char *alpha, *K, *c, *ops_ratio;
    bool law;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->common; return 0;
    case 'a': args->alpha = arg; return 0;
    case 'K': args->K = arg; return 0;
    case 'c': args->c = arg; return 0;
    case 'r': args->ops_ratio = arg; return 0;
    case 'l': args->law = true; return 0;
    case ARGP_KEY_ARG: spec_usage_fail(state->name, "what is '%s'? every argument is an option; see --help", arg);
    default: return ARGP_ERR_UNKNOWN;
    }
}

int spec_verb_predict(int argc, char **argv)
{
    static const struct argp_child children[] = {{&spec_options_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table, parse, NULL,
        "closed forms for alpha, K and c: tokens per round, speed-up, best K\v"
        "A LIST is 0.5,0.7 or lo:hi:step. Columns: emitted, the tokens a round adds, and "
        "its variance; speedup, Theorem 3.8 of Leviathan et al. "
        "(2023); ops_factor, Theorem 3.11; the best K for this alpha and c, and its "
        "speed-up; the alpha at which this K and c "
        "break even.",
        children, NULL, NULL};
    arguments args = {.common = SPEC_OPTIONS_DEFAULT, .alpha = "0.8", .K = "5", .c = "0.1"};
    spec_usage_parse(&argp, argc, argv, &args);

    const spec_verb_axis axis[] = {
        {"alpha", SPEC_AXIS_NUMBERS, args.alpha},
        {"K", SPEC_AXIS_NUMBERS, args.K},
        {"c", SPEC_AXIS_NUMBERS, args.law ? NULL : args.c},
        {"ops_ratio", SPEC_AXIS_NUMBERS, args.law ? NULL : args.ops_ratio},
    };
    const spec_grid_verb verb = {
        .verb = argv[0],
        .measure = args.law ? "law" : "predict",
        .axis = axis,
        .n_axes = (int)(sizeof axis / sizeof axis[0]),
    };
    return spec_grid_verb_run(&verb, &args.common);
}
