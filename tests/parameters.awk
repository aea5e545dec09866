# SPDX-License-Identifier: GPL-3.0-or-later
# Refuses functions with more than eight parameters: definitions, declarations, function pointers
# in structs, and functions that a macro makes. Input: the sources, as awk's arguments; -v limit=N
# changes 8.
BEGIN {
    if (!limit) limit = 8
    # Tolerated: spec_sampler_generate, by its list, since plug-ins are compiled against it.
    tolerated = "^ void \\* self , const spec_models \\* models ,"
}
FNR == 1 { restart(); in_comment = 0; macro = "" }
{
    line = stripped($0)
    if (macro != "" || line ~ /^[ \t]*#[ \t]*define/) {
        if (macro == "") macro_line = FNR
        macro = macro " " line
        if (line ~ /\\$/) next
        scan_macro(macro)
        macro = ""
        next
    }
    if (line ~ /^[ \t]*#/) next
    # Conditional code can open a body twice; a brace in the first column closes it.
    if (line ~ /^}/) { restart(); next }
    scan(line, FNR)
}
function restart() { body = level = 0; statement = last = before = name = "" }
# The line without comments, and with each string or character as one word.
function stripped(line,    out, rest) {
    if (!in_comment && line !~ /["'\/]/) return line
    out = ""
    for (;;) {
        if (in_comment) {
            if (!match(line, /\*\//)) return out
            line = substr(line, RSTART + 2)
            in_comment = 0
        }
        if (!match(line, /["']|\/[*\/]/)) return out line
        out = out substr(line, 1, RSTART - 1)
        rest = substr(line, RSTART)
        if (rest ~ /^\/\//) return out
        if (rest ~ /^\/\*/) { in_comment = 1; line = substr(rest, 3); continue }
        if (!match(rest, /^"([^"\\]|\\.)*"|^'([^'\\]|\\.)*'/)) return out
        out = out "0"
        line = substr(rest, RLENGTH + 1)
    }
}
# The body of a macro is read as a file of its own.
function scan_macro(text,    saved_body, saved_level, saved_statement, saved_last, saved_before) {
    saved_body = body; saved_level = level
    saved_statement = statement; saved_last = last; saved_before = before
    restart()
    gsub(/\\/, " ", text)
    sub(/^[ \t]*#[ \t]*define[ \t]+[A-Za-z_0-9]+(\([^)]*\))?/, "", text)
    scan(text, macro_line)
    body = saved_body; level = saved_level
    statement = saved_statement; last = saved_last; before = saved_before
}
# Reads declarations word by word: the members of structs too, but no bodies or initializers.
function scan(line, number,    token) {
    while (line != "") {
        if (body) {
            if (!match(line, /[{}]/)) return
            token = substr(line, RSTART, 1)
            line = substr(line, RSTART + 1)
            body += token == "{" ? 1 : -1
            if (!body) statement = last = before = ""
            continue
        }
        if (!match(line, /[A-Za-z_0-9]+|[(){},;=*]/)) return
        token = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        if (token == "(") open(number)
        else if (token == ")") close_list()
        else if (level) {
            words[level] = words[level] " " token
            commas[level] += token == ","
        } else if (token == "{") {
            if (last == ")" || statement !~ /(^| )(struct|union|extern)( |$)/) {
                body = 1
                continue
            }
            statement = ""
        } else if (token == ";" || token == "}") statement = ""
        else statement = statement " " token
        before = last; last = token
        if (token ~ /^[A-Za-z_]/) name = token
    }
}
# A list of parameters follows a type and a name, or the parenthesis of (*name).
function open(number) {
    commas[++level] = 0
    words[level] = ""
    where[level] = FILENAME ":" number
    named[level] = name
    is_list[level] = last == ")" || last ~ /^[A-Za-z_]/ && before ~ /^[A-Za-z_*]/ &&
        before !~ /^(return|else|do|case)$/
}
function close_list() {
    if (level < 1) return
    if (is_list[level] && commas[level] >= limit) {
        if (words[level] ~ tolerated) spared++
        else {
            print where[level] ": " named[level] " has " commas[level] + 1 " parameters"
            bad++
        }
    }
    functions += is_list[level]
    level--
}
END {
    if (bad) { print "layers: " bad " functions have more than " limit " parameters"; exit 1 }
    print "layers: " functions " lists of parameters, at most " limit " in each; " spared + 0 \
          " tolerated"
}
