#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Checks the dependency rule: which folder may include which, and that no modules include one
# another in a circle (tests/circles.awk). Library code also keeps no state of the process and reads
# no environment. Only models know their ends of a text; all others ask whether a text has ended.
# Foreign text is written by base/escape.h alone (tests/escapes.awk), which is tried on a planted
# breach of each kind. Prints every breach; fails on any.
cd "$(dirname "$0")/.." || exit 2
sources() {
    find include base models sim analysis experiments tools api web cli mpi tests \
        \( -name '*.c' -o -name '*.h' -o -name '*.cu' \) | LC_ALL=C sort
}
status=0
sources | xargs awk -f tests/circles.awk || status=1
sources | xargs awk -f tests/parameters.awk || status=1 # at most eight parameters
sources | xargs awk '
BEGIN {
    may["include"] = "speclab"
    may["base"] = "speclab base"
    may["models"] = may["base"] " models"
    may["sim"] = may["models"] " sim"
    may["analysis"] = may["base"] " analysis"
    # A tool uses no other one, with two exceptions: bench, which times passes and reads measured
    # costs, is below experiments, and live judges and advises as validate and advise do.
    may["tools/validate"] = may["sim"] " analysis tools/validate"
    may["tools/bench"] = may["sim"] " analysis tools/bench"
    may["experiments"] = may["tools/bench"] " experiments"
    split("advise serve train tune pair", tools, " ")
    for (i in tools) {
        may["tools/" tools[i]] = may["experiments"] " tools/" tools[i]
        library = library " tools/" tools[i]
    }
    may["tools/live"] = may["tools/validate"] " tools/bench experiments tools/advise tools/live"
    may["api"] = may["tools/validate"] " tools/bench experiments" library " api"
    may["web"] = "speclab web"
    may["web_system"] = may["api"] " web" # stands in for modules of the library
    may["cli"] = may["api"] " tools/live cli"
    may["mpi"] = may["cli"]
    # Files of a library folder that keep state of the process, with the reason.
    keeps["base/cpu.c"] = "the limit of the instruction set: no result depends on it"
    keeps["base/json_memory.c"] = "jansson has one allocator per process"
    keeps["base/progress.c"] = "standard error has one progress line"
    keeps["tools/validate/fixtures/design_cover.c"] = "the fixtures of the design, generated once"
    keeps["tools/validate/mutants/mutants_pairs.c"] = "the mistakes in pairs, generated once"
    keeps["models/gpu/simt.h"] = "shared memory of a simulated block, in tests alone"
}
FNR == 1 {
    split(FILENAME, part, "/")
    from = part[1] == "tests" ? 2 : 1
    folder = part[from] (part[from] == "tools" ? "/" part[from + 1] : "")
    if (folder == "simulator") folder = "models"
    if (part[1] == "web" && part[2] == "system") folder = "web_system"
    if (folder ~ /^(bench|fuzz|peers|support)$/) folder = "cli"
    allowed = " " may[folder] (part[1] == "tests" ? " tests" : "") " "
    name = FILENAME; sub(/.*\//, "", name)
    if (name in seen) { print FILENAME ": the name is taken by " seen[name]; bad++ }
    seen[name] = FILENAME
    files++
}
part[1] != "tests" && folder in may && part[1] !~ /^(cli|mpi|include)$/ && !(FILENAME in keeps) {
    variable = $0 ~ /^(static|_Thread_local)[ \t]/ && $0 !~ /\(/ &&
        $0 !~ /[^*]const [a-z_]+(\[| =|;)/ && $0 ~ /(;|=|\{)/ &&
        $0 !~ /^static (inline )?(const|struct [a-z_]+ \{)/ &&
        $0 !~ /\* *const/
    if ($0 ~ /^static const [^=(]*\*[a-z_0-9]+(\[[^]]*\])? *(=|;)/) variable = 1
    if (variable || $0 ~ /^[ \t]+static [^()]*(;|=)/ && $0 !~ /const/) {
        print FILENAME ":" FNR ": a static variable that may change: " $0
        bad++
    }
    if ($0 ~ /(getenv|pthread_atfork)[ \t]*\(/) {
        print FILENAME ":" FNR ": library code may not call it: " $0
        bad++
    }
}
part[1] !~ /^(models|tests)$/ && /(ends\.(n|token)|spec_text_ends_has)[^_a-z]/ {
    print FILENAME ":" FNR ": ask spec_model_ends_text or spec_model_has_ends: " $0
    bad++
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    path = $0; sub(/^[^"]*"/, "", path); sub(/".*/, "", path)
    split(path, to, "/")
    top = to[1] (to[1] == "tools" ? "/" to[2] : "")
    if (path !~ /\// || top == "..") {
        print FILENAME ":" FNR ": include paths start at the root: " path
        bad++
    } else if (index(allowed, " " top " ") == 0) {
        print FILENAME ":" FNR ": " folder "/ may not include " path
        bad++
    }
}
END {
    if (bad) { print "layers: " bad " breaches"; exit 1 }
    print "layers: " files " files follow the dependency rule"
}' || status=1
# Foreign text.
sources | grep -v '^\(tests\|web\)/' | xargs awk -f tests/escapes.awk || status=1
planted=$(awk -f tests/escapes.awk tests/escapes_planted.txt | grep -c '^tests/escapes_planted')
[ "$planted" -eq "$(wc -l <tests/escapes_planted.txt)" ] || {
    echo "tests/escapes.awk: finds $planted of the breaches in tests/escapes_planted.txt"
    status=1
}
unsafe='innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|eval\(|new Function'
! grep -nE "$unsafe" web/core.js web/js/*.js cli/report/html_parts.c || status=1
! grep -nE 'compgen [^|]*-W|(^|[ ;])eval ' cli/completion.bash || status=1
! grep -nE 'shell=True|os\.system|os\.popen' python/speclab/*.py || status=1
exit $status
