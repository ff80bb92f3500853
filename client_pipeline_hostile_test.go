package gallop

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// Each server says the same on every connection. Whatever that is, each call ends, and responses keep their order.
func TestPipelineHostileServers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"
	for _, tc := range []struct {
		name string
		says []string // one after the other; then the connection ends
		want string   // what the calls get, "!" for an error
	}{
		{name: "two responses at once", says: []string{ok + "a" + ok + "x"}, want: "ax!"},
		{name: "closes in a head", says: []string{ok + "a", "HTTP/1.1 200 O"}, want: "a!a"}, // the third is sent again,
		{name: "closes in a body", says: []string{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"}, want: "!!!"},
		{name: "closes in a chunk", says: []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nx"}, want: "!!!"},
		{name: "two lengths", says: []string{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy"}, want: "!!!"},
		{name: "no HTTP", says: []string{"220 smtp.test ESMTP\r\n"}, want: "!!!"},
		{name: "interim responses without an end", says: []string{strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 10_000)}, want: "!!!"},
		{name: "large interim responses", says: []string{strings.Repeat("HTTP/1.1 100 Continue\r\nA: "+strings.Repeat("a", 1000)+"\r\n\r\n", 1000)}, want: "!!!"},
		{name: "a large head", says: []string{"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 4<<20)}, want: "!!!"},
		{name: "many fields", says: []string{"HTTP/1.1 200 OK\r\n" + strings.Repeat("A: a\r\n", 1<<20)}, want: "!!!"},
		{name: "a large body", says: []string{"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"}, want: "!!!"},
		{name: "a switch of protocols", says: []string{"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n" + ok + "x"}, want: "!!!"},
		{name: "never answers", says: []string{"", "", ""}, want: "!!!"},
	} {
		for _, secured := range []*tls.Config{nil, newTLSPeer(t, "a.test").cfg} {
			t.Run(tc.name+map[bool]string{true: ", over TLS"}[secured != nil], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := &PipelineClient{
						Addr: "a.test:80", ReadTimeout: time.Second, MaxResponseBodySize: 1 << 20,
						IsTLS: secured != nil, TLSConfig: &tls.Config{InsecureSkipVerify: true},
						Dial: func(string) (net.Conn, error) { return sayAll(tc.says, secured), nil },
					}
					var calls []*pipelined
					for i := range tc.want {
						calls = append(calls, callPipeline(c, "GET", fmt.Sprint("/", i), 0))
					}
					got := ""
					for _, p := range calls {
						if <-p.done; p.err != nil {
							p.body = "!"
						}
						got += p.body
					}
					if got != tc.want {
						t.Errorf("got %q, want %q", got, tc.want)
					}
					if synctest.Wait(); c.PendingRequests() != 0 || len(c.slots) != 0 {
						t.Errorf("left are %d calls, %d slots", c.PendingRequests(), len(c.slots))
					}
					time.Sleep(time.Hour)
				})
			})
		}
	}
}

// sayAll returns a connection to a server that says these texts, whatever it is asked. With a
// configuration the server speaks TLS.
func sayAll(says []string, secured *tls.Config) net.Conn {
	client, below := wiretest.Pipe()
	var server net.Conn = below
	if secured != nil {
		server = tls.Server(below, secured)
	}
	go func() {
		defer server.Close()
		go io.Copy(io.Discard, server)
		for _, text := range says {
			time.Sleep(10 * time.Millisecond)
			_, _ = io.WriteString(server, text)
		}
		time.Sleep(5 * time.Second)
	}()
	return client
}
