#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# mutants.pl list SEED FILE...: print every change of one token that could break the code, in a random order chosen by SEED. Each line has
# the file, the offset, the length and the new token, separated by tabs.
# mutants.pl show FILE OFFSET LENGTH NEW: print "LINE: old line => new line".
# mutants.pl apply FILE OFFSET LENGTH NEW: print the changed file.
# The changes exclude comments, strings, preprocessor lines, and code for running out of memory, which no test causes.
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

# Returns the lines that handle running out of memory, and the conditions before them.
sub untestable {
	my @lines = split /\n/, $_[0];
	my %left_out;
	for my $i (0 .. $#lines) {
		next unless $lines[$i] =~ /ENOMEM|no_memory/;
		$left_out{$i} = 1;
		for (my $j = $i - 1; $j >= 0 && $j > $i - 5; $j--) {
			last if $lines[$j] =~ /[;{}]\s*$/ && $lines[$j] !~ /^\s*(if|while|for)\b/;
			$left_out{$j} = 1;
			last if $lines[$j] =~ /^\s*(if|while|for)\b/;
		}
	}
	return \%left_out;
}

sub mutants {
	my ($path) = @_;
	my $text = text_of($path);
	my $left_out = untestable($text);
	my @found;
	my $line = 0;
	while ($text =~ m{
		(?<skip>/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|
		(?<token>[A-Za-z_]\w*|0[xX][0-9a-fA-F]+[uUlL]*|\d[\w.]*|->|\+\+|--|<<=|>>=|<<|>>|[-+*/%&|^!=<>]=|&&|\|\||\n|\S)
	}gsmx) {
		my $skip = $+{skip};
		if (defined $skip) {
			$line += $skip =~ tr/\n//;
			next;
		}
		my $token = $+{token};
		if ($token eq "\n") {
			$line++;
			next;
		}
		next if $left_out->{$line};
		my $new = $other{$token};
		$new = $1 + 1 . $2 if $token =~ /^(\d+)([uUlL]*)$/;
		$new = $token =~ /^0[uUlL]*$/ ? '1' : '0' if $token =~ /^[01][uUlL]*$/;
		push @found, join("\t", $path, pos($text) - length $token, length $token, $new) if defined $new;
	}
	return @found;
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
my ($path, $offset, $length, $new) = @arguments;
my $text = text_of($path);
my $before = substr($text, 0, $offset);
my $number = 1 + ($before =~ tr/\n//);
substr($text, $offset, $length) = $new;
if ($mode eq 'apply') {
	print $text;
} else {
	my @old_lines = split /\n/, text_of($path), -1;
	my $old_line = $old_lines[$number - 1];
	my $new_line = (split /\n/, $text, -1)[$number - 1];
	s/^\s+|\s+$//g for $old_line, $new_line, @old_lines;
	$new_line = "$old_lines[$number - 2] $new_line" if $number > 1 && length $old_line < 20; # short lines may not be unique
	print "$number: $old_line => $new_line\n";
}
