//go:build !unix || aix

package dial

import "net"

// socketProbe cannot look at sockets here.
type socketProbe struct{}

func (p *socketProbe) init(nc net.Conn) bool { return false }

func (p *socketProbe) isQuiet() bool { return true }
