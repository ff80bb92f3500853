//go:build !unix || aix

package h2client

import "net"

// socket is not used on this platform.
type socket struct{}

func (s *socket) init(net.Conn) {}

func (s *socket) ok() bool { return false }

func (s *socket) write([]byte) (int, error) { return 0, nil }
