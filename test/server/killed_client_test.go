package server_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// These tests cover problems outside the protocol's grammar: clients that are killed, full disks, bodies in pieces of
// one byte, more data than memory. These tests use sockets and processes of their own.

// hostileServer serves on a loopback socket until the test ends.
func hostileServer(t *testing.T, s *gallop.Server) (address string) {
	t.Helper()
	first, err := net.Listen("tcp4", "127.0.0.1:0") // has the runtime open what it polls with
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	wiretest.CheckLeaks(t)
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if s.Logger == nil {
		s.Logger = log.New(io.Discard, "", 0) // these tests are about what is refused
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return ln.Addr().String()
}

// A hostileClient is a plain connection with the standard library's reader of responses.
type hostileClient struct {
	net.Conn
	in *bufio.Reader
}

func hostileDial(t *testing.T, address string) *hostileClient {
	t.Helper()
	c, err := net.Dial("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(2 * time.Minute))
	return &hostileClient{c, bufio.NewReader(c)}
}

// want reads a response and fails the test unless it has the status and the body.
func (c *hostileClient) want(t *testing.T, status int, body string) {
	t.Helper()
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != status || string(got) != body {
		t.Fatalf("got %d %.200q, %v, want %d %q", r.StatusCode, got, err, status, body)
	}
}

// ask sends a GET for the path, which the handlers here answer with the path.
func (c *hostileClient) ask(t *testing.T, path string) {
	t.Helper()
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: hostile.test\r\n\r\n", path)
	c.want(t, 200, path)
}

// childVariable names the part that this test binary plays when a test has started it again.
const childVariable = "GALLOP_HOSTILE_CHILD"

// child prepares this test binary to run the one test again, in the named part.
func child(t *testing.T, part string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(append(os.Environ(), childVariable+"="+part), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// A client that is killed in the middle of a body leaves half a request. No handler may take it for a whole one, and
// nobody else may notice.
func TestHostileClientKilledMidBody(t *testing.T) {
	if opening := os.Getenv(childVariable); opening != "" {
		sendAndHang(t, opening)
	}
	if !wiretest.Beside(t) {
		return
	}
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		const half = 64 << 10
		openings := map[string]string{
			"length":  "POST /half HTTP/1.1\r\nHost: hostile.test\r\nContent-Length: 131072\r\n\r\n",
			"chunked": "POST /half HTTP/1.1\r\nHost: hostile.test\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n",
		}
		for framing, opening := range openings {
			t.Run(framing+"/whole body", func(t *testing.T) {
				address := hostileServer(t, &gallop.Server{Engine: over, Handler: func(ctx *gallop.RequestCtx) {
					if string(ctx.Path()) == "/half" {
						t.Errorf("the handler was given a body of %d octets that was not sent to its end", len(ctx.PostBody()))
					}
					ctx.SetBody(ctx.Path())
				}})
				neighbour := hostileDial(t, address)
				neighbour.ask(t, "/before")
				killMidBody(t, address, opening, half)
				neighbour.ask(t, "/after")
			})
			t.Run(framing+"/stream", func(t *testing.T) {
				ended := make(chan error, 1)
				address := hostileServer(t, &gallop.Server{Engine: over, StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
					if string(ctx.Path()) == "/half" {
						n, err := io.Copy(io.Discard, ctx.RequestBodyStream())
						if n != half {
							t.Errorf("%d octets arrived of %d sent", n, half)
						}
						ended <- err
					}
					ctx.SetBody(ctx.Path())
				}})
				neighbour := hostileDial(t, address)
				neighbour.ask(t, "/before")
				killMidBody(t, address, opening, half)
				neighbour.ask(t, "/after")
				if err := <-ended; err == nil {
					t.Error("the stream ended as if the body were complete")
				}
			})
		}
	})
}

// killMidBody starts a client that sends the opening and n bytes, and kills it with a signal that it cannot handle.
func killMidBody(t *testing.T, address, opening string, n int) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.Command(os.Args[0], "-test.run=^"+name+"$")
	cmd.Env = append(os.Environ(), childVariable+"="+address+" "+fmt.Sprint(n)+" "+opening)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Errorf("the client ended by itself: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
}

// sendAndHang is the client that is to be killed.
func sendAndHang(t *testing.T, order string) {
	parts := strings.SplitN(order, " ", 3)
	c, err := net.Dial("tcp4", parts[0])
	if err != nil {
		t.Fatal(err)
	}
	var n int
	fmt.Sscan(parts[1], &n)
	fmt.Fprint(c, parts[2], strings.Repeat("x", n))
	fmt.Println("sent")
	select {}
}

// A body of a hundred thousand chunks with a byte each is legal and has to be put together in linear time, however
// the segments cut it.
func TestHostileTinyChunks(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		const n = 100_000
		var message, body bytes.Buffer
		message.WriteString("POST /chunks HTTP/1.1\r\nHost: hostile.test\r\nTransfer-Encoding: chunked\r\n\r\n")
		for i := range n {
			octet := byte('a' + i%26)
			fmt.Fprintf(&message, "1\r\n%c\r\n", octet)
			body.WriteByte(octet)
		}
		message.WriteString("0\r\n\r\n")
		want := fmt.Sprintf("%d %x", n, sha256.Sum256(body.Bytes()))

		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("stream=%v", stream), func(t *testing.T) {
				address := hostileServer(t, &gallop.Server{Engine: over, StreamRequestBody: stream, Handler: func(ctx *gallop.RequestCtx) {
					digest, length := sha256.New(), int64(0)
					if stream {
						length, _ = io.Copy(digest, ctx.RequestBodyStream())
					} else {
						body := ctx.PostBody()
						length = int64(len(body))
						digest.Write(body)
					}
					fmt.Fprintf(ctx, "%d %x", length, digest.Sum(nil))
				}})
				for _, segment := range []int{1 << 20, 1461} {
					c := hostileDial(t, address)
					for rest := message.Bytes(); len(rest) > 0; {
						m, err := c.Write(rest[:min(segment, len(rest))])
						if err != nil {
							t.Fatal(err)
						}
						rest = rest[m:]
					}
					c.want(t, 200, want)
				}
			})
		}
	})
}
