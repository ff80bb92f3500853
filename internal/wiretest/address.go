package wiretest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// addresses are the results of FreeAddress. Tests run in parallel and listen a bit later.
var addresses sync.Map

// FreeAddress returns an address on the loopback interface on which a program can listen. It returns each address once.
// The port is below those that Linux and most other systems give to a listener on port 0. Otherwise, a test that runs
// at the same time, perhaps in another process, could be given the port before the program listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	var err error
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000))
		var ln net.Listener
		if ln, err = net.Listen("tcp4", addr); err != nil {
			continue
		}
		ln.Close()
		if _, given := addresses.LoadOrStore(addr, true); !given {
			return addr
		}
	}
	t.Fatal("no address is free: ", err)
	return ""
}
