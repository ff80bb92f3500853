package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// onSocketsAndTLS runs a test for servers that serve real sockets in each way: over TCP, over TLS and over unix sockets. Each is a new
// server with the settings of s, to which dialEither connects. config is nil without TLS.
func onSocketsAndTLS(t *testing.T, s func() *gallop.Server, test func(t *testing.T, address string, config *tls.Config)) {
	certPEM, keyPEM, err := gallop.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		for _, tt := range []struct {
			name, network, address string
			config                 *tls.Config
		}{
			{"plain", "tcp4", "127.0.0.1:0", nil},
			{"TLS", "tcp4", "127.0.0.1:0", &tls.Config{InsecureSkipVerify: true}},
			{"unix", "unix", filepath.Join(t.TempDir(), "s"), nil},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s, config := s(), tt.config
				s.Engine, s.Logger = over, servertest.Quiet
				ln, err := net.Listen(tt.network, tt.address)
				if err != nil {
					t.Fatal(err)
				}
				served := make(chan error, 1)
				if config == nil {
					go func() { served <- s.Serve(ln) }()
				} else if err := s.AppendCertEmbed(certPEM, keyPEM); err != nil {
					t.Fatal(err)
				} else {
					go func() { served <- s.ServeTLS(ln, "", "") }()
				}
				defer func() {
					s.Close()
					if err := <-served; err != nil {
						t.Error(err)
					}
				}()
				test(t, ln.Addr().String(), config)
			})
		}
	})
}

// halfCloser is a socket of either network.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// isUnix reports whether the address is that of a unix socket.
func isUnix(address string) bool { return filepath.IsAbs(address) }

// dialEither connects to a server with or without TLS. It returns the socket, too.
func dialEither(t *testing.T, address string, config *tls.Config) (c net.Conn, socket halfCloser) {
	t.Helper()
	nc, err := net.Dial(map[bool]string{false: "tcp4", true: "unix"}[isUnix(address)], address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	if socket = nc.(halfCloser); config == nil {
		return nc, socket
	}
	return tls.Client(nc, config), socket
}

// halfClose ends the client's side of a connection, and of TLS if it is one.
func halfClose(c net.Conn, socket halfCloser) {
	if tc, ok := c.(*tls.Conn); ok {
		_ = tc.CloseWrite()
	}
	_ = socket.CloseWrite()
}

func reset(socket halfCloser) {
	_ = socket.(*net.TCPConn).SetLinger(0)
	_ = socket.Close()
}

const watchChild = "GALLOP_TEST_WATCH_CHILD"

// A handler learns at once that its client was killed, has closed its connection or reset it.
func TestDoneAtOnce(t *testing.T) {
	if order := os.Getenv(watchChild); order != "" {
		address, over, _ := strings.Cut(order, " ")
		config := map[bool]*tls.Config{true: {InsecureSkipVerify: true}}[over == "TLS"]
		c, _ := dialEither(t, address, config)
		fmt.Fprint(c, wiretest.Get("/"))
		fmt.Println("sent")
		select {}
	}
	begun, ended := make(chan bool, 1), make(chan error, 1)
	s := func() *gallop.Server {
		return &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/next" {
				return
			}
			done := ctx.Done()
			begun <- true
			select {
			case <-done:
				ended <- ctx.Err()
			case <-time.After(10 * time.Second):
				ended <- errors.New("nothing was noticed")
			}
		}}
	}
	onSocketsAndTLS(t, s, func(t *testing.T, address string, config *tls.Config) {
		ask := func(behind string, leave func(c net.Conn, socket halfCloser)) func() {
			return func() {
				c, socket := dialEither(t, address, config)
				fmt.Fprint(c, wiretest.Get("/")+behind)
				<-begun
				leave(c, socket)
			}
		}
		closing := func(c net.Conn, _ halfCloser) { c.Close() }
		resetting := func(_ net.Conn, socket halfCloser) { reset(socket) }
		for name, leave := range map[string]func(){
			"closed":                       ask("", closing),
			"half closed":                  ask("", halfClose),
			"reset":                        ask("", resetting),
			"reset behind another request": ask(wiretest.Get("/next"), resetting),
			"killed":                       func() { killed(t, address, config != nil, begun) },
		} {
			if strings.Contains(name, "behind") && runtime.GOOS != "linux" || isUnix(address) && !strings.HasSuffix(name, "closed") {
				continue
			}
			took := time.Hour
			for try := 0; try < 10 && took > 100*time.Millisecond; try++ { // the machine may be slow itself
				leave()
				from := time.Now()
				if err := <-ended; err != context.Canceled {
					t.Fatalf("%s: %v", name, err)
				}
				took = min(took, time.Since(from))
			}
			if took > 100*time.Millisecond {
				t.Errorf("%s: noticed after %v", name, took)
			}
		}
	})
}

// killed has another process send a request, and kills it when the handler has begun. The process is curl if that is installed.
func killed(t *testing.T, address string, overTLS bool, begun <-chan bool) {
	t.Helper()
	var cmd *exec.Cmd
	if curl, err := exec.LookPath("curl"); err == nil {
		cmd = exec.Command(curl, "-sk", map[bool]string{false: "http://", true: "https://"}[overTLS]+address+"/")
	} else {
		cmd = exec.Command(os.Args[0], "-test.run=^TestDoneAtOnce$")
		cmd.Env = append(os.Environ(), watchChild+"="+address+map[bool]string{true: " TLS"}[overTLS])
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-begun
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// With AllowHalfClose a client may end its side of the connection. A reset and a failed write end the context nevertheless.
func TestAllowHalfClose(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s := func() *gallop.Server {
		return &gallop.Server{AllowHalfClose: true, StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			told := make(chan error, 1)
			ctx.OnDisconnect(func(err error) { told <- err })
			if string(ctx.Path()) == "/cut" {
				_, err := io.ReadAll(ctx.RequestBodyStream())
				fmt.Fprintf(ctx, "%v, %v", err == io.ErrUnexpectedEOF, ctx.Err())
				return
			}
			ctx.PostBody() // reads all of it
			if string(ctx.Path()) == "/write" {
				ended <- writeUntilDone(ctx)
				return
			}
			limit := 50 * time.Millisecond
			if string(ctx.Path()) == "/reset" {
				limit = 10 * time.Second
			}
			select {
			case <-ctx.Done():
				ended <- <-told
			case <-time.After(limit):
				fmt.Fprintf(ctx, "%v", ctx.Err())
				if limit > time.Second {
					ended <- errors.New("nothing was noticed")
				}
			}
		}}
	}
	onSocketsAndTLS(t, s, func(t *testing.T, address string, config *tls.Config) {
		for request, want := range map[string]string{
			wiretest.Get("/wait"):                                             "<nil>",
			servertest.PostTo("/wait", "body"):                                "<nil>",
			"POST /cut HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nbody": "true, <nil>",
		} {
			c, socket := dialEither(t, address, config)
			io.WriteString(c, request)
			halfClose(c, socket)
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(resp.Body); resp.StatusCode != 200 || string(body) != want || err != nil {
				t.Errorf("%q: %d %q, %v", request, resp.StatusCode, body, err)
			}
		}
		c, socket := dialEither(t, address, config)
		io.WriteString(c, wiretest.Get("/write"))
		halfClose(c, socket)
		if err := <-ended; err != context.Canceled {
			t.Errorf("after a failed write: %v", err)
		}
		if runtime.GOOS != "linux" || isUnix(address) {
			return
		}
		c, socket = dialEither(t, address, config)
		io.WriteString(c, wiretest.Get("/reset"))
		halfClose(c, socket)
		time.Sleep(20 * time.Millisecond) // that may be noticed
		reset(socket)
		if err := <-ended; err != context.Canceled {
			t.Error(err)
		}
	})
}

// writeUntilDone writes to a client that reads nothing until that fails, and returns the error of ctx then.
func writeUntilDone(ctx *gallop.RequestCtx) error {
	done := ctx.Done()
	_ = ctx.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	w, err := ctx.StreamResponse()
	for err == nil {
		_, err = w.Write(make([]byte, 64<<10))
	}
	select {
	case <-done:
		return ctx.Err()
	case <-time.After(10 * time.Second):
		return errors.New("nothing was noticed")
	}
}

// endedConn is a connection that has a request and then nothing, as tests of handlers use them.
type endedConn struct {
	net.Conn
	in    *strings.Reader
	err   error // behind the request
	wrong error // of writes
	out   strings.Builder
}

func (c *endedConn) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if err == io.EOF && c.err != nil {
		err = c.err
	}
	return n, err
}

func (c *endedConn) Write(p []byte) (int, error) {
	if c.wrong != nil {
		return 0, c.wrong
	}
	return c.out.Write(p)
}

func (c *endedConn) Close() error                     { return nil }
func (c *endedConn) SetReadDeadline(time.Time) error  { return nil }
func (c *endedConn) SetWriteDeadline(time.Time) error { return nil }
func (c *endedConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *endedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }

// The end of the input of a connection that is no socket says nothing about its client. Other errors do, and failed writes.
func TestDoneOnConnsThatAreNoSockets(t *testing.T) {
	var s *gallop.Server
	broken := errors.New("broken")
	wait := func(ctx *gallop.RequestCtx) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Minute):
			return nil
		}
	}
	write := func(ctx *gallop.RequestCtx) error {
		w, err := ctx.StreamResponse()
		for err == nil {
			if _, err = w.Write(make([]byte, 64<<10)); err == nil {
				err = w.Flush()
			}
		}
		return wait(ctx)
	}
	for name, tt := range map[string]struct {
		conn   *endedConn
		handle func(*gallop.RequestCtx) error
		want   error
		status string
	}{
		"the input ends":                {&endedConn{}, wait, nil, "200"},
		"the input ends in the body":    {&endedConn{in: strings.NewReader("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nbody")}, wait, nil, "200"},
		"another error":                 {&endedConn{err: broken}, wait, context.Canceled, "200"},
		"a write fails":                 {&endedConn{wrong: broken}, write, context.Canceled, ""},
		"a write fails, body unread":    {&endedConn{in: strings.NewReader("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"), wrong: broken}, write, context.Canceled, ""},
		"a write fails, a request more": {&endedConn{in: strings.NewReader(wiretest.Get("/") + wiretest.Get("/")), wrong: broken}, write, context.Canceled, ""},
		"the deadline passes":           {&endedConn{}, wait, context.DeadlineExceeded, "408"},
		"Shutdown": {&endedConn{}, func(ctx *gallop.RequestCtx) error {
			go s.Shutdown()
			return wait(ctx)
		}, context.Canceled, "200"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s = &gallop.Server{Logger: servertest.Quiet, StreamRequestBody: true, MaxRequestsPerConn: 1}
				if tt.conn.in == nil {
					tt.conn.in = strings.NewReader(wiretest.Get("/"))
				}
				var got error
				s.Handler = func(ctx *gallop.RequestCtx) {
					got = tt.handle(ctx)
				}
				if tt.want == context.DeadlineExceeded {
					s.Handler = gallop.TimeoutHandler(s.Handler, time.Second, "late")
				}
				s.ServeConn(tt.conn)
				synctest.Wait()
				if got != tt.want || !strings.HasPrefix(tt.conn.out.String(), "HTTP/1.1 "+tt.status) && tt.status != "" {
					t.Errorf("%v, %q", got, tt.conn.out.String())
				}
			})
		})
	}
}

// TLS over a connection in memory is no socket either, and a pipe is as long as its client has both sides.
func TestHalfClosedInMemory(t *testing.T) {
	certPEM, keyPEM, err := gallop.GenerateTestCertificate("a")
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	for _, overTLS := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &gallop.Server{Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
				select {
				case <-ctx.Done():
					t.Errorf("TLS %v: done", overTLS)
				case <-time.After(time.Minute):
				}
			}}
			client, end := memnet.Pipe()
			var c, server net.Conn = client, end
			if overTLS {
				c = tls.Client(client, &tls.Config{InsecureSkipVerify: true})
				server = tls.Server(server, &tls.Config{Certificates: []tls.Certificate{cert}})
			}
			go s.ServeConn(server)
			io.WriteString(c, wiretest.Get("/"))
			c.(interface{ CloseWrite() error }).CloseWrite()
			if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 {
				t.Errorf("TLS %v: %v, %v", overTLS, resp, err)
			}
			client.Close()
		})
	}
}
