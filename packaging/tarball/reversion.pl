#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# reversion.pl OLD NEW FILE...: let FILE, a 64-bit shared library, ask for NEW wherever it asks for the version OLD of a symbol, so
# that a glibc which has no OLD loads it. It has to ask for NEW elsewhere. What it then finds are symbols of NEW, or those of a
# program that has them without a version: the loader takes these for any.
use strict;
use warnings;

my ($old, $new, @files) = @ARGV;
die "usage: reversion.pl OLD NEW FILE...\n" if !@files;

# entries ELF: where in the text of a library each entry of its list of needed versions (.gnu.version_r) is, by the version's name
sub entries {
	my ($elf) = @_;
	die "no 64-bit ELF file\n" if substr($elf, 0, 5) ne "\x7fELF\x02";
	my $order = ord(substr($elf, 5, 1)) == 2 ? '>' : '<';
	my $get = sub { my ($format, $at) = @_; return unpack($format =~ s/[SLQ]/$&$order/gr, substr($elf, $at)) };
	my ($sections, $size, $count) = ($get->('Q', 0x28), $get->('SS', 0x3a));
	my %at;
	for my $section (map { $sections + $_ * $size } 0 .. $count - 1) {
		next if $get->('L', $section + 4) != 0x6ffffffe;    # SHT_GNU_verneed
		my ($need, undef, $strings) = $get->('QQL', $section + 0x18);
		$strings = $get->('Q', $sections + $strings * $size + 0x18);
		for (my $more = 1; $more; $need += $more) {    # Elf64_Verneed, and the list of Elf64_Vernaux that it begins
			my $entry = $need + $get->('L', $need + 8);
			$more = $get->('L', $need + 12);
			for (my $next = 1; $next; $entry += $next) {
				$next = $get->('L', $entry + 12);
				push @{$at{unpack('Z*', substr($elf, $strings + $get->('L', $entry + 8)))}}, $entry;
			}
		}
	}
	return %at;
}

for my $file (@files) {
	open(my $in, '<:raw', $file) or die "$file: $!\n";
	my $elf = do { local $/; <$in> };
	my %at = eval { entries($elf) };
	die "$file: $@" if $@;
	for my $version ($old, $new) {
		die "$file: it asks for $version " . scalar(@{$at{$version} // []}) . " times, not once\n" if @{$at{$version} // []} != 1;
	}
	# vna_hash and vna_name
	substr($elf, $at{$old}[0], 4) = substr($elf, $at{$new}[0], 4);
	substr($elf, $at{$old}[0] + 8, 4) = substr($elf, $at{$new}[0] + 8, 4);
	open(my $out, '>:raw', $file) or die "$file: $!\n";
	print $out $elf;
	close($out) or die "$file: $!\n";
}
