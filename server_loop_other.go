//go:build !linux

package gallop

// There are no event loops here: goroutines serve all connections.

func (s *Server) loopHandler() loopHandler { return nil }

func (c *serverConn) resumeHead() {}

func (c *serverConn) moreOfHead() (bool, next) { return false, nextStep }

func (c *serverConn) mayRunHere() bool { return true }

func (c *serverConn) handleOnLoop() { c.srv.Handler(&c.ctx) }

func (c *serverConn) mayParkLater() bool { return false }
