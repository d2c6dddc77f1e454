// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"io"
	"net"
)

// service sends each connection to a replica of `nrtd extender` that is ready, as a Service of Kubernetes does. One that is
// there stays with its replica.
type service struct {
	net.Listener
	replicas []*Extender
}

// serve begins to listen; it ends with ctx.
func serve(ctx context.Context, replicas []*Extender) (*service, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	s := &service{listener, replicas}
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

// active is a replica that is ready; nil of none.
func (s *service) active() *Extender {
	for _, replica := range s.replicas {
		if replica.ready() {
			return replica
		}
	}
	return nil
}

func (s *service) forward(from net.Conn) {
	defer from.Close()
	replica := s.active()
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
