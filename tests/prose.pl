#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The checker of English: odd phrases, long sentences in comments, long lines.
#   tests/prose.pl [FOLDER...]     a line per finding below these folders, and the counts of all
# Counts per folder are compared with tests/prose.allowed, which may only fall. Without that file
# every folder must have none.
use strict;
use warnings;
use utf8;
binmode STDOUT, ':utf8';

my $columns = 100;
my $words_max = 25;

# Phrases that plain English says in other words: a pattern, and what to write.
my @odd = (
    [qr/\b(?:he|his|him|himself|she|her)\b/, 'name the identifier or the program'],
    [qr/\b(?:who|whom)(?:so)?ever\b/i, 'name the caller, thread or program'],
    [qr/\b(?:some|any|no|every)body\b/i, 'name the caller, user or program'],
    [qr/\banew\b/i, 'again'],
    [qr/\balike\b/i, 'equal, the same, both'],
    [qr/\b(?:stands|stood)\b(?! for)|\bstand (?:in|at|on|there|beside|for themselves)\b/i, 'is, is in'],
    [qr/\bof whose\b|\bof whom\b|\bwhose they\b/i, 'whose is unclear: name the owner'],
    [qr/\bcomes? to be\b|\bcame to be\b/i, 'becomes, is'],
    [qr/\bhas it that\b|\bno eyes but\b|\bin the hands\b|\bthe books of\b/i, 'say it plainly'],
    [qr/\b(?:is|are|was|were) to be\b/i, 'must be, will be'],
    [qr/\bto be had\b|\bis had\b/i, 'available'],
    [qr/\b(?:is|was|were|are) said\b|\bbe said of\b|\bspeaks? of\b|\bspoken of\b|\btells? of\b/i, 'reports, is reported, describes'],
    [qr/\bwhat is left\b|\bwhat was left\b|\bis left of\b/i, 'the residual, the rest, remaining'],
    [qr/\b(?:one|two|three|four|ten|once|some|bytes|times?|line|lines|tokens?|rows?|calls?|bits|rounds?|passes|path|number) an? (?:token|row|round|line|state|point|request|text|file|pass|block|column|draft|fixture|thread|place|node|item|word|step|draw|module|lane|call|processor|weight)\b/i, 'per token'],
    [qr/\b(?:in|of) its stead\b|\binstead thereof\b|\bthere(?:of|in|by|upon)\b|\bwherein\b|\blest\b|\bhence(?:forth)\b/i, 'use a modern word'],
    [qr/\bof (?:yours|ours|theirs|one's own)\b|\bone's own\b/i, 'your own, its own'],
    [qr/\bheed(?:s|ed)?\b|\bbegets?\b|\bwishes? for\b|\bwished for\b|\bbidden\b/i, 'use a plain verb'],
    [qr/\bas ever\b|\bfor ever\b|\bever so\b/i, 'as before, always'],
    [qr/\bmade anew\b|\bnot yet there\b|\bis there of\b|\bthere be\b/i, 'say it plainly'],
    [qr/\bso many (?:bytes|tokens|rows|rounds|threads|columns|times|words|items)\b/i, 'n bytes: name the number'],
    [qr/\bknow nothing\b|\bknows nothing\b|\bknowing of\b/i, 'does not depend on'],
    [qr/\bwhich of them\b|\bone of which\b|\bthat of which\b/i, 'name it'],
    [qr/\bgive(?:s|n)? back\b|\bgave back\b/i, 'release, return, unlock'],
    [qr/\bmakes? do with\b|\bgoes? without saying\b|\bby and by\b|\bforthwith\b/i, 'say it plainly'],
    [qr/\bnowhere else\b|\bnot elsewhere\b/i, 'only here'],
    [qr/\b(?:is|are) asked (?:for|of)\b|\bwas asked for\b|\bif asked\b|\bwhen asked\b/i, 'is requested, is called'],
    [qr/\bits due\b|\bby rights\b|\bat one's\b|\bof a kind that\b/i, 'say it plainly'],
);
# Sentences that begin with a relative clause in place of a subject.
my $beginning = qr/^(?:What|Who|Whatever|Whoever|None|That which|Of what)\b(?!.*\?$)/;

sub prose_files {
    my @files = `git ls-files -co --exclude-standard 2>/dev/null`;
    @files = `find . -path ./build -prune -o -path ./out -prune -o -type f -print` unless @files;
    chomp @files;
    s{^\./}{} for @files;
    return sort grep {
        -f $_ && (/\.(?:c|h|cu|cpp|sh|pl|md|cfg|gp|py|bash|inc)$/ || $_ eq 'Makefile' || /^\.ci\//)
            && !m{^experiments/text/} && !m{^tests/fuzz/seeds/} && $_ ne 'docs/map.md'
    } @files;
}

# The comments of a file as [line, text, is_comment]; of Markdown its paragraphs, of C its long strings too.
sub prose_of {
    my ($path, $text) = @_;
    my @found;
    if ($path =~ /\.(?:c|h|cu|cpp)$/) {
        while ($text =~ m{/\*(.*?)\*/|//([^\n]*)|"((?:[^"\\\n]|\\.)*)"|'(?:[^'\\\n]|\\.)+'}gs) {
            my ($block, $line_comment, $string) = ($1, $2, $3);
            my $line = 1 + (substr($text, 0, $-[0]) =~ tr/\n//);
            if (defined $block) {
                $block =~ s/^[ \t]*\*(?= |$)//mg;
                push @found, [$line, $block, 1];
            } elsif (defined $line_comment) {
                push @found, [$line, $line_comment, 1];
            } elsif (defined $string && $string =~ / .* /) {
                push @found, [$line, $string, 0];
            }
        }
    } elsif ($path =~ /\.md$/) {
        my ($code, $line) = (0, 0);
        for (split /\n/, $text) {
            $line++;
            if (/^\s*```/) { $code = !$code; next }
            next if $code;
            s/`[^`]*`/X/g;
            push @found, [$line, $_, 0];
        }
    } else {
        my ($from, $comment, $line) = (0, '', 0);
        for (split(/\n/, $text), '') {
            $line++;
            if (/^\s*#(?!!) ?(.*)/) {
                $from = $line if $comment eq '';
                $comment .= "$1\n";
            } else {
                push @found, [$from, $comment, 1] if $comment ne '';
                $comment = '';
                push @found, [$line, $1, 0] while /"((?:[^"\\]|\\.){20,})"/g;
            }
        }
    }
    return @found;
}

# Sentences of a comment with the lines they begin in. A table, an example or a formula is no sentence: lines that are
# indented further than the comment, or have two blanks in a row, end one.
sub sentences_of {
    my ($from, $text) = @_;
    my (@found, $sentence, $begin);
    my $end = sub { push @found, [$begin, $sentence] if defined $sentence && $sentence =~ /\w/; $sentence = undef };
    my $line = $from - 1;
    for (split /\n/, $text) {
        $line++;
        if (/^\s*$/ || /^\s{3,}/ || /\S\s{2,}\S/ || /^\s*[-*|=]/) { $end->(); next }
        s/^\s+|\s+$//g;
        for my $part (split /(?<=[.!?;:])\s+(?=[^a-z]|$)|(?<=[;:])\s+/) {
            $begin = $line unless defined $sentence;
            $sentence = defined $sentence ? "$sentence $part" : $part;
            $end->() if $part =~ /[.!?;:]\)?$/;
        }
    }
    $end->();
    return @found;
}

sub folder_of {
    my ($path) = @_;
    return '.' if $path !~ m{/};
    return $path =~ m{^(tests/[^/]+|[^/]+)/} ? $1 : '.';
}

# Sources carry their licence once base/utf8.h does; REUSE.toml covers the other files.
my $source = qr{\.(?:c|h|cu|cpp|sh|pl|py|awk|bash)$|^Makefile$|^\.ci/};

sub has_spdx {
    my ($text) = @_;
    return $text =~ /\A(?:.*\n){0,2}.*SPDX-License-Identifier\S \S/;
}

sub read_text {
    my ($path) = @_;
    open my $in, '<:encoding(UTF-8)', $path or die "$path: $!\n";
    local $/;
    my $text = <$in>;
    utf8::downgrade($text, 1); # where all is ASCII, patterns match much faster
    return $text;
}

chdir(($0 =~ m{^(.*)/}) ? "$1/.." : '..') or die;
my @asked = @ARGV;
my $spdx = -d 'LICENSES' && has_spdx(read_text('base/utf8.h'));
my (%count, @lines);
for my $path (prose_files()) {
    my $text = read_text($path);
    next if $path eq 'tests/prose.pl' || $text =~ /^@\d/;
    my @findings;
    push @findings, [1, 'no SPDX line', ''] if $spdx && $path =~ $source && !has_spdx($text);
    $text =~ s/SPDX-License-Identifier\S [\w.-]+/./;
    my ($number, $code) = (0, 0);
    for (split /\n/, $text) {
        $number++;
        $code = !$code if $path =~ /\.md$/ && /^\s*```/;
        next if length() <= $columns;
        # A row of a table, a line of an example, a link and a definition in a table of configuration may be long.
        next if $path =~ /\.md$/ && ($code || /^\s*\|/ || /^    / || /^\s*\S*\[?\S{70,}/ || /^\s*<|^\s*!?\[/);
        next if $path =~ /\.(?:cfg|gp)$/ && !/^\s*#/;
        push @findings, [$number, length() . ' columns', ''];
    }
    for my $prose (prose_of($path, $text)) {
        my ($from, $words, $is_comment) = @$prose;
        next if !$is_comment && $path =~ /_truth\.c$/; # expected texts of models
        for my $pair (@odd) {
            my ($pattern, $instead) = @$pair;
            while ($words =~ /$pattern/g) {
                my $line = $from + (substr($words, 0, $-[0]) =~ tr/\n//);
                push @findings, [$line, "'$&'", $instead];
            }
        }
        next unless $is_comment;
        for my $found (sentences_of($from, $words)) {
            my ($line, $sentence) = @$found;
            my $n = () = $sentence =~ /[A-Za-z0-9_]*[A-Za-z][A-Za-z0-9_.'()-]*/g;
            push @findings, [$line, "a sentence of $n words", substr($sentence, 0, 50)] if $n > $words_max;
            push @findings, [$line, "begins with '$&'", 'begin with the subject'] if $sentence =~ $beginning;
        }
    }
    $count{folder_of($path)} += @findings;
    next if @asked && !grep { $path eq $_ || index($path, "$_/") == 0 } @asked;
    push @lines, map { "$path:$_->[0]: $_->[1]" . ($_->[2] ne '' ? ": $_->[2]" : '') } sort { $a->[0] <=> $b->[0] } @findings;
}

my %allowed;
if (open my $in, '<', 'tests/prose.allowed') {
    while (<$in>) { $allowed{$2} = $1 if /^\s*(\d+)\s+(\S+)/ }
}
my ($bad, $sum) = (0, 0);
for my $folder (sort keys %count) {
    my $may = $allowed{$folder} // 0;
    $sum += $count{$folder};
    if ($count{$folder} > $may) {
        print "prose: $folder has $count{$folder} findings, allowed are $may: tests/prose.pl $folder\n";
        $bad = 1;
    } elsif ($count{$folder} < $may) {
        print "prose: $folder has $count{$folder} findings: write that number into tests/prose.allowed\n";
        $bad = 1;
    }
}
print map { "$_\n" } @lines if @asked;
if (@asked && $asked[0] eq '--counts') { printf "%6d %s\n", $count{$_}, $_ for sort keys %count }
print "prose: $sum findings\n";
exit $bad;
