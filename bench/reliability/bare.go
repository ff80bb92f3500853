//go:build linux

package reliability

import (
	"context"
	"io"
	"net"
)

// bareServer does the least that a server can do with a connection: it reads once, refuses, and lingers. It shows how
// many connections per second the machine can open and close while the attackers run on it.
type bareServer struct{}

func (bareServer) Serve(ln net.Listener) error {
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			buf := make([]byte, 8<<10)
			c.Read(buf)
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			c.(*net.TCPConn).CloseWrite()
			c.Read(buf)
		}()
	}
}

func (bareServer) Shutdown(context.Context) error { return nil }
