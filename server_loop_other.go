//go:build !linux

package gallop

import "github.com/gallop-http/gallop/internal/conn"

// There are no event loops here: goroutines serve all connections.

func (s *Server) loopHandler() conn.Handler { return nil }

func (c *serverConn) moreOfHead() (bool, conn.Next) { return false, conn.Step }

func (c *serverConn) mayRunHere() bool { return true }

func (c *serverConn) handleOnLoop() { c.srv.Handler(&c.ctx) }

func (c *serverConn) mayParkLater() bool { return false }

func (c *h2Conn) begin(st *h2Stream) { c.beginOnGoroutine(st) }

func (st *h2Stream) isBatched() bool { return false }
