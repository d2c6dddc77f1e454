// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestKeptCasesHaveTheirMachine: a kept case may name only a machine that this repository makes.
func TestKeptCasesHaveTheirMachine(t *testing.T) {
	const testdata = "../../testdata"
	paths, err := filepath.Glob(filepath.Join(testdata, "kubelet", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no kept case: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var kept struct{ Case Case }
		if err := json.Unmarshal(text, &kept); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		made := kept.Case.Spec != "" // the case brings the machine with it
		for _, folder := range []string{testdata, "../../../fixtures/machines"} {
			_, err := os.Stat(filepath.Join(folder, kept.Case.Machine+".spec"))
			made = made || err == nil
		}
		if !made {
			t.Errorf("%s: no machine %q is made here", path, kept.Case.Machine)
		}
	}
}
