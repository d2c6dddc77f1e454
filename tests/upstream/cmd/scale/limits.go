// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"time"
)

const (
	startLimit = 5 * time.Minute // until every object is right after a start
	rightLimit = 30 * time.Second
	// What nrtd's backoff grows to, and an attempt that the server does not answer.
	backLimit = 40 * time.Second
	// A node that comes back reads its Node and writes the object and the Node, and a request may be refused once.
	requestsEach = 4
)

// mostBy is what a second has at most of things that come by chance, so many a second on average: six standard deviations.
func mostBy(rate float64) int { return int(math.Ceil(rate + 6*math.Sqrt(rate) + 3)) }

// mostBack is how many nodes may come back in one second: tests/unit/test_backoff.c has where it comes from.
func mostBack(agents int, away time.Duration) int {
	part := agents / 10
	if away < time.Minute {
		part = agents / 4
	}
	return mostBy(float64(part))
}
