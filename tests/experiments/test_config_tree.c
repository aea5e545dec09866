/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/config_tree.h"

#include "tests/support/support.h"

#include <string.h>

static spec_config_node *parsed(const char *text)
{
    spec_config_node *root;
    spec_error error = {""};
    if (spec_config_tree_parse(&root, text, "x", &error) != GSL_SUCCESS)
        fail_msg("%s: %s", text, error.text);
    return root;
}

static void fails(const char *text, const char *line)
{
    spec_config_node *root;
    assert_fails(spec_config_tree_parse(&root, text, "x", &error), GSL_EINVAL, line);
    assert_null(root);
}

TEST(every_kind_of_value_is_read)
{
    spec_config_node *root = parsed(
        "# a comment\n"
        "whole = -27; big : 9223372036854775807L, hex = 0x1F /* one\n more */ real = 2.385e-1;\n"
        "half=.27 truth = TRUE; no = false // here\n"
        "text = \"one \" \"two\\n\\t\\\"\\\\\\x41\\q\";\n"
        "array = [1, 2, 3]; empty = []; list = (1, 0.5, \"x\", { a = 7; }); none = ();\n"
        "group-1_* = { inner = { deep = 3; }; };\n");
    const struct {
        const char *name;
        spec_node_kind kind;
        int line, n;
        long long integer;
        double real;
    } cases[] = {
        {"whole", SPEC_NODE_INTEGER, 2, 0, -27, 0.0},
        {"big", SPEC_NODE_INTEGER, 2, 0, 9223372036854775807LL, 0.0},
        {"hex", SPEC_NODE_INTEGER, 2, 0, 31, 0.0},
        {"real", SPEC_NODE_REAL, 3, 0, 0, 0.2385},
        {"half", SPEC_NODE_REAL, 4, 0, 0, 0.27},
        {"truth", SPEC_NODE_BOOL, 4, 0, 1, 0.0},
        {"no", SPEC_NODE_BOOL, 4, 0, 0, 0.0},
        {"text", SPEC_NODE_TEXT, 5, 0, 0, 0.0},
        {"array", SPEC_NODE_ARRAY, 6, 3, 0, 0.0},
        {"empty", SPEC_NODE_ARRAY, 6, 0, 0, 0.0},
        {"list", SPEC_NODE_LIST, 6, 4, 0, 0.0},
        {"none", SPEC_NODE_LIST, 6, 0, 0, 0.0},
        {"group-1_*", SPEC_NODE_GROUP, 7, 1, 0, 0.0},
    };
    assert_int_equal(root->n, sizeof cases / sizeof cases[0]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const spec_config_node *node = spec_config_tree_member(root, cases[i].name);
        assert_non_null(node);
        assert_ptr_equal(node, root->child[i]);
        assert_int_equal(node->kind, cases[i].kind);
        assert_int_equal(node->line, cases[i].line);
        assert_int_equal(node->n, cases[i].n);
        if (node->kind == SPEC_NODE_INTEGER || node->kind == SPEC_NODE_BOOL)
            assert_true(node->integer == cases[i].integer);
        if (node->kind == SPEC_NODE_REAL) assert_true(node->real == cases[i].real);
    }
    assert_string_equal(spec_config_tree_member(root, "text")->text, "one two\n\t\"\\A\\q");
    const spec_config_node *list = spec_config_tree_member(root, "list");
    assert_string_equal(list->child[2]->text, "x");
    assert_null(list->child[2]->name);
    assert_int_equal(spec_config_tree_member(list->child[3], "a")->integer, 7);
    assert_null(spec_config_tree_member(root, "nothing"));
    assert_null(spec_config_tree_member(list, "a"));
    spec_config_tree_free(root);
    spec_config_tree_free(NULL);
    root = parsed("  \n# nothing at all");
    assert_int_equal(root->n, 0);
    spec_config_tree_free(root);
}

TEST(a_mistake_is_told_with_its_line)
{
    fails("a = 1;\nb = ;", "x:2: syntax error");
    fails("a 1", "x:1: syntax error");
    fails("a = 1 b", "x:1: syntax error");
    fails("\n\n= 3", "x:3: syntax error");
    fails("a = [1, 2", "x:1: syntax error");
    fails("a = [1, 2,]", "x:1: syntax error");
    fails("a = [(1)]", "x:1: syntax error");
    fails("a = (1 2)", "x:1: syntax error");
    fails("a = { b = 1; \n", "x:2: syntax error");
    fails("a = 1; }", "x:1: syntax error");
    fails("a = yes", "x:1: syntax error");
    fails("a = truely", "x:1: syntax error");
    fails("a = -", "x:1: syntax error");
    fails("a = \"b\n", "x:2: this string is not closed");
    fails("a = 1;\n\na = 2;", "x:3: duplicate setting name");
    fails("a = 99999999999999999999;", "x:1: a whole number that is too large");
    fails("a = [1, 0.5]", "x:1: mismatched element type in array; write a mix of whole and other "
                          "numbers as a list (0.5, 1) or a string \"0.5,1\"");
}
