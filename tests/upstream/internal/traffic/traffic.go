// SPDX-License-Identifier: Apache-2.0

// Package traffic counts what goes over connections: their number and bytes, TLS and all.
package traffic

import (
	"context"
	"net"
	"sync/atomic"
)

// Counter counts the connections that go through it. In is what was read from them, Out what was written.
type Counter struct {
	Connections, In, Out atomic.Int64
}

// Listener counts the connections that l accepts.
func (c *Counter) Listener(l net.Listener) net.Listener { return &listener{l, c} }

// Dial opens a connection that counts, as rest.Config wants it.
func (c *Counter) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return c.counted((&net.Dialer{}).DialContext(ctx, network, address))
}

func (c *Counter) counted(opened net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	c.Connections.Add(1)
	return &conn{opened, c}, nil
}

type listener struct {
	net.Listener
	counter *Counter
}

func (l *listener) Accept() (net.Conn, error) { return l.counter.counted(l.Listener.Accept()) }

type conn struct {
	net.Conn
	counter *Counter
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.counter.In.Add(int64(n))
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.counter.Out.Add(int64(n))
	return n, err
}
