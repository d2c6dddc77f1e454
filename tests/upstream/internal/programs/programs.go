// SPDX-License-Identifier: Apache-2.0

// Package programs finds the other programs of a build by the path of nrtd.
package programs

import "path/filepath"

// KubectlNuma returns the path of kubectl-numa in nrtd's directory.
func KubectlNuma(nrtd string) string {
	return filepath.Dir(nrtd) + "/kubectl-numa"
}
