# SPDX-License-Identifier: GPL-3.0-or-later
# Finds writers that bypass base/escape.h: escapes of a language in another file, foreign text put
# between the signs of a language, and text that reaches a terminal by itself. Input: sources, as
# awk's arguments. Prints each breach; the last line counts the statements read.
BEGIN {
    # What a statement may not hold, and what to call instead. S is a conversion of a text, C what
    # may come before it in the same string.
    S = "%[-.*0-9]*s"
    C = "([^\"\\\\]|\\\\.)*"
    rule("&(amp|lt|gt|quot|apos|#39|#x27);", "spec_escape_html")
    rule("'\\\\\\\\''", "spec_escape_shell")
    rule("\\\\\\\\text(backslash|ascii|less|greater|bar)", "spec_escape_latex")
    rule("(0x202[aA]|0x2066)", "spec_escape_is_control")
    rule("\\*[a-z]+ = '\\?'|\\? '\\?' : \\*", "spec_escape_in_place")
    rule("'\"'[^;]*fputc\\('\"'", "spec_escape_csv")
    rule("<[a-z]+[ >]" C S, "spec_escape_html")
    rule("\\]\\(" C S, "spec_escape_link")
    rule("\"" C "(`" S "|\\*\\*" S ")", "spec_escape_code or spec_escape_markdown")
    rule("\"[^\"]*\\\\\\\\[a-z]+{[^\"]*" S, "spec_escape_latex")
    rule("\"set " C "'" S, "spec_escape_gnuplot")
    rule("(speclab [a-z]+ |python3 |sh -c )" C S, "spec_escape_shell_fit")
    rule("fprintf\\([^;]*\" --[a-z-]+ " S, "spec_escape_shell")
    rule("(^|[^a-z_])(printf|puts|vprintf|perror)\\(", "spec_output_standard")
    rule("[(, ]stdout[,);]", "spec_output_standard")
    rule("fprintf\\(stderr[^;]*" S, "spec_usage_say")
    rule("fputs\\([a-z][^;]*, stderr\\)", "spec_usage_say or spec_escape_terminal")

    # Statements that may, and why.
    except("^base/escape\\.c", "it has the escapes")
    except("^cli/figures/figure_style\\.c.*set terminal", "a font is letters and digits")
    except("<system-out>%llu draws.*spec_validate_report_e", "numbers")
    except("^experiments/report/report\\.c.*\\*\\*%s\\*\\* .*label", "constants")
    except("^cli/report/.*<p class=.*holds > 0 ", "constants")
    except("<property name=|<testcase classname=|<failure type=", "names of speclab's own")
    except("caption>%s</caption>.*caption", "the caption is a count of rows")
    except("<style>%s</style>.*spec_html_style", "a constant")
    except("<script>%s</script>.*spec_html_script", "a constant")
    except("%\\.\\*s\\]\\]&gt;", "XML of gnuplot, whose texts are escaped but for ]]>")
    except("`%s`[^;]*(m->name|table->column\\[column\\])", "a column of a measure of speclab")
    except("^cli/(output|main|fields|verb_generate)\\.c.*stdout", "the streams of the program")
    except("spec_escape_shell(_fit|_file)?\\(", "a word of a shell")
    except("^tools/validate/samplers/protocol\\.c.*> '~'", "the name of a sampler is ASCII")
    except("--scopes %s.*spec_validate_report_scope", "V, DV or S")
    except("^mpi/.*freopen\\(\"/dev/null\", \"w\", stdout\\)", "writes nothing")
    except("^cli/(main|fields)\\.c.*puts\\(\"speclab \" SPEC_VERSION", "a constant")
    except("^cli/usage\\.c.*fprintf\\(stderr, \"%s.n\", line\\)",
           "the line of an error, which is escaped")
    except("^base/progress\\.c.*033.K%s\", line", "the line is escaped")
    except("^cli/generate_output\\.c.*colours\\[i\\]", "constants")
}
function rule(pattern, instead) { n_rules++; rules[n_rules] = pattern; use[n_rules] = instead }
function except(pattern, why) { n_excepted++; excepted[n_excepted] = pattern }
function judge(    i, k, found) {
    n++
    for (i = 1; i <= n_rules; i++) {
        if (statement !~ rules[i]) continue
        found = 1
        for (k = 1; k <= n_excepted; k++) if (file statement ~ excepted[k]) found = 0
        if (!found) continue
        print file ":" first ": " use[i] " is bypassed: " substr(statement, 1, 100)
        bad++
        break
    }
}
FNR == 1 { statement = ""; comment = 0; file = FILENAME; sub(/^\.\//, "", file) }
{
    line = $0
    if (comment) {
        if (line !~ /\*\//) next
        sub(/^.*\*\//, "", line)
        comment = 0
    }
    gsub(/\/\*[^*]*\*\//, "", line)
    if (line ~ /\/\*/) { sub(/\/\*.*/, "", line); comment = 1 }
    if (line ~ /^[ \t]*(\/\/|#)/ || line ~ /^[ \t]*$/) next
    if (statement == "") first = FNR
    sub(/^[ \t]+/, " ", line)
    sub(/" *$/, "\"", line)
    statement = statement line
    gsub(/" "/, "", statement) # joins the pieces of a text
    if (line !~ /[;{}][ \t]*$/) next
    judge()
    statement = ""
}
END {
    if (bad) { print "escapes: " bad " writers bypass base/escape.h"; exit 1 }
    print "escapes: no writer bypasses base/escape.h"
}
