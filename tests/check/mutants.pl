#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# mutants.pl list SEED FILE...: print every change of one token that could break the code, in a random order chosen by SEED. Each line has
# the file, the offset, the length and the new token, separated by tabs.
# mutants.pl show FILE OFFSET LENGTH NEW: print "LINE: old line => new line".
# mutants.pl apply FILE OFFSET LENGTH NEW: print the changed file.
# mutants.pl stale LIST FILE...: print the lines "FILE: old line => new line" of the list that are no change of the files; fail if there are any.
# The changes exclude comments, strings and preprocessor lines.
use strict;
use warnings;

my %other = (
	'<' => '<=', '<=' => '<', '>' => '>=', '>=' => '>', '==' => '!=', '!=' => '==', '&&' => '||', '||' => '&&',
	'+' => '-', '-' => '+', '++' => '--', '--' => '++', '+=' => '-=', '-=' => '+=', '|=' => '&=', '&=' => '|=',
	'<<' => '>>', '>>' => '<<', '/' => '*', '%' => '*', '|' => '&', '!' => '',
	true => 'false', false => 'true', continue => 'break', break => 'continue',
);

sub text_of {
	my ($path) = @_;
	local $/;
	open my $in, '<', $path or die "$path: $!\n";
	return scalar <$in>;
}

sub mutants {
	my ($path) = @_;
	my $text = text_of($path);
	my @found;
	while ($text =~ m{
		(?<skip>/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|
		(?<token>[A-Za-z_]\w*|0[xX][0-9a-fA-F]+[uUlL]*|\d[\w.]*|->|\+\+|--|<<=|>>=|<<|>>|[-+*/%&|^!=<>]=|&&|\|\||\n|\S)
	}gsmx) {
		next if defined $+{skip};
		my $token = $+{token};
		my $new = $other{$token};
		$new = $1 + 1 . $2 if $token =~ /^(\d+)([uUlL]*)$/;
		$new = $token =~ /^0[uUlL]*$/ ? '1' : '0' if $token =~ /^[01][uUlL]*$/;
		push @found, join("\t", $path, pos($text) - length $token, length $token, $new) if defined $new;
	}
	return @found;
}

# shown LINES OFFSET LENGTH NEW: returns "LINE: old line => new line".
sub shown {
	my ($lines, $offset, $length, $new) = @_;
	my $number = 0;
	$offset -= 1 + length $lines->[$number++] while $offset > length $lines->[$number];
	my ($old_line, $new_line, $before) = ($lines->[$number], $lines->[$number], $number > 0 ? $lines->[$number - 1] : '');
	substr($new_line, $offset, $length) = $new;
	s/^\s+|\s+$//g for $old_line, $new_line, $before;
	$new_line = "$before $new_line" if $number > 0 && length $old_line < 20; # short lines may not be unique
	return $number + 1 . ": $old_line => $new_line";
}

my ($mode, @arguments) = @ARGV;
if ($mode eq 'list') {
	my $state = shift @arguments;
	my @all = map { mutants($_) } @arguments;
	for (my $i = $#all; $i > 0; $i--) { # unlike rand, gives the same order on every machine
		$state = ($state * 1103515245 + 12345) & 0x7fffffff;
		my $j = ($state >> 8) % ($i + 1);
		@all[$i, $j] = @all[$j, $i];
	}
	print "$_\n" for @all;
	exit;
}
if ($mode eq 'stale') {
	my $list = shift @arguments;
	my (%of, %found);
	push @{ $of{ s{.*/}{}r } }, $_ for @arguments;
	my @entries = grep { !/^(#|$)/ } split /\n/, text_of($list);
	for my $name (sort keys %{ { map { s/:.*//r => 1 } @entries } }) {
		for my $path (@{ $of{$name} || [] }) {
			my @lines = split /\n/, text_of($path), -1;
			$found{"$name: " . shown(\@lines, (split /\t/, $_, -1)[1 .. 3]) =~ s/^\d+: //r} = 1 for mutants($path);
		}
	}
	my @stale = grep { !$found{$_} } @entries;
	print "$list: no such change: $_\n" for @stale;
	exit(@stale > 0);
}
my ($path, $offset, $length, $new) = @arguments;
my $text = text_of($path);
if ($mode eq 'apply') {
	substr($text, $offset, $length) = $new;
	print $text;
} else {
	print shown([split /\n/, $text, -1], $offset, $length, $new), "\n";
}
