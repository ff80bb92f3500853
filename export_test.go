package gallop

import (
	"net"

	"github.com/gallop-http/gallop/internal/bufpool"
)

const raceEnabled = bufpool.Poisons

// RaceEnabled tells the tests outside the package whether the race detector runs.
const RaceEnabled = raceEnabled

// servers serve a connection in memory to its end, on each transport.
var servers = map[string]func(*Server, net.Conn) error{"goroutine": (*Server).ServeConn}

// ServeAccepted is ServeConn for a connection that is taken for one from a listener.
func ServeAccepted(s *Server, c net.Conn) error { return s.serveOne(c, &servedListener{}) }
