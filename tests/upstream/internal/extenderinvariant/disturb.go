// SPDX-License-Identifier: Apache-2.0

package extenderinvariant

import (
	"fmt"
	"slices"
	"time"
)

func heldName(r *replica, k kind) string { return fmt.Sprint(r.number, kindNames[k]) }

// disturb does something to a replica, or to its way to the API server.
func (p *player) disturb(step Step) error {
	if step.N >= len(p.replicas) {
		return nil
	}
	r, k := p.replicas[step.N], kind(slices.Index(kindNames[:], step.Kind))
	switch step.Do {
	case hold, flow:
		r.hold(k, step.Do == hold)
		if step.Do == flow {
			delete(p.held, heldName(r, k))
		} else {
			p.held[heldName(r, k)] = true
		}
	case cut, finish:
		r.end(k, step.Do == finish)
	case relist, retorn:
		r.tooOld(k, step.Do == retorn)
	case away:
		return p.away(r)
	case restart:
		r.kill()
		return p.startReplica(r)
	case handOver:
		return p.handOver()
	}
	return nil
}

// tooOld has the watch of a kind end, and the next one be too old; maybe the list after it as well.
func (v *view) tooOld(k kind, list bool) {
	v.server.mu.Lock()
	v.expired[k], v.torn[k] = true, list
	v.server.mu.Unlock()
	v.end(k, true)
}

// away lets the API server answer one replica nothing but 503 for a while.
func (p *player) away(r *replica) error {
	set := func(away bool) {
		p.server.mu.Lock()
		r.view.away = away
		p.server.mu.Unlock()
	}
	set(true)
	for k := range kindCount {
		r.end(k, false)
	}
	time.Sleep(300 * time.Millisecond)
	set(false)
	return p.sync()
}

// leader is the replica that answers.
func (p *player) leader() (*replica, error) {
	if len(p.replicas) == 1 {
		return p.replicas[0], nil
	}
	for end := time.Now().Add(readyLimit * time.Duration(p.Slack)); ; time.Sleep(10 * time.Millisecond) {
		for _, r := range p.replicas {
			samples, err := r.metrics()
			if err == nil && samples["nrtd_extender_lease_held"] == 1 {
				return r, nil
			}
		}
		if time.Now().After(end) {
			return nil, wrong("lease", "no replica holds the Lease: %s", p.replicas[0].said())
		}
	}
}

// handOver ends the replica that answers by SIGTERM; the other one takes over.
func (p *player) handOver() error {
	if len(p.replicas) == 1 {
		return nil
	}
	was, err := p.leader()
	if err != nil {
		return err
	}
	if err := was.terminate(); err != nil {
		return err
	}
	for end := time.Now().Add(readyLimit * time.Duration(p.Slack)); ; time.Sleep(10 * time.Millisecond) {
		samples, err := p.other(was).metrics()
		if err == nil && samples["nrtd_extender_lease_held"] == 1 {
			break
		}
		if time.Now().After(end) {
			return wrong("lease", "the other replica does not take over: %s", p.other(was).said())
		}
	}
	if err := p.other(was).ready(p.Slack); err != nil { // it answers a second after it holds the Lease
		return err
	}
	return p.startReplica(was)
}

func (p *player) other(r *replica) *replica {
	return p.replicas[1-slices.Index(p.replicas, r)]
}

// instanceAt is the process that answers at this address.
func (p *player) instanceAt(address string) *replica {
	for _, r := range p.replicas {
		if r.address == address {
			return r
		}
	}
	return nil
}

// letFlow delivers what was held back, and waits until all replicas are ready.
func (p *player) letFlow() error {
	for _, r := range p.replicas {
		for k := range kindCount {
			r.hold(k, false)
			delete(p.held, heldName(r, k))
		}
	}
	if err := p.sync(); err != nil {
		return err
	}
	for _, r := range p.replicas {
		if err := r.ready(p.Slack); err != nil {
			return err
		}
	}
	return nil
}
