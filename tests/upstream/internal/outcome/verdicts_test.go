// SPDX-License-Identifier: Apache-2.0

package outcome

import "testing"

func TestClass(t *testing.T) {
	for _, c := range []struct {
		verdict Verdict
		want    string
	}{
		{Verdict{Answer: "fits", Placed: 3, Admitted: 3, Waiting: 2}, "equal"},
		{Verdict{Answer: "refused", Refused: "invalid"}, "equal"},
		{Verdict{Answer: "fits", Placed: 1, Refused: "invalid"}, "too many"},
		{Verdict{Answer: "refused", Admitted: 1}, "too many"},
		{Verdict{Answer: "fits", Placed: 3, Admitted: 3, Rejected: 1}, "too many"},
		{Verdict{Answer: "fits", Placed: 3, Admitted: 2, Waiting: 1}, "too many"},
		{Verdict{Answer: "fits", Placed: 3, Admitted: 2, Waiting: 1, Without: "volumes"}, "not evaluated"},
		{Verdict{Answer: "fits", Placed: 2, Admitted: 3}, "too few"},
		{Verdict{Answer: "unknown"}, "unknown"},
	} {
		if got := c.verdict.Class(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.verdict, got, c.want)
		}
	}
}
