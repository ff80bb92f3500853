package wiretest

import (
	"net"
	"sync"
	"testing"
)

// addresses are the results of FreeAddress. Tests run in parallel and listen a bit later.
var addresses sync.Map

// FreeAddress returns an address on the loopback interface on which a program can listen. It returns each address once.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := ln.Addr().String()
		ln.Close()
		if _, given := addresses.LoadOrStore(addr, true); !given {
			return addr
		}
	}
}
