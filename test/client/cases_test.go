package client_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// lineFeeds are the cases that prefer a client which takes LF for the end of a line. This
// one refuses it in both roles, as RFC 9112 §2.2 allows: who reads a line where the peer
// wrote none is who gets smuggled to.
var lineFeeds = []string{"fd-lf-one", "st-lf-all"}

// playClientCases plays the cases, strictly but for those.
func playClientCases(t *testing.T, network wiretest.Network, stream bool, cases []wiretest.ClientCase) {
	t.Helper()
	var strict, lenient []wiretest.ClientCase
	for _, c := range cases {
		if slices.Contains(lineFeeds, c.ID) {
			lenient = append(lenient, c)
		} else {
			strict = append(strict, c)
		}
	}
	wiretest.Report(t, wiretest.PlayClients(t.Context(), network, clientSubject(stream), strict, true, 16))
	wiretest.Report(t, wiretest.PlayClients(t.Context(), network, clientSubject(stream), lenient, false, 16))
}

// TestClientCases plays testdata/cases as the server, over sockets.
func TestClientCases(t *testing.T) {
	if !wiretest.Beside(t) { // it mostly waits
		return
	}
	wiretest.CheckLeaks(t)
	cases := wiretest.ClientCases(t, nil)
	for name, stream := range clientModes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playClientCases(t, wiretest.Loopback, stream, cases)
		})
	}
}

// TestClientCasesInMemory plays them in virtual time.
func TestClientCasesInMemory(t *testing.T) {
	t.Parallel()
	cases := wiretest.ClientCases(t, nil)
	for name, stream := range clientModes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playClientCases(t, wiretest.Memory, stream, cases) })
		})
	}
}

// smallResponse reports whether a case is short and answered at once.
func smallResponse(c *wiretest.ClientCase) bool {
	return len(c.RawParts) == 0 && len(c.Raw) < 2<<10 && c.Method != "POST" && len(c.ReqHeaders) == 0
}

// replay answers the request of a case on its own connection, in these parts, and ends
// the connection as the case does, or by closing it.
func replay(c *wiretest.ClientCase, parts [][]byte) func(*wiretest.Conn, <-chan struct{}) {
	return func(conn *wiretest.Conn, done <-chan struct{}) {
		defer conn.Close()
		requests := wiretest.NewRequests(conn)
		if _, err := requests.Next(); err != nil {
			return
		}
		for i, p := range parts {
			if i > 0 && !awaitReader(conn, done) {
				return
			}
			if _, err := conn.Write(p); err != nil {
				return
			}
		}
		if c.Then == "reset" && awaitReader(conn, done) {
			conn.Reset()
		}
		if c.Then == "keep" {
			<-done
		}
	}
}

// cutUp returns the parts of b between the cuts.
func cutUp(b []byte, at ...int) (parts [][]byte) {
	from := 0
	for _, n := range slices.Concat(at, []int{len(b)}) {
		parts = append(parts, b[from:n])
		from = n
	}
	return parts
}
