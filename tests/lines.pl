#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Checks that no line is longer than 100 columns and that every source names its licence. Tables,
# examples and links of documents, and definitions in configurations, may be longer.
# In a formula within a line of a document it finds what GitHub would read as Markdown: a star, a
# backslash before punctuation, and an underscore after it.
use strict;
use warnings;
use open qw(:std :encoding(UTF-8));

chdir(($0 =~ m{^(.*)/}) ? "$1/.." : '..') or die;
my @files = `git ls-files -co --exclude-standard 2>/dev/null`;
@files = `find . -path ./build -prune -o -path ./out -prune -o -type f -print` unless @files;
my $found = 0;
for my $path (@files) {
    chomp $path;
    $path =~ s{^\./}{};
    next if !-f $path || $path =~ m{^experiments/text/|^tests/fuzz/seeds/|^docs/map\.md$};
    my $source =
        $path =~ m{\.(?:c|h|cu|cpp|sh|pl|py|awk|bash)$|^Makefile$|^\.ci/(?:run|libraries|foreign)$};
    next if !$source && $path !~ /\.(?:md|cfg|gp|inc)$/;
    open my $in, '<', $path or die "$path: $!\n";
    my ($code, $spdx) = (0, !$source);
    while (<$in>) {
        chomp;
        last if $. == 1 && /^\@\d/;
        $spdx ||= $. <= 3 && /SPDX-License-Identifier: \S/;
        $code = !$code if $path =~ /\.md$/ && /^\s*```/;
        if ($path =~ /\.md$/ && /\\operatorname/) {
            print "$path:$.: GitHub refuses \\operatorname: \\mathop{\\mathrm{...}}\n";
            $found++;
        }
        if ($path =~ /\.md$/ && !$code) {
            (my $text = $_) =~ s/`[^`]*`//g;
            for my $formula ($text =~ /\$([^\$]+)\$/g) {
                next if $formula !~ /\*|\\[^a-zA-Z]|[^a-zA-Z0-9]_/;
                print "$path:$.: GitHub reads Markdown in \$$formula\$\n";
                $found++;
            }
        }
        next if length() <= 100;
        next if $path =~ /\.md$/ && ($code || /^\s*\||^    |^\s*<|^\s*!?\[|\S{70}/);
        next if $path =~ /\.(?:cfg|gp)$/ && !/^\s*#/;
        print "$path:$.: ", length(), " columns\n";
        $found++;
    }
    next if $spdx || -z $path;
    print "$path: no SPDX line\n";
    $found++;
}
print "lines: $found findings\n";
exit($found > 0);
