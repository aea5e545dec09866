#!/bin/sh
# The dependency law of the house: which folder may include which. Prints every breach and fails if there is one.
cd "$(dirname "$0")/.." || exit 2
find include models sim analysis experiments cli tests \( -name '*.c' -o -name '*.h' -o -name '*.cu' \) | LC_ALL=C sort | xargs awk '
BEGIN {
    may["include"] = "speclab"
    may["models"] = "speclab models"
    may["sim"] = "speclab models sim"
    may["analysis"] = "speclab analysis"
    may["experiments"] = "speclab models sim analysis experiments"
    may["cli"] = may["experiments"] " cli"
}
FNR == 1 {
    split(FILENAME, part, "/")
    folder = part[1] == "tests" ? part[2] : part[1]
    if (folder == "simulator") folder = "models"
    if (folder == "bench" || folder == "fuzz" || folder == "support") folder = "cli"
    allowed = " " may[folder] (part[1] == "tests" ? " tests" : "") " "
    name = FILENAME; sub(/.*\//, "", name)
    if (name in seen) { print FILENAME ": the name is taken by " seen[name]; bad++ }
    seen[name] = FILENAME
    files++
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    path = $0; sub(/^[^"]*"/, "", path); sub(/".*/, "", path)
    top = path; sub(/\/.*/, "", top)
    if (path !~ /\// || top == "..") { print FILENAME ":" FNR ": include paths start at the root: " path; bad++ }
    else if (index(allowed, " " top " ") == 0) { print FILENAME ":" FNR ": " folder "/ may not include " path; bad++ }
}
END {
    if (bad) { print "layers: " bad " breaches"; exit 1 }
    print "layers: " files " files keep the law"
}'
