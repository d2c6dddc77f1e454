// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"k8s.io/utils/cpuset"
)

// admits is whether some NUMA nodes, as few as possible, have enough CPUs that no pod holds.
func admits(k *Kind, cpus int, taken cpuset.CPUSet) bool {
	each := cpusOfNode / k.nodes
	for mask := 1; mask < 1<<k.nodes; mask++ {
		free := 0
		for cpu := 1; cpu < cpusOfNode; cpu++ {
			if mask>>(cpu/each)&1 == 1 && !taken.Contains(cpu) {
				free++
			}
		}
		if n := bits.OnesCount(uint(mask)); free >= cpus && (n-1)*each < cpus && (n == 1 || k.Policy == "restricted") {
			return true
		}
	}
	return false
}

// TestFewestVictims compares with all sets of pods, on random nodes.
func TestFewestVictims(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 400 {
		k := Kinds[r.IntN(len(Kinds))]
		each := cpusOfNode / k.nodes
		var pods []*holding
		for at := 1; at < cpusOfNode && len(pods) < 9; {
			size := 1 + r.IntN(16)
			list := []int{}
			for cpu := at; cpu < min(at+size, cpusOfNode); cpu++ {
				list = append(list, cpu)
			}
			pods = append(pods, &holding{fmt.Sprint(len(pods)), cpuset.New(list...)})
			at += size + r.IntN(3)
		}
		cpus := 1 + r.IntN(2*each)
		stays := func(pod string) bool { return pod == "0" || pod == "3" }
		taken := cpuset.New()
		for _, h := range pods {
			taken = taken.Union(h.cpus)
		}
		if cpusOfNode-1-taken.Size() >= cpus {
			continue
		}
		want := 0
		for gone := range 1 << len(pods) {
			left, allowed := cpuset.New(), true
			for i, h := range pods {
				if gone>>i&1 == 0 {
					left = left.Union(h.cpus)
				} else if stays(h.pod) {
					allowed = false
				}
			}
			if n := bits.OnesCount(uint(gone)); allowed && n > 0 && (want == 0 || n < want) && admits(k, cpus, left) {
				want = n
			}
		}
		if got := k.fewestVictims(cpus, pods, stays); got != want {
			t.Fatalf("%s, %d CPUs, pods %v: %d victims, %d are the fewest", k.Machine, cpus, pods, got, want)
		} else if want > 1 {
			found++
		}
	}
	if found < 20 {
		t.Fatalf("only %d nodes needed several victims", found)
	}
}
