# SPDX-License-Identifier: Apache-2.0
# A dashboard and the data of its queries ($data: a panel's id and series for each query; $from, $until) as an SVG document.
def colours: ["#7eb26d", "#eab839", "#6ed0e0", "#ef843c", "#e24d42", "#5195ce", "#ba43a9", "#9aa5b1", "#508642", "#cca300"];
def cell: 50;
def line: 30;
def round_to($n): . * pow(10; $n) | round / pow(10; $n) | tostring;
def amount($unit):
	if $unit == "bytes" then
		if . >= 1073741824 then "\(. / 1073741824 | round_to(1)) GiB" elif . >= 1048576 then "\(. / 1048576 | round_to(1)) MiB" else "\(round_to(0)) B" end
	elif $unit == "percentunit" then "\(. * 100 | round_to(1)) %"
	elif $unit == "s" then
		if . >= 172800 then "\(. / 86400 | round_to(0)) d" elif . >= 120 then "\(. / 60 | round_to(0)) min" elif . >= 1 or . == 0 then "\(round_to(1)) s"
		else "\(. * 1000 | round_to(2)) ms" end
	elif ($unit | startswith("suffix:")) then "\(round_to(0))\($unit[7:])"
	elif $unit == "ops" then "\(round_to(2))/s"
	else round_to(2) end;
def text($x; $y; $class): "<text x=\"\($x)\" y=\"\($y)\" class=\"\($class)\">\(@html)</text>";

# The panels with all rows expanded: what a row contains moves all below it down.
def expanded:
	reduce .panels[] as $p ({down: 0, list: []}; .down as $down
		| .list += ([$p, $p.panels[]?] | map(.gridPos.y += $down))
		| .down += ([$p.panels[]?.gridPos | .y + .h] | max // ($p.gridPos | .y + 1)) - ($p.gridPos.y + 1))
	| .list;
# A round number that is not below any value, of counts with a whole half.
def top($unit): ([.[].values[][1]] | max // 0) as $max
	| if ($unit | startswith("suffix:")) and $max <= 20 then ([$max / 2 | ceil, 1] | max * 2) elif $max <= 0 then 1 elif $unit == "bytes" then pow(2; $max | log2 | ceil) else pow(10; $max | log10 | floor) as $p | [1, 1.5, 2, 3, 4, 5, 6, 8, 10] | map(. * $p) | map(select(. >= $max))[0] end;
def graph($x; $y; $w; $h; $unit):
	top($unit) as $top | ($h - 72) as $high | ($y + 38) as $above | ($x + 62) as $left | ($w - 74) as $wide
	| ([0, 0.5, 1][] | ($above + $high * (1 - .)) as $at
		| "<line x1=\"\($left)\" y1=\"\($at)\" x2=\"\($left + $wide)\" y2=\"\($at)\" class=\"grid\"/>", (. * $top | amount($unit) | text($left - 6; $at + 4; "axis"))),
	(to_entries[:8][] | colours[.key] as $colour
		| "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"\($colour)\" points=\"\([.value.values[]
			| "\($left + $wide * (.[0] - $from) / ($until - $from) | round_to(1)),\($above + $high * (1 - .[1] / $top) | round_to(1))"] | join(" "))\"/>"),
	(reduce to_entries[:8][] as $s ({x: ($left - 40), shown: []};
		($s.value.name | .[:26]) as $name | (24 + 6.3 * ($name | length)) as $long
		| if .x + $long > $x + $w or $name == "" then . else .shown += [{at: .x, $name, colour: colours[$s.key]}] | .x += $long end)
	| .shown[] | "<rect x=\"\(.at)\" y=\"\($y + $h - 18)\" width=\"10\" height=\"3\" fill=\"\(.colour)\"/>",
		(.at as $at | .name | text($at + 14; $y + $h - 13; "legend")));

expanded as $panels
| [$panels[] | .gridPos as $g | .id as $id
	| ($g.x * cell + 4) as $x | ($g.y * line + 4) as $y | ($g.w * cell - 8) as $w | ($g.h * line - 8) as $h
	| [$data[] | select(.id == $id).series[] | select(.values != [])] as $series
	| if .type == "row" then (.title | sub("\\$node"; "node-1") | text($x + 4; $y + 17; "row"))
	else "<rect x=\"\($x)\" y=\"\($y)\" width=\"\($w)\" height=\"\($h)\" rx=\"3\" class=\"panel\"/>", (.title | text($x + 10; $y + 18; "title")),
		if $series == [] then ("no data" | text($x + $w / 2; $y + $h / 2; "none"))
		elif .type == "stat" then .fieldConfig.defaults.unit as $unit | ($series[0].values[-1][1] | amount($unit) | text($x + $w / 2; $y + 76; "number"))
		else .fieldConfig.defaults.unit as $unit | $series | graph($x; $y; $w; $h; $unit) end
	end] as $body
| ([$panels[].gridPos | .y + .h] | max * line + 4) as $height
| "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\"\($height)\" viewBox=\"0 0 1200 \($height)\" role=\"img\" font-family=\"Helvetica,Arial,sans-serif\" font-size=\"12\" fill=\"#d8d9da\">",
	"<title>\(.title | @html)</title>",
	"<style>.panel{fill:#1f2023;stroke:#2c2e33}.grid{stroke:#33363c}.axis{font-size:10px;text-anchor:end;fill:#9a9ca3}.legend{font-size:11px}.title{font-size:13px;fill:#e6e7e9}.row{font-size:15px;font-weight:bold}.number{font-size:34px;text-anchor:middle;fill:#7eb26d}.none{text-anchor:middle;fill:#777}</style>",
	"<rect width=\"100%\" height=\"100%\" fill=\"#141517\"/>", $body[], "</svg>"
