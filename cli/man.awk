# SPDX-License-Identifier: GPL-3.0-or-later
# Writes a man page from the --help of speclab or of one of its verbs, read from standard input.
#   awk -v page=speclab-plan -v version=1.0.0 -v verbs="predict sweep ..." -v tail=cli/man.inc \
#       -f cli/man.awk
# Help begins with "Usage: " and its indented lines, then the summary, up to a blank line.
# Options follow under headings that end with a colon; their texts begin at column 30.
# After --version, the last option, come paragraphs and examples.
# Exit status 1 if the help has another format.
function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    return text ~ /^[.']/ ? "\\&" text : text
}
# Adds a line to a section; verbatim lines are not filled.
function put(section, line, verbatim) {
    if (verbatim != literal[section])
        text[section] = text[section] (verbatim ? ".PP\n.nf\n" : ".fi\n")
    literal[section] = verbatim
    text[section] = text[section] line "\n"
}
function print_section(section, name) {
    if (text[section] == "") return
    put(section, ".", 0)
    printf ".SH %s\n%s", name, text[section]
}
NR == 1 && /^Usage: / { usage = substr($0, 8); part = "usage"; next }
part == "usage" && /^ / { sub(/^ */, ""); usage = usage " " $0; next }
part == "usage" { part = "summary" }
part == "summary" && NF { summary = summary (summary == "" ? "" : " ") $0; next }
part == "summary" { part = "body"; next }
page == "speclab" && /^  [a-z]+ +[^ ]/ {
    name = $1
    sub(/^ *[a-z]+ +/, "")
    put("verbs", ".TP\n.B speclab\\-" name "\n" roff($0), 0)
    next
}
/^ +-[-A-Za-z?]/ {
    in_option = 1
    if ($0 ~ /--version/) ended = 1
    split_at = substr($0, 28, 2) == "  " ? 29 : length($0)
    head = substr($0, 1, split_at)
    gsub(/^ +| +$/, "", head)
    put("options", ".TP\n.B " roff(head), 0)
    $0 = substr($0, split_at + 1)
    sub(/^ +/, "")
    if ($0 != "") put("options", roff($0), 0)
    next
}
in_option && /^                    / { sub(/^ +/, ""); put("options", roff($0), 0); next }
/^$/ { in_option = 0; paragraph = 1; next }
page != "speclab" && !ended && NF { # a heading, in one line or two
    heading = heading (heading == "" ? "" : " ") $0
    if (heading ~ /:$/) {
        put("options", ".SS " roff(substr(heading, 1, length(heading) - 1)), 0)
        heading = ""
    }
    next
}
/^  \$ / { put("examples", roff(substr($0, 3)), 1); next }
/^  / { put("description", roff(substr($0, 3)), 1); next }
{
    if (paragraph && text["description"] != "") put("description", ".PP", 0)
    paragraph = 0
    put("description", roff($0), 0)
}
END {
    if (usage == "" || summary == "" || (page != "speclab" && (!ended || heading != ""))) exit 1
    printf ".TH %s 1 \"\" \"speclab %s\" \"User Commands\"\n", toupper(page), version
    print ".SH NAME\n" roff(page) " \\- " roff(summary)
    print ".SH SYNOPSIS\n.B " roff(usage)
    print_section("description", "DESCRIPTION")
    print_section("verbs", "VERBS")
    print_section("options", "OPTIONS")
    print_section("examples", "EXAMPLES")
    while ((getline line < tail) > 0) {
        if (line ~ /^\[/) { gsub(/[\[\]]/, "", line); line = ".SH " line }
        if (line != "") print line
    }
    n = split(verbs, verb, " ")
    others = page == "speclab" ? "" : "speclab(1)"
    for (i = 1; i <= n; i++)
        if ("speclab-" verb[i] != page)
            others = others (others == "" ? "" : ", ") "speclab\\-" verb[i] "(1)"
    print ".SH SEE ALSO\n" others
}
