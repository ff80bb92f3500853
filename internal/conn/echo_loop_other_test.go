//go:build !linux

package conn_test

import "github.com/gallop-http/gallop/internal/conn"

type onLoop struct{}

func (s *echoServer) handler() conn.Handler { return nil }

func (c *echoWire) entry() *conn.Entry { return c.Entry }
