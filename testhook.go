package gallop

import (
	"net"

	"github.com/gallop-http/gallop/internal/testhook"
)

func init() {
	testhook.RaceEnabled = raceEnabled
	testhook.ServeAccepted = func(server any, c net.Conn) error { return server.(*Server).serveOne(c, &servedListener{}) }
}
