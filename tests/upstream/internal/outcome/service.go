// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"io"
	"net"
	"sync/atomic"
)

// service sends each connection to a replica of `nrtd-extender` that is ready, one after the other, as a Service of
// Kubernetes does. One that is there stays with its replica.
type service struct {
	net.Listener
	replicas []*Extender
	next     atomic.Uint64
}

// serve begins to listen; it ends with ctx.
func serve(ctx context.Context, replicas []*Extender) (*service, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	s := &service{Listener: listener, replicas: replicas}
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go s.forward(from)
		}
	}()
	return s, nil
}

// any is a replica that is ready; nil of none.
func (s *service) any() *Extender {
	first := s.next.Add(1)
	for i := range s.replicas {
		if replica := s.replicas[(first+uint64(i))%uint64(len(s.replicas))]; replica.ready() {
			return replica
		}
	}
	return nil
}

// holder is the replica that answers; nil of none.
func (s *service) holder() *Extender {
	for _, replica := range s.replicas {
		if len(s.replicas) == 1 || replica.holdsLease() {
			return replica
		}
	}
	return nil
}

func (s *service) forward(from net.Conn) {
	defer from.Close()
	replica := s.any()
	if replica == nil {
		return
	}
	to, err := net.Dial("tcp4", replica.address)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		io.Copy(to, from)
		to.Close()
	}()
	io.Copy(from, to)
}
