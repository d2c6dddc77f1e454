// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf16"
)

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// ---- scalars

var (
	words = []string{"a", "b", "cpu", "memory", "name", "kind", "x y", "0-3", "64Mi", "100m", "node-0", "a:b", "a#b", "é", "日本", "😀", "-x", "?x", ":x"}
	plain = []string{"", "~", "null", "Null", "NULL", "nUll", "y", "Y", "yes", "Yes", "YES", "yEs", "n", "N", "no", "No", "NO", "on", "On",
		"ON", "off", "Off", "OFF", "true", "True", "TRUE", "tRue", "false", "False", "FALSE", "t", "f", ".inf", "-.inf", "+.inf", ".Inf", ".nan", ".NaN", ".NAN",
		"inf", "nan", "-inf", "2001-01-01", "2001-1-1", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.10", "2001-13-14", "12:30:45", "190:20:30",
		"<<", "=", "-", "?", ".", "..", "...", "---", "--", "+", "_", "__", "1e", "e1", "1.2.3", "0x", "0b", "0o", "0b-11", "0b+1", "-0b11", "-0b-1", "0x_1", "1__0",
		"1_", "_1", "-_1", "+_1", ".5_0", "1_000.5", "0_1", "1e1_0"}
	keys = []string{"a", "b", "c", "d", "cpu", "resources", "requests", "limits", "spec", "1", "01", "yes", "true", "null", "~", "1.5", "<<", "0x10", "name", "kind", "labels", "image", "ports", "env", "value", "limits-2", "\"1\"", "'<<'", "'a'", "\"b\"", "é"}
	tags = []string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!!binary", "!!timestamp", "!!map", "!!seq", "!!set", "!!omap", "!!merge", "!", "!local", "!<tag:yaml.org,2002:int>",
		"!<tag:yaml.org,2002:str>", "!e!x", "!!", "!!value", "!<x>"}
)

// number is written in one of the many ways of YAML 1.1, of Go, or in a similar way.
func number(r *rand.Rand) string {
	sign := pick(r, "", "", "", "", "-", "+")
	digits := func(n int, of string) string {
		var text strings.Builder
		for range n {
			text.WriteByte(of[r.IntN(len(of))])
		}
		return text.String()
	}
	whole := digits(1+r.IntN(3), "0123456789")
	switch r.IntN(14) {
	case 0:
		return sign + "0" + digits(1+r.IntN(4), "01234567")
	case 1:
		return sign + pick(r, "0o", "0O", "0x", "0X", "0b", "0B") + digits(1+r.IntN(5), "01abF7")
	case 2:
		return sign + whole + "." + digits(r.IntN(4), "0123456789")
	case 3:
		return sign + "." + digits(r.IntN(4), "0123456789_")
	case 4:
		return sign + whole + pick(r, "e", "E") + pick(r, "", "+", "-") + digits(r.IntN(4), "0123456789")
	case 5:
		return sign + whole + "." + digits(r.IntN(3), "0123456789") + "e" + pick(r, "", "+", "-") + digits(1+r.IntN(2), "0123456789")
	case 6:
		return sign + whole + "_" + digits(r.IntN(4), "0123456789_")
	case 7:
		return sign + pick(r, "9223372036854775807", "9223372036854775808", "9223372036854775809", "18446744073709551615", "18446744073709551616",
			"9007199254740992", "9007199254740993", "123456789012345678901234567890", "0xffffffffffffffff", "0x8000000000000000", "01777777777777777777777",
			"0b1111111111111111111111111111111111111111111111111111111111111111", "1e308", "1e309", "1e-400", "4.9e-324", "0.1", "1e20", "1e21", "1e-6", "1e-7",
			"100000000000000000000.5", "0.30000000000000004", "2.5e15", "1.0", "10.0", "0.0", "0")
	case 8:
		return sign + digits(1+r.IntN(25), "0123456789")
	default:
		return sign + whole
	}
}

func quote(r *rand.Rand, text string) string {
	if r.IntN(2) == 0 {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	if r.IntN(3) == 0 {
		text += pick(r, `\n`, `\t`, `\x41`, `\u00e9`, `\U0001F600`, `\/`, `\ `, `\e`, `\0`, `\_`, `\N`, `\L`, `\P`, `\"`, `\\`, `\b`, `\v`, `\a`, `\q`, `\ud83d\ude00`, `\ud800`, "\\\n  ", "\n  ", "\n\n", " \t")
	}
	return `"` + text + `"`
}

func scalar(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0, 1:
		return number(r)
	case 2:
		return pick(r, plain...)
	case 3:
		return quote(r, pick(r, pick(r, words...), pick(r, plain...), number(r)))
	case 4:
		return pick(r, "x: y", "a # b", "- a", "[", "{", "]", "}", "a, b", "@a", "`a", "%a", "!a", "&a", "*a", "|", ">", "\"a", "'a", "a\tb", "\ta", "a\t", "# a", "a'b", "a\"b", ",", ",a", ": ", "\u00a0", "\u0085", "\u2028", "\ufeff", "a\ufeffb", "\x7f", "\x01")
	default:
		return pick(r, words...)
	}
}

// ---- documents

type writer struct {
	r       *rand.Rand
	out     strings.Builder
	anchors []string
	left    int // nodes
	newline string
}

func (w *writer) add(text ...string) {
	for _, one := range text {
		w.out.WriteString(one)
	}
}

func (w *writer) indent(n int) {
	w.add(strings.Repeat(" ", n))
	if w.r.IntN(400) == 0 {
		w.add("\t")
	}
}

func (w *writer) comment() {
	if w.r.IntN(12) == 0 {
		w.add(pick(w.r, " # c", "  # ---", "\t# c", " #", "# c"))
	}
	w.add(w.newline)
	if w.r.IntN(25) == 0 {
		w.add(pick(w.r, "", "   ", "\t", "# c", "  # a: b"), w.newline)
	}
}

// properties are an anchor and a tag, each with a space behind it.
func (w *writer) properties(collection bool) string {
	text := ""
	if w.r.IntN(9) == 0 {
		name := pick(w.r, "a", "b", "c", "d-1", "e_2")
		w.anchors = append(w.anchors, name)
		text = "&" + name + " "
	}
	if w.r.IntN(14) == 0 {
		tag := pick(w.r, tags...)
		if collection && w.r.IntN(2) == 0 {
			tag = pick(w.r, "!!map", "!!seq")
		}
		if w.r.IntN(2) == 0 {
			return tag + " " + text
		}
		text += tag + " "
	}
	return text
}

func (w *writer) alias() string {
	if len(w.anchors) == 0 || w.r.IntN(30) == 0 {
		return "*" + pick(w.r, "a", "b", "none")
	}
	return "*" + pick(w.r, w.anchors...)
}

// merge is what may follow "<<:".
func (w *writer) merge() string {
	switch w.r.IntN(6) {
	case 0:
		return "[" + w.alias() + ", " + w.alias() + "]"
	case 1:
		return "[{" + pick(w.r, keys...) + ": 1}, " + w.alias() + "]"
	case 2:
		return "{" + pick(w.r, keys...) + ": " + scalarInFlow(w.r) + "}"
	default:
		return w.alias()
	}
}

func scalarInFlow(r *rand.Rand) string {
	if r.IntN(3) == 0 {
		return number(r)
	}
	return pick(r, pick(r, words...), pick(r, plain...), quote(r, pick(r, words...)), scalar(r))
}

func (w *writer) key() string {
	switch w.r.IntN(50) {
	case 0:
		return w.properties(false) + scalar(w.r)
	case 1:
		return w.alias() + " "
	case 2:
		return number(w.r)
	default:
		return pick(w.r, keys...)
	}
}

func (w *writer) flow(depth int) {
	w.left--
	space := func() string { return pick(w.r, "", " ", " ", " ", "  ", "\n ", "\t", " # c\n") }
	switch {
	case w.r.IntN(12) == 0:
		w.add(w.alias())
	case depth > 4 || w.left < 0 || w.r.IntN(2) == 0:
		w.add(w.properties(false), scalarInFlow(w.r))
	case w.r.IntN(2) == 0:
		w.add(w.properties(true), "[", space())
		for i := range w.r.IntN(4) {
			if i > 0 {
				w.add(",", space())
			}
			w.flow(depth + 1)
		}
		w.add(pick(w.r, "", "", "", ",", " "), "]")
	default:
		w.add(w.properties(true), "{", space())
		for i := range w.r.IntN(4) {
			if i > 0 {
				w.add(",", space())
			}
			if w.r.IntN(8) == 0 {
				w.add("<<: ", w.merge())
				continue
			}
			w.add(w.key(), pick(w.r, ": ", ": ", ": ", ":", " : "))
			w.flow(depth + 1)
		}
		w.add(pick(w.r, "", "", "", ",", " "), "}")
	}
}

func (w *writer) blockScalar(indent int) {
	w.add(pick(w.r, "|", ">"), pick(w.r, "", "", "-", "+", "2", "1-", "+1"), pick(w.r, "", "", " # c"), w.newline)
	for range w.r.IntN(4) {
		w.add(pick(w.r, "", strings.Repeat(" ", indent), strings.Repeat(" ", indent+1), strings.Repeat(" ", indent)), pick(w.r, words...), w.newline)
	}
}

// block writes a value after "key:" or "-", with its line break.
func (w *writer) block(indent int, inList bool) {
	w.left--
	choice := w.r.IntN(20)
	if w.left < 0 || indent > 12 {
		choice = w.r.IntN(8)
	}
	switch {
	case choice < 5:
		w.add(" ", w.properties(false), scalar(w.r))
		w.comment()
	case choice < 6:
		w.add(" ", w.alias())
		w.comment()
	case choice < 7:
		w.add(" ", w.properties(false))
		w.blockScalar(indent + 2)
	case choice < 8:
		w.comment()
	case choice < 11:
		w.add(" ")
		w.flow(0)
		w.comment()
	case choice < 15:
		w.add(" ", strings.TrimSuffix(w.properties(true), " "))
		w.comment()
		w.list(indent + pick(w.r, 0, 2, 2, 1))
	default:
		if inList && w.r.IntN(2) == 0 {
			w.add(" ")
			w.members(indent+2, true)
			return
		}
		w.add(" ", strings.TrimSuffix(w.properties(true), " "))
		w.comment()
		w.members(indent+2, false)
	}
}

func (w *writer) list(indent int) {
	for range 1 + w.r.IntN(3) {
		w.indent(indent)
		w.add("-")
		w.block(indent, true)
	}
}

func (w *writer) members(indent int, begun bool) {
	for i := range 1 + w.r.IntN(4) {
		if i > 0 || !begun {
			w.indent(indent)
		}
		switch w.r.IntN(14) {
		case 0, 1:
			w.add(pick(w.r, "<<", "<<", "<<", "<<", "\"<<\"", "!!merge <<", "? <<\n"+strings.Repeat(" ", indent)), ": ", w.merge())
			w.comment()
			continue
		case 2:
			w.add("? ", w.key(), w.newline)
			w.indent(indent)
		default:
			w.add(w.key())
		}
		w.add(":")
		w.block(indent, false)
	}
}

func (w *writer) root() {
	switch w.r.IntN(8) {
	case 0:
		w.flow(0)
		w.add(w.newline)
	case 1:
		w.list(0)
	case 2:
		w.add(w.properties(false), scalar(w.r), w.newline)
	default:
		w.members(0, false)
	}
}

// jsonValue is JSON, or nearly.
func (w *writer) jsonValue(depth int) {
	w.left--
	blank := func() string { return pick(w.r, "", "", "", " ", "\n", "\t", "\r\n") }
	switch choice := w.r.IntN(8); {
	case depth > 0 && (choice < 2 || w.left < 0):
		w.add(pick(w.r, "0", "1", "-1", "1.5", "1.0", "1e3", "1E+2", "-0", "-0.0", "true", "false", "null", "9223372036854775808", "0.1", "1e400", "123456789012345678901234567890", "4.10", number(w.r)))
	case depth > 0 && choice < 4:
		w.add(`"`, pick(w.r, words...), pick(w.r, "", "", "", `\n`, `\/`, `\u00e9`, `\ud83d\ude00`, `\ud800`, `\ud800\u0041`, `\udc00`, `\u0000`, `\x`, "\x01", "\t", "\n", "\x7f", "\u2028", `\"`), `"`)
	case depth > 0 && choice < 5:
		w.add("[", blank())
		for i := range w.r.IntN(3) {
			if i > 0 {
				w.add(",", blank())
			}
			w.jsonValue(depth + 1)
		}
		w.add(blank(), "]")
	default:
		w.add("{", blank())
		for i := range w.r.IntN(4) {
			if i > 0 {
				w.add(",", blank())
			}
			w.add(`"`, pick(w.r, "a", "b", "c", "cpu", `\u0061`, "é", "<<"), pick(w.r, "", fmt.Sprint(w.r.IntN(1000))), `"`, blank(), ":", blank())
			w.jsonValue(depth + 1)
		}
		w.add(blank(), "}")
	}
}

func newWriter(r *rand.Rand) *writer {
	return &writer{r: r, left: 4 + r.IntN(20), newline: pick(r, "\n", "\n", "\n", "\n", "\n", "\n", "\n", "\r\n", "\r")}
}

// soup is a row of tokens.
func soup(r *rand.Rand) []byte {
	var text strings.Builder
	for range 1 + r.IntN(14) {
		text.WriteString(pick(r, "a", "b", "1", ":", ": ", "- ", "-", "? ", "?", "\n", "\n", "\n  ", "\n ", " ", "{", "}", "[", "]", ",", ", ", "&a ", "*a", "!!str ", "! ", "<<", "<<: ", "'", "\"", "|", ">", "|\n", "#", " #", "---", "--- ", "\n---\n",
			"...", "\n...\n", "%", "%YAML 1.1\n", "%TAG ! tag:x,2000:\n", "\t", "\r", "\r\n", "\ufeff", "@", "`", "\\", "\u0085", "\u2028", "\u00a0", "key:", "null", "{}", "[]", "\x00"))
	}
	return []byte(text.String())
}

// mutate changes bytes of a text.
func mutate(r *rand.Rand, text []byte) []byte {
	for range 1 + r.IntN(3) {
		at := r.IntN(len(text) + 1)
		rest := append([]byte{}, text[at:]...)
		switch r.IntN(5) {
		case 0:
			text = append(text[:at:at], rest[min(len(rest), 1+r.IntN(4)):]...)
		case 1:
			from := r.IntN(len(text) + 1)
			text = append(append(text[:at:at], text[from:min(len(text), from+r.IntN(20))]...), rest...)
		default:
			text = append(append(text[:at:at], soup(r)[0]), rest...)
		}
	}
	return text
}

func toUTF16(text []byte, order binary.AppendByteOrder) []byte {
	out := []byte{}
	for _, unit := range utf16.Encode([]rune("\ufeff" + string(text))) {
		out = order.AppendUint16(out, unit)
	}
	return out
}

func encode(r *rand.Rand, text []byte) []byte {
	switch r.IntN(60) {
	case 0, 1:
		return append([]byte("\xef\xbb\xbf"), text...)
	case 2:
		return toUTF16(text, binary.LittleEndian)
	case 3:
		return toUTF16(text, binary.BigEndian)
	case 4:
		return append(text, pick(r, "\xff", "\xc0\x80", "\xed\xa0\x80", "\xf5", "\xe2\x82", "\xff\xfe", "\xef\xbb\xbf")...)
	case 5:
		return append([]byte(pick(r, "\xef\xbb\xbf\xef\xbb\xbf", "\u00a0", "\u2003", "\v", "\f", "\xff\xfe", "\xff\xfea", "\xfe\xff\x00", "\r", "\t", "  ")), text...)
	}
	return text
}

func documentText(r *rand.Rand) []byte {
	w := newWriter(r)
	switch choice := r.IntN(20); {
	case choice < 2:
		return encode(r, soup(r))
	case choice < 3:
		return deep(r)
	case choice < 6:
		w.jsonValue(r.IntN(2))
		w.add(pick(r, "", "", "", "\n", " ", " x", "{}", ","))
	default:
		w.add(pick(r, "", "", "", "", "", "---\n", "--- ", "%YAML 1.1\n---\n", "%YAML 1.2\n---\n", "%TAG !e! tag:e,2000:\n---\n", "# c\n", "\n", "...\n", "--- # c\n", "---\t\n"))
		w.root()
		w.add(pick(r, "", "", "", "", "...\n", "---\n", "---\nb: 2\n", "...\nc: 3\n", "--- x\n", "... # c\n", "# c", "\n\n"))
	}
	text := []byte(w.out.String())
	if r.IntN(4) == 0 {
		text = mutate(r, text)
	}
	return encode(r, text)
}

// deep is nested, or repeats by aliases.
func deep(r *rand.Rand) []byte {
	n := pick(r, 5, 50, 100, 200, 260, 1000, 10001)
	switch r.IntN(5) {
	case 0:
		return []byte(strings.Repeat("[", n) + strings.Repeat("]", n))
	case 1:
		return []byte(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
	case 2:
		return []byte(strings.Repeat("- ", n) + "x\n")
	case 3:
		var text strings.Builder
		for i := range min(n, 200) {
			fmt.Fprintf(&text, "%sa:\n", strings.Repeat(" ", i))
		}
		return []byte(text.String())
	default:
		text := "a0: &a0 [" + strings.Repeat("1, ", 1+r.IntN(12)) + "1]\n"
		for i := range 1 + r.IntN(6) {
			text += fmt.Sprintf("a%d: &a%d [%s1]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 1+r.IntN(12)))
		}
		return []byte(text)
	}
}

// manifestText is a stream of documents.
func manifestText(r *rand.Rand) []byte {
	switch r.IntN(6) {
	case 0, 1:
		return documentText(r)
	case 2:
		w := newWriter(r)
		for range 1 + r.IntN(4) {
			w.jsonValue(pick(r, 0, 0, 0, 0, 0, 0, 1))
			w.add(pick(r, "", "\n", "\n---\n", " ", ",", " # c\n", "\n{a: b}\n", "\n\n\n"))
		}
		return encode(r, []byte(w.out.String()))
	}
	var text bytes.Buffer
	for range 1 + r.IntN(4) {
		w := newWriter(r)
		w.root()
		text.WriteString(w.out.String())
		text.WriteString(pick(r, "---\n", "---\n", "---\n", "--- # c\n", "---  \r\n", "\n---\n---\n", "--- x\n", "...\n", "---x\n", " ---\n", "...\n---\n", "%YAML 1.1\n---\n", "----\n", "--- |\n  x\n", "---\r"))
	}
	if r.IntN(4) == 0 {
		return encode(r, mutate(r, text.Bytes()))
	}
	return encode(r, text.Bytes())
}

// configText is an object of the kubelet's configuration with random members.
func configText(r *rand.Rand) []byte {
	if r.IntN(8) == 0 {
		return documentText(r)
	}
	w := newWriter(r)
	if r.IntN(4) == 0 {
		w.add(`{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","x":`)
		w.jsonValue(r.IntN(2))
		w.add(pick(r, "}", "}", "}", "}\n", ",\"x\":1}", ",}", "} # c", "}{}", "}\n---\n"))
		return encode(r, []byte(w.out.String()))
	}
	w.add("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
	w.members(0, false)
	text := []byte(w.out.String())
	if r.IntN(5) == 0 {
		text = mutate(r, text)
	}
	return encode(r, text)
}

// ---- quantities and CPU lists

func quantityText(r *rand.Rand) []byte {
	digits := func(most int) string {
		var text strings.Builder
		for range r.IntN(most + 1) {
			text.WriteByte(pick(r, byte('0'), '0', '1', '2', '5', '9', '3', '7'))
		}
		return text.String()
	}
	text := pick(r, "", "", "", "-", "+") + digits(pick(r, 2, 4, 20, 32))
	if r.IntN(2) == 0 {
		text += "." + digits(pick(r, 2, 4, 12))
	}
	text += pick(r, "", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E3", "e-3", "e+6", "E-9", "e", "E+", "e30", "e-30", "K", "ki", "mi", "i", "KiB", "g", "Z", "Yi", "e3.5", "e1e1", "ee", "e400", "e-400")
	if r.IntN(20) == 0 {
		text = string(mutate(r, []byte(text)))
	}
	if r.IntN(30) == 0 {
		text = pick(r, " ", "\t", "_", "0x") + text
	}
	return []byte(text)
}

func cpusText(r *rand.Rand) []byte {
	id := func() string {
		return pick(r, "", "", "", "", "", "", "+", "-", "0", "00", " ") + fmt.Sprint(r.IntN(pick(r, 8, 100, 1000, 70000)))
	}
	var parts []string
	for range r.IntN(5) {
		part := id()
		if r.IntN(2) == 0 {
			part += "-" + id()
		}
		parts = append(parts, part)
	}
	text := strings.Join(parts, ",")
	switch r.IntN(25) {
	case 0:
		return mutate(r, []byte(text))
	case 1:
		return []byte(text + pick(r, ",", "-", "\n", " ", "+", ":2", "/4", "1_0", "0x1", "1e1"))
	}
	return []byte(text)
}
