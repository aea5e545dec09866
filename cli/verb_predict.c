#include "cli/grid_verb.h"
#include "cli/verb.h"

enum { KEY_HANDED = 0x2001 };

static const struct argp_option options_table[] = {
    {"alpha", 'a', "LIST", 0, "acceptance rates in [0,1] (0.8)", 1},
    {"K", 'K', "LIST", 0, "draft lengths (5)", 1},
    {"c", 'c', "LIST", 0, "draft call over target call, in time (0.1)", 1},
    {"ops-ratio", 'r', "LIST", 0, "operations of a draft token over those of a target token (c)", 1},
    {"guess", 'g', "LIST", 0, "chains drafted ahead, the bonus token being guessed with this chance", 1},
    {"handed", KEY_HANDED, "LIST", 0,
     "share of a verification in which nothing can be drafted: 0 on two devices, 1 on one processor (0)", 1},
    {"law", 'l', NULL, 0, "the whole law of n_accepted instead of its moments", 1},
    {0},
};

typedef struct {
    spec_options common;
    const char *alpha, *K, *c, *ops_ratio, *guess, *handed;
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
    case 'g': args->guess = arg; return 0;
    case KEY_HANDED: args->handed = arg; return 0;
    case 'l': args->law = true; return 0;
    case ARGP_KEY_ARG: spec_usage_fail(state->name, "what is '%s'? every argument is an option; see --help", arg);
    case ARGP_KEY_END:
        if (args->guess != NULL && (args->law || args->ops_ratio != NULL))
            spec_usage_fail(state->name, "--guess is of times: leave --law and --ops-ratio out");
        if (args->handed != NULL && args->guess == NULL)
            spec_usage_fail(state->name, "--handed is of chains drafted ahead: give a --guess, too");
        return 0;
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
        "break even. With --guess: the speed-up with the next chain drafted while this one is verified, on two "
        "devices unless --handed says otherwise; hit, the share of rounds that find their chain so; the share above which, and "
        "the c below which, it gains; the best K of both ways; and the speed-up of PEARL's way to overlap.",
        children, NULL, NULL};
    arguments args = {.common = SPEC_OPTIONS_DEFAULT, .alpha = "0.8", .K = "5", .c = "0.1"};
    spec_usage_parse(&argp, argc, argv, &args);

    const spec_verb_axis axis[] = {
        {"alpha", SPEC_AXIS_NUMBERS, args.alpha},
        {"K", SPEC_AXIS_NUMBERS, args.K},
        {"c", SPEC_AXIS_NUMBERS, args.law ? NULL : args.c},
        {"ops_ratio", SPEC_AXIS_NUMBERS, args.law ? NULL : args.ops_ratio},
        {"guess", SPEC_AXIS_NUMBERS, args.guess},
        {"handed", SPEC_AXIS_NUMBERS, args.handed},
    };
    const spec_grid_verb verb = {
        .verb = argv[0],
        .measure = args.law ? "law" : args.guess != NULL ? "ahead" : "predict",
        .axis = axis,
        .n_axes = (int)(sizeof axis / sizeof axis[0]),
    };
    return spec_grid_verb_run(&verb, &args.common);
}
