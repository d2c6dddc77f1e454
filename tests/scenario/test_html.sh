#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kubectl numa top -o html: the page's content, its Content-Security-Policy, names that would bring elements or scripts into the page, and
# 500 nodes. With Chromium the page is opened: its script runs, and no other; nodes with 2 to 64 NUMA nodes fit a screen and a phone, and
# texts can be read, in light and in dark. B names the build folder. With AXE=FILE, axe.min.js of the npm package axe-core finds nothing, either.
# shellcheck disable=SC2317 # functions called by name
set -u
nrtd=${B:-build}/nrtd
numa=${B:-build}/kubectl-numa
. tests/lib/scenario.sh
export LC_ALL=C
unset COLUMNS KUBECONFIG
command -v python3 >/dev/null || { echo "skipped: there is no python3 here"; exit 0; }
page() { : >"$dir/out" && "$numa" "$@" >"$dir/page.html" 2>"$dir/err"; }
has() { grep -qF -- "$1" "$dir/page.html"; }
lacks() { ! has "$1"; }

# safe: the page is well-formed, self-contained and has only its own style sheet and script, whose hashes the policy has
cat >"$dir/safe.py" <<'END'
import base64, hashlib, html.parser, re, sys
text = open(sys.argv[1]).read()
elements = set("html head meta title style body main section h1 h2 h3 p div label input select option span table thead tbody tfoot tr th td a details"
	" summary b svg defs pattern path rect text script".split())
void = {"meta", "input"}
bad, stack, found = [], [], {"style": [], "script": []}
class Page(html.parser.HTMLParser):
	policy = None
	def handle_starttag(self, tag, attributes):
		if tag not in elements: bad.append("element " + tag)
		for name, value in attributes:
			if name.startswith("on") or name in ("src", "style", "srcset", "xlink:href"): bad.append("attribute " + name)
			if name == "href" and not re.fullmatch("#n[0-9]+", value): bad.append("link " + value)
			if name == "content" and "default-src" in value: self.policy = value
		if tag not in void and not self.get_starttag_text().endswith("/>"): stack.append(tag)
	def handle_startendtag(self, tag, attributes): self.handle_starttag(tag, attributes)
	def handle_endtag(self, tag):
		if not stack or stack.pop() != tag: bad.append("end of " + tag)
	def handle_data(self, data):
		if stack and stack[-1] in found: found[stack[-1]].append(data)
page = Page()
page.feed(text)
if stack: bad.append("open: " + str(stack))
for kind in found:
	if len(found[kind]) != 1: bad.append("%d of %s" % (len(found[kind]), kind)); continue
	want = "%s-src 'sha256-%s'" % (kind, base64.b64encode(hashlib.sha256(found[kind][0].encode()).digest()).decode())
	if want not in (page.policy or ""): bad.append("the policy lacks: " + want)
if not (page.policy or "").startswith("default-src 'none'; "): bad.append("policy")
outside = re.findall(r"[a-z]+://[^\"' ]*", text.replace("http://www.w3.org/2000/svg", ""))
if outside: bad.append("addresses " + str(outside[:3]))
print("\n".join(bad))
sys.exit(bool(bad))
END
safe() { python3 "$dir/safe.py" "$dir/page.html" >"$dir/out" 2>&1; }

# --- two nodes of two pools; a pod with CPUs of both NUMA nodes of node a
example_node "$dir/a"
example_node "$dir/b"
one=777870b5-c64f-42f5-9296-688b9dc212ba
printf '{"policyName":"static","defaultCpuSet":"0,2-15,17-31","entries":{"%s":{"c":"1,16"}},"checksum":0}' $one >"$dir/a/var/lib/kubelet/cpu_manager_state"
objects() { # NAME-OF-A POOL POD
	rm -rf "$dir/cluster" && mkdir "$dir/cluster"
	"$nrtd" dump --sysroot "$dir/a" --node-name a --topology-manager-policy best-effort 2>/dev/null | sed "s|^  name: a\$|  name: '$1'|" >"$dir/cluster/a.yaml"
	"$nrtd" dump --sysroot "$dir/b" --node-name b >"$dir/cluster/b.yaml" 2>/dev/null
	cat >"$dir/cluster/objects.yaml" <<-END
		kind: Node
		metadata: {name: '$1', labels: {pool: '$2', type: big}}
		status: {allocatable: {cpu: "31", memory: 60Gi, pods: "110"}}
		---
		kind: Node
		metadata: {name: b, labels: {pool: batch}}
		status: {allocatable: {cpu: "3", memory: 60Gi, pods: "110"}}
		---
		kind: Pod
		metadata: {name: '$3', namespace: ml, uid: $one}
		spec: {nodeName: '$1', containers: [{name: c, resources: {limits: {cpu: 2, memory: 1Gi}}}]}
		status: {phase: Running}
	END
}
objects a hpc wide
check "a page" page top --from "$dir/cluster" -o html
check "is safe" safe
check "it has both nodes" has '<b>a</b>'
check "and where the objects are from" has "UTC, from $dir/cluster</p>"
check "a bar per NUMA node" has '<span title="NUMA node 0: '
check "a group per pool" has '<tr class="p-group"><th scope="rowgroup" colspan="8">hpc: 1 node, '
check "columns without news are omitted" lacks '>BASIS</th>'
check "and their pictures" test "$(grep -c 'role="img"' "$dir/page.html")" -eq 2
check "and their pools" has '<option value="=hpc">hpc</option>'
check "the pod that spans NUMA nodes, by its name" has '<th scope="row">ml/wide</th>'
check "and where its CPUs are" has '<td class="p-breaks">2 on NUMA nodes 0-1</td>'
check "and the verdict" has '<td>spans-avoidable</td>'
check "and the reason" has '<td class="p-text p-breaks">NUMA node 0 has room now</td>'
check "what is stranded" has '10 stranded'
check "the totals" has '<p>2 nodes, 42 of 62 CPUs free'
check "the page of other pools" page top --from "$dir/cluster" -o html --by type
check "has them" has '<option value="=big">big</option>'
check "and nodes without a pool" has '<option value="=">no pool</option>'
check "without Nodes" page top --from "$dir/cluster" -o html --objects-only
check "there is no pool to choose" lacks 'p-pool"><option'
check "and pods have no names" has 'pod #'
check "nodes of other exporters" page top --from tests/fixtures/examples/kep-nodes.yaml -o html
check "are safe" safe
check "and are estimates" has '~ estimated by the zones'
sed '0,/available: "[0-9]*"/s//available: "-1"/' tests/fixtures/examples/kep-nodes.yaml >"$dir/negative.yaml"
check "a node that cannot be drawn" page top --from "$dir/negative.yaml" -o html
check "has no picture" test "$(grep -c 'the picture is omitted' "$dir/page.html")" -eq 1
check "and a warning" grep -q "^kubectl-numa: warning: the page has no picture: .*'node-1'" "$dir/err"
"$numa" top --from "$dir/cluster" -o html --watch >"$dir/out" 2>"$dir/err"
check "a page cannot be watched" test $? -eq 2

# --- names that would bring a script into the page
evil='x"><script>document.title="owned"</script><img src=x onerror=alert(1)>&lt;</td></details>`'
objects "$evil" "$evil" "$evil"
check "a page of hostile names" page top --from "$dir/cluster" -o html
check "is safe, too" safe
check "the names are text" has 'x&quot;&gt;&lt;script&gt;document.title=&quot;owned&quot;&lt;/script&gt;'
cp "$dir/page.html" "$dir/evil.html"

# --- 500 nodes
awk -v a="$dir/cluster/b.yaml" 'BEGIN {
	while ((getline line <a) > 0) text = text line "\n"
	for (n = 0; n < 500; n++) { copy = text; sub(/\n  name: b\n/, "\n  name: node-" n "\n", copy); printf "%s---\n", copy }
}' >"$dir/many.yaml"
begun=$(date +%s)
check "500 nodes" page top --from "$dir/many.yaml" -o html
check "in 30 seconds" test $(($(date +%s) - begun)) -lt 30
check "in 20 MB" test "$(wc -c <"$dir/page.html")" -lt 20000000
check "with a picture each" test "$(grep -c 'role="img"' "$dir/page.html")" -eq 500
check "which are not drawn at first" test "$(grep -c '<details open' "$dir/page.html")" -eq 0
check "is safe as well" safe

# --- in a browser
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
	echo "skipped: Chromium is not here (packaging/install-deps.sh browser)"
	exit $failed
}
# open FILE QUERY: the page as the browser has it after its script, in $dir/dom; messages of the console in $dir/console
open() {
	timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$dir/profile" \
		--enable-logging=stderr --virtual-time-budget=2000 --dump-dom "file://$1$2" >"$dir/dom" 2>"$dir/log"
	grep CONSOLE "$dir/log" >"$dir/console"
	grep -q '</html>' "$dir/dom"
}
dom() { grep -qE -- "$1" "$dir/dom"; }
objects a hpc wide
page top --from "$dir/cluster" -o html
check "Chromium opens the page" open "$dir/page.html" ""
check "its script runs" dom '2 of 2 nodes'
check "the policy blocks nothing of it" test ! -s "$dir/console"
check "the filter by pool" open "$dir/page.html" "?pool=batch"
check "hides the other node" dom '1 of 2 nodes'
check "hides its picture" dom '<details [^>]*data-name="a"[^>]* hidden'
check "the filter by name" open "$dir/page.html" "?name=b&mark"
check "works beside the mark" dom '1 of 2 nodes'
check "Chromium opens the page of hostile names" open "$dir/evil.html" ""
check "only the page's script runs" dom '<title>NUMA nodes of the cluster</title>'
check "and says nothing" test ! -s "$dir/console"

# --- what people see: nodes with 2, 4, 8, 34 and 64 NUMA nodes
seen=$dir/seen
mkdir -p "$seen"
i=0
for machine in seed-2s-32cpu 16-nodes 2s-snc4 gb200 64-nodes-1024-cpus; do
	i=$((i + 1))
	"$nrtd" dump --sysroot build/fixtures/machines/$machine --node-name "a-node-with-a-long-name-$i.example.com" >"$seen/$machine.yaml" 2>/dev/null
	pool=$([ $i -lt 3 ] && echo batch || echo hpc)
	printf 'kind: Node\nmetadata: {name: a-node-with-a-long-name-%d.example.com, labels: {pool: %s}}\nstatus: {allocatable: {cpu: "8", memory: 60Gi, pods: "110"}}\n' \
		$i "$pool" >"$seen/node-$i.yaml"
done
check "a page of many NUMA nodes" page top --from "$seen" -o html
check "NUMA nodes without CPUs have no bars" has '>32 without CPUs</span>'
cp "$dir/page.html" "$dir/seen.html"
cat >"$dir/look.js" <<'END'
(function () {
	var all = function (s, e) { return Array.prototype.slice.call((e || document).querySelectorAll(s)); };
	var lines = [], table = document.getElementById("p-nodes");
	var report = function (ok, name) { lines.push((ok ? "ok " : "not ok ") + name); };
	var none = function (bad, name) { report(bad.length === 0, name + bad.slice(0, 5).map(function (x) { return " | " + x; }).join("")); };
	var html = function (e) { return e.outerHTML.slice(0, 120); };
	all("details").forEach(function (d) { d.open = true; });
	// size
	report(document.documentElement.scrollWidth <= innerWidth, "the page does not scroll to the side");
	report(table.parentNode.scrollWidth <= table.parentNode.clientWidth + 1, "the table is as wide as the page at most");
	report(all("tbody .p-bars", table).map(function (b) { return b.children.length; }).join() === "2,16,8,2,64", "a bar per NUMA node with CPUs");
	// names of parts
	none(all("th").filter(function (h) { return !h.scope; }).map(html), "headings have a scope");
	none(all("input, select").filter(function (e) { return !e.labels.length; }).map(html), "controls have a label");
	none(all("svg").filter(function (e) { return e.getAttribute("aria-hidden") !== "true" && !(e.getAttribute("role") === "img" && e.getAttribute("aria-label")); }).map(html), "pictures have a name");
	none(all(".p-wide").filter(function (e) { return e.tabIndex !== 0 || !e.getAttribute("aria-label"); }).map(html), "parts that scroll have a name, and the keyboard reaches them");
	none(all("a[href], button, input, select, summary").filter(function (e) { return e.tabIndex !== 0; }).map(html), "the keyboard reaches all controls");
	var last = 0;
	none(all("h1, h2, h3").filter(function (h) { var n = +h.localName[1], skips = n > last + 1; last = n; return skips; }).map(html), "headings skip no level");
	none(all("[id]").filter(function (e, i, list) { return list.some(function (x) { return x !== e && x.id === e.id; }); }).map(html), "ids are unique");
	// contrast of text in HTML: 4.5 to 1 (WCAG 2, 1.4.3)
	var light = function (colour) {
		var c = colour.match(/[0-9.]+/g).slice(0, 3).map(function (v) { v /= 255; return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); });
		return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
	};
	var opaque = function (e) { var b = getComputedStyle(e).backgroundColor; return b !== "rgba(0, 0, 0, 0)" ? b : e.parentElement ? opaque(e.parentElement) : "rgb(255, 255, 255)"; };
	var contrast = function (x, y) { return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
	var texts = all("body *").filter(function (e) {
		return !e.closest("svg, script") && Array.prototype.some.call(e.childNodes, function (n) { return n.nodeType === 3 && n.data.trim(); }) && e.getClientRects().length;
	});
	report(texts.length > 50, "there are texts");
	none(texts.filter(function (e) { return contrast(light(getComputedStyle(e).color), light(opaque(e))) < 4.5; }).map(html), "texts differ from their background");
	// contrast of text in the first picture: with the last shape below the middle of the text
	var shape = function (svg, x, y) {
		var below = null;
		all("rect", svg).forEach(function (r) {
			var b = r.getBBox(), fill = getComputedStyle(r).fill;
			if (x >= b.x && x <= b.x + b.width && y >= b.y && y <= b.y + b.height && /^rgb\(/.test(fill)) below = fill;
		});
		return below;
	};
	var svg = all("details svg")[0];
	none(all("text", svg).filter(function (t) {
		var b = t.getBBox(), fill = shape(svg, b.x + b.width / 2, b.y + b.height / 2);
		return !fill || contrast(light(getComputedStyle(t).fill), light(fill)) < 4.5;
	}).map(html), "texts of a picture differ from their background");
	// order
	var heads = all("thead button", table), names = function () { return all("tbody tr[data-name]", table).map(function (r) { return r.dataset.name.replace(/[^0-9]/g, ""); }).join(" "); };
	var click = function (text) { heads.filter(function (b) { return b.textContent === text; })[0].click(); };
	report(names() === "1 2 3 4 5", "nodes are in the order of their pools: " + names());
	click("FREE");
	report(names() === "2 1 5 4 3", "sorted by a number, the largest of each pool first: " + names());
	click("FREE");
	report(names() === "1 2 3 4 5", "and the other way round: " + names());
	report(all("th[aria-sort]", table).map(function (h) { return h.textContent + h.getAttribute("aria-sort"); }).join() === "FREEascending", "the heading says so");
	click("NODE");
	click("NODE");
	report(names() === "2 1 5 4 3", "sorted by a text, backwards: " + names());
	var pre = document.createElement("pre");
	pre.id = "looked";
	pre.textContent = "\n" + lines.join("\n") + "\n";
	document.querySelector("main").appendChild(pre);
})();
END
# axe.js: what axe-core finds, as look.js reports
cat >"$dir/axe.js" <<'END'
axe.run(document, {resultTypes: ["violations"]}).then(function (found) {
	document.getElementById("looked").textContent += (found.passes.length > 20 ? "ok" : "not ok") + " axe-core looks\n" +
		found.violations.map(function (v) { return "not ok axe-core: " + v.id + ": " + v.nodes[0].html.slice(0, 120).replace(/\n/g, " ") + "\n"; }).join("");
});
END
# look WIDTH SCHEME: what the scripts report of the page, in $dir/looked. The page's policy would block the scripts.
look() {
	python3 - "$dir/seen.html" "$dir/look.html" "$dir/look.js" ${AXE:+"$AXE" "$dir/axe.js"} <<-'END'
		import re, sys
		page, scripts = open(sys.argv[1]).read(), [open(name).read() for name in sys.argv[3:]]
		page = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
		open(sys.argv[2], "w").write(page.replace("</body>", "".join("<script>" + s.replace("</script", "<\\/script") + "</script>" for s in scripts) + "</body>"))
	END
	timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$dir/profile" --window-size="$1,1000" \
		--blink-settings=preferredColorScheme="$([ "$2" = dark ] && echo 0 || echo 1)" --virtual-time-budget=20000 --dump-dom "file://$dir/look.html" >"$dir/dom" 2>"$dir/log"
	sed -n '/<pre id="looked">/,/<\/pre>/p' "$dir/dom" | grep '^\(not \)\{0,1\}ok' >"$dir/looked"
	[ "$(wc -l <"$dir/looked")" -ge ${AXE:+1}8 ]
}
for width in 1400 400; do
	for scheme in light dark; do
		check "Chromium shows the page, $width pixels wide, $scheme" look $width $scheme
		grep '^not ok' "$dir/looked" >"$dir/out"
		check "all of it, and it can be read" test ! -s "$dir/out"
	done
done
exit $failed
