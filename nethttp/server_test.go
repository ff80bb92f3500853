package nethttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/gallop-http/gallop/nethttp"
)

// ways lists the servers that can run a handler. The first is net/http's own, and the
// other servers have to behave like it.
var ways = []struct {
	name  string
	start func(t *testing.T, h http.Handler) (addr string)
}{
	{"net/http", startNetHTTP},
	{"gallop", startGallop},
	{"gallop, whole bodies", startGallopWhole},
	{"gallop in net/http", func(t *testing.T, h http.Handler) string {
		return startNetHTTP(t, nethttp.ToHTTP(nethttp.FromHTTP(h)))
	}},
}

// served runs f against each of the servers whose name is not left out.
func served(t *testing.T, h http.Handler, f func(t *testing.T, addr string), without ...string) {
	t.Helper()
	for _, way := range ways {
		if slices.Contains(without, way.name) {
			continue
		}
		t.Run(way.name, func(t *testing.T) { f(t, way.start(t, h)) })
	}
}

func startNetHTTP(t *testing.T, h http.Handler) string {
	ln := listen(t)
	s := &http.Server{Handler: h, ErrorLog: quietLog}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

func startGallop(t *testing.T, h http.Handler) string {
	ln := listen(t)
	s := nethttp.NewServer(h)
	s.Logger = quietLog
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

func startGallopWhole(t *testing.T, h http.Handler) string {
	ln := listen(t)
	s := nethttp.NewServer(h)
	s.Logger = quietLog
	s.StreamRequestBody = false
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// peer is the client's end of a connection, byte by byte.
type peer struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, addr string) *peer {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(10 * time.Second))
	return &peer{t, c, bufio.NewReader(c)}
}

func (p *peer) say(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p, format, args...); err != nil {
		p.t.Fatal(err)
	}
}

// answer reads the response to a request with this method.
func (p *peer) answer(method string) *http.Response {
	p.t.Helper()
	resp, err := http.ReadResponse(p.r, &http.Request{Method: method})
	if err != nil {
		p.t.Fatal("reading the answer: ", err)
	}
	return resp
}

// expect reads exactly these bytes.
func (p *peer) expect(want string) {
	p.t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(p.r, got)
	if string(got[:n]) != want {
		p.t.Fatalf("got %q, %v, want %q", got[:n], err, want)
	}
}

// expectEnd expects the end of the connection.
func (p *peer) expectEnd() {
	p.t.Helper()
	if rest, err := io.ReadAll(p.r); err != nil || len(rest) > 0 {
		p.t.Fatalf("got %q, %v, want the end of the connection", rest, err)
	}
}

func bodyOf(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal("reading the body: ", err)
	}
	return string(b)
}
