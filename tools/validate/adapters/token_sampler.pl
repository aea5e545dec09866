#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# The token rule of speculative sampling in Perl, over lines of JSON.
# docs/conformance.md, "Processes", specifies the protocol.
#     speclab validate "exec:perl token_sampler.pl"
# The argument "wrong" makes a common mistake, which speclab finds.
use strict;
use warnings;
use JSON::PP;

my $json  = JSON::PP->new;
my $wrong = grep { $_ eq 'wrong' } @ARGV;
my $model;    # the last "begin": rows by state
$| = 1;

# Draws an index with probability proportional to its weight; weights may be 0.
sub pick {
    my ($weight) = @_;
    my ($sum, $last) = (0, 0);
    $sum += $_ for @$weight;
    my $u = rand() * $sum;
    for my $i (0 .. $#$weight) {
        next unless $weight->[$i] > 0;
        $last = $i;
        $u -= $weight->[$i];
        last if $u < 0;
    }
    return $last;
}

sub verify {
    my ($state, $token) = @_;
    my @emitted;
    for my $i (0 .. $#$token) {
        my ($target, $x) = ($model->{target}[ $state->[$i] ], $token->[$i]);
        my $one_hot = [ map { $_ == $x ? 1 : 0 } 0 .. $#$target ];
        my $draft = $model->{draft} ? $model->{draft}[ $state->[$i] ] : $one_hot;
        if (rand() * $draft->[$x] < $target->[$x]) {
            push @emitted, $x;
            next;
        }
        my @residual = map { $_ > 0 ? $_ : 0 } map { $target->[$_] - $draft->[$_] } 0 .. $#$target;
        return [ @emitted, pick($wrong ? $target : \@residual) ];
    }
    return [ @emitted, pick($model->{target}[ $state->[@$token] ]) ];
}

print $json->encode({ speclab => 1, name => 'token rule in Perl', scopes => ['V'] }), "\n";
while (my $line = <STDIN>) {
    my $question = $json->decode($line);
    if ($question->{type} eq 'begin') { $model = $question; next; }
    my $rounds = $question->{token};
    my @emitted = map { verify($question->{state}[$_], $rounds->[$_]) } 0 .. $#$rounds;
    print $json->encode({ serial => $question->{serial}, emitted => \@emitted }), "\n";
}
