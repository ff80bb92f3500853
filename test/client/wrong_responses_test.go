package client_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// lie is what a server does with the n-th request that it gets on a connection. It
// reports whether it goes on.
type lie func(c net.Conn, q *wiretest.Incoming, n int) bool

// truth is the response that a request should get: its own target.
func truth(q *wiretest.Incoming) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(q.Target), q.Target)
}

func say200(c net.Conn, q *wiretest.Incoming) bool {
	_, err := io.WriteString(c, truth(q))
	return err == nil
}

// lies are servers that every client meets. Where one answers truly, the client must
// see it; where it does not, the client must return an error, and never another's answer.
var lies = map[string]lie{
	"closes after each answer without saying so": func(c net.Conn, q *wiretest.Incoming, n int) bool {
		say200(c, q)
		return false
	},
	"closes instead of the second answer": func(c net.Conn, q *wiretest.Incoming, n int) bool {
		return n == 1 && say200(c, q)
	},
	"resets instead of the second answer": func(c net.Conn, q *wiretest.Incoming, n int) bool {
		if n == 2 {
			wiretest.Reset(c)
			return false
		}
		return say200(c, q)
	},
	"sends an answer too many": func(c net.Conn, q *wiretest.Incoming, n int) bool {
		_, err := io.WriteString(c, truth(q)+"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON")
		return err == nil
	},
	"sends garbage behind the answer": func(c net.Conn, q *wiretest.Incoming, n int) bool {
		_, err := io.WriteString(c, truth(q)+"\x00\xff\r\n\r\n")
		return err == nil
	},
	"sends an empty line behind the answer": func(c net.Conn, q *wiretest.Incoming, n int) bool {
		_, err := io.WriteString(c, truth(q)+"\r\n")
		return err == nil
	},
	"dribbles": func(c net.Conn, q *wiretest.Incoming, n int) bool {
		for i, s := 0, truth(q); i < len(s); i++ {
			if _, err := io.WriteString(c, s[i:i+1]); err != nil {
				return false
			}
			if i%16 == 0 {
				time.Sleep(100 * time.Microsecond)
			}
		}
		return true
	},
	"stops in the head": func(c net.Conn, q *wiretest.Incoming, n int) bool {
		_, _ = io.WriteString(c, truth(q)[:20])
		return false
	},
	"stops in the body": func(c net.Conn, q *wiretest.Incoming, n int) bool {
		s := truth(q)
		_, _ = io.WriteString(c, s[:len(s)-1])
		return false
	},
	"stops in a chunk": func(c net.Conn, q *wiretest.Incoming, n int) bool {
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(q.Target), q.Target)
		return false
	},
	"resets in the body": func(c net.Conn, q *wiretest.Incoming, n int) bool {
		s := truth(q)
		_, _ = io.WriteString(c, s[:len(s)-1])
		wiretest.Reset(c)
		return false
	},
	"promises too much": func(c net.Conn, q *wiretest.Incoming, n int) bool {
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n%s", q.Target)
		return false
	},
	"promises too little": func(c net.Conn, q *wiretest.Incoming, n int) bool {
		_, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%sHTTP/1.1 200 OK\r\n", len(q.Target), q.Target)
		return err == nil
	},
	"speaks another protocol": func(c net.Conn, q *wiretest.Incoming, n int) bool {
		_, _ = io.WriteString(c, "\x15\x03\x01\x00\x02\x02\x0a")
		return false
	},
	"says nothing": func(c net.Conn, q *wiretest.Incoming, n int) bool {
		return false
	},
}

// honest are the lies that a client does not notice, or can do without.
var honest = map[string]bool{
	"closes after each answer without saying so": true, "closes instead of the second answer": true,
	"resets instead of the second answer": true, "sends an answer too many": true,
	"sends garbage behind the answer": true, "sends an empty line behind the answer": true, "dribbles": true,
	"promises too little": true,
}

// TestClientAndLyingServers calls each server thirty times in a row. All calls are of
// GET, so one that failed because the connection had gone is made again.
func TestClientAndLyingServers(t *testing.T) {
	wiretest.CheckLeaks(t)
	for name, lie := range lies {
		for mode, stream := range clientModes {
			t.Run(name+", "+mode, func(t *testing.T) {
				t.Parallel()
				dial, stop := wiretest.Loopback(lieTo(lie))
				c := hostClient(dial, stream)
				for i := range 30 {
					path := fmt.Sprintf("/call-%d", i)
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					r, err := fetchWith(ctx, c.DoContext, &wiretest.Call{Method: "GET", Path: path})
					switch {
					case ctx.Err() != nil:
						t.Fatalf("call %d hangs", i)
					case err == nil && (string(r.Body) != path || !honest[name]):
						t.Errorf("call %d: %d %q", i, r.Status, r.Body)
					case err != nil && honest[name]:
						t.Errorf("call %d: %v", i, err)
					}
					cancel()
					time.Sleep(100 * time.Microsecond)
				}
				c.CloseIdleConnections()
				stop()
			})
		}
	}
}

func lieTo(l lie) func(net.Conn) {
	return func(c net.Conn) {
		defer c.Close()
		requests := wiretest.NewRequests(c)
		for n := 1; ; n++ {
			q, err := requests.Next()
			if err != nil || !l(c, q, n) {
				return
			}
		}
	}
}

// TestClientPostsOnceToLyingServers posts to servers that end the connection when they
// have the second request: that one must fail, and must not be sent again.
func TestClientPostsOnceToLyingServers(t *testing.T) {
	for _, name := range []string{"closes instead of the second answer", "resets instead of the second answer", "says nothing", "stops in the head"} {
		t.Run(name, func(t *testing.T) {
			wiretest.CheckLeaks(t)
			var got, answered atomic.Int64
			dial, stop := wiretest.Loopback(lieTo(func(c net.Conn, q *wiretest.Incoming, n int) bool {
				got.Add(1)
				return lies[name](c, q, n)
			}))
			c := hostClient(dial, false)
			for i := range 20 {
				r, err := fetchWith(t.Context(), c.DoContext, &wiretest.Call{Method: "POST", Path: fmt.Sprint("/", i), Body: []byte("x")})
				if err == nil {
					answered.Add(1)
					if !strings.HasSuffix(string(r.Body), fmt.Sprint("/", i)) {
						t.Errorf("call %d: %q", i, r.Body)
					}
				}
			}
			c.CloseIdleConnections()
			stop()
			if got.Load() != 20 {
				t.Errorf("20 calls were sent %d times, and %d answered", got.Load(), answered.Load())
			}
		})
	}
}
