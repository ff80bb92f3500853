package gallop

import (
	"net"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/testhook"
)

func init() {
	testhook.RaceEnabled = bufpool.Poisons
	testhook.ServeAccepted = func(server any, c net.Conn) error { return server.(*Server).serveOne(c, &servedListener{}) }
}
