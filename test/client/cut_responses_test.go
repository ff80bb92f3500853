package client_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// awaitReader waits until the client wants more than it was sent; false means that it
// has what it wanted.
func awaitReader(conn *wiretest.Conn, done <-chan struct{}) bool {
	for !conn.AwaitPeer(2 * time.Millisecond) {
		select {
		case <-done:
			return false
		default:
		}
	}
	return true
}

// exchange has a new client make the request of a case on one connection, which wrap
// may wrap, and returns what it got. The server answers in these parts.
func exchange(c *wiretest.ClientCase, stream bool, wrap func(net.Conn) net.Conn, parts ...[]byte) (*wiretest.Result, error) {
	done, served := make(chan struct{}), make(chan struct{}, 8)
	dials := 0
	dial := func() (net.Conn, error) {
		dials++
		client, server := wiretest.Pipe()
		go func() {
			replay(c, parts)(server, done)
			served <- struct{}{}
		}()
		return wrap(client), nil
	}
	fetch, stop := clientSubject(stream)(dial)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := fetch(ctx, &wiretest.Call{Method: c.Method, Path: "/first", Fields: c.ReqHeaders})
	close(done)
	stop()
	for range dials {
		select {
		case <-served:
		case <-time.After(10 * time.Second):
			return r, fmt.Errorf("a connection stays open after %w", err)
		}
	}
	return r, err
}

func plainly(c net.Conn) net.Conn { return c }

// outcome writes down what a client got so that two runs can be compared.
func outcome(r *wiretest.Result, err error) string {
	if err != nil {
		return "error"
	}
	return fmt.Sprintf("%d %q %q %q", r.Status, r.Fields, r.Body, r.Trailers)
}

// clientCut is a case, the place where its response is cut, and the client's result for the uncut response.
type clientCut struct {
	c    *wiretest.ClientCase
	at   []int
	want string
}

// TestClientCutAnywhere sends the response of each small case in two parts, cut at every byte, and wants the result
// of the uncut response. The long form also draws cuts into more parts at random.
func TestClientCutAnywhere(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	cases := wiretest.ClientCases(t, smallResponse)
	for name, stream := range clientModes {
		t.Run(name, func(t *testing.T) {
			wiretest.CheckLeaks(t)
			var cuts []clientCut
			for i := range cases {
				c := &cases[i]
				want := outcome(exchange(c, stream, plainly, c.Raw))
				if c.Expect.Kind == "ok" && want == "error" || c.Expect.Kind == "error" && want != "error" {
					t.Errorf("%s: %s", c.ID, want)
				}
				for at := 1; at < len(c.Raw); at++ {
					cuts = append(cuts, clientCut{c, []int{at}, want})
					if wiretest.Long() {
						cuts = append(cuts, clientCut{c, wiretest.DrawCuts(len(c.Raw)), want})
					}
				}
			}
			t.Logf("%d cuts", len(cuts))
			wiretest.InParallel(cuts, func(c clientCut) {
				if got := outcome(exchange(c.c, stream, plainly, cutUp(c.c.Raw, c.at...)...)); got != c.want {
					t.Errorf("%s cut at %d: %.200s, want %.200s", c.c.ID, c.at, got, c.want)
				}
			})
		})
	}
}
