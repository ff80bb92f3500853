package server_test

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// earlyClient changes what a TLS client sends first, which is a ClientHello, and notes what
// it gets.
type earlyClient struct {
	net.Conn
	change func(hello []byte) []byte
	got    []byte
}

func (c *earlyClient) Write(p []byte) (int, error) {
	if c.change == nil {
		return c.Conn.Write(p)
	}
	changed := c.change(p)
	c.change = nil
	if _, err := c.Conn.Write(changed); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c *earlyClient) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.got = append(c.got, p[:n]...)
	return n, err
}

// offerEarlyData adds the extension early_data (RFC 8446 §4.2.10) to a record with a ClientHello.
func offerEarlyData(record []byte) []byte {
	const fixed = 5 + 4 + 2 + 32 // heads of record and message, version, random
	at := fixed + 1 + int(record[fixed])
	at += 2 + int(binary.BigEndian.Uint16(record[at:])) // cipher suites
	at += 1 + int(record[at])                           // compression methods
	changed := append([]byte(nil), record[:at+2]...)
	changed = append(changed, 0, 42, 0, 0)
	changed = append(changed, record[at+2:]...)
	grow := func(b []byte) { binary.BigEndian.PutUint16(b, binary.BigEndian.Uint16(b)+4) }
	grow(changed[3:])
	grow(changed[7:]) // the lower bytes of three
	grow(changed[at:])
	return changed
}

// applicationData returns a record of application data.
func applicationData(data string) string {
	return "\x17\x03\x03" + string(binary.BigEndian.AppendUint16(nil, uint16(len(data)))) + data
}

// Requests cannot be replayed by TLS early data (RFC 8446 §8), since none is accepted: a client
// that sends some all the same is not served.
func TestTLSEarlyDataIsRefused(t *testing.T) {
	t.Parallel()
	request := wiretest.Get("/early")
	for name, tt := range map[string]struct {
		change func(hello []byte) []byte
		resume bool
	}{
		"offered":           {offerEarlyData, false},
		"offered and sent":  {func(hello []byte) []byte { return append(offerEarlyData(hello), applicationData(request)...) }, false},
		"resumed, offered":  {offerEarlyData, true},
		"resumed, and sent": {func(hello []byte) []byte { return append(offerEarlyData(hello), applicationData(request)...) }, true},
		"sent at once":      {func(hello []byte) []byte { return append(hello, applicationData(request)...) }, false},
		"resumed, sent":     {func(hello []byte) []byte { return append(hello, applicationData(request)...) }, true},
		"sent first":        {func(hello []byte) []byte { return append([]byte(applicationData(request)), hello...) }, false},
		"sent as it is":     {func(hello []byte) []byte { return append(hello, request...) }, false},
		"sent much": {func(hello []byte) []byte {
			return append(offerEarlyData(hello), strings.Repeat(applicationData(request), 1000)...)
		}, false},
		"an alert first": {func(hello []byte) []byte {
			return append(hello, "\x15\x03\x03\x00\x02\x01\x5a"+applicationData(request)...)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
				var early atomic.Int32
				s := &gallop.Server{Engine: over, Handler: func(ctx *gallop.RequestCtx) {
					if string(ctx.Path()) == "/early" {
						early.Add(1)
					}
				}}
				cert, key, err := gallop.GenerateTestCertificate("localhost")
				if err != nil {
					t.Fatal(err)
				}
				addr := listen(t, s, func(ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, key) })
				cfg := &tls.Config{InsecureSkipVerify: true, ServerName: "localhost"}
				if tt.resume {
					sessions := &keptSession{}
					cfg.ClientSessionCache = sessions
					wantServed(t, addr, cfg)
					sessions.wantNoEarlyData(t)
				}
				c := &earlyClient{Conn: dialTCP(t, addr), change: tt.change}
				c.SetDeadline(time.Now().Add(10 * time.Second))
				client := tls.Client(c, cfg)
				if err := client.Handshake(); err == nil {
					io.WriteString(client, request)
				} else if isDeadline(err) {
					t.Errorf("the client waits: %v", err)
				} else if name == "offered" && !strings.Contains(err.Error(), "unsupported extension") {
					t.Errorf("the server refuses the extension with %v", err)
				}
				io.Copy(io.Discard, client)
				if n := early.Load(); n != 0 {
					t.Errorf("%d requests were served", n)
				}
				if strings.Contains(string(c.got), "HTTP/1.1 200") {
					t.Errorf("the server answered %q", c.got)
				}
				wantServed(t, addr, &tls.Config{InsecureSkipVerify: true})
			})
		})
	}
}

// wantServed sends a request with another connection.
func wantServed(t *testing.T, addr string, cfg *tls.Config) {
	t.Helper()
	c := tls.Client(dialTCP(t, addr), cfg)
	defer c.Close()
	if got := firstLine(t, c, wiretest.Get("/")); got != "HTTP/1.1 200 OK" {
		t.Error(got)
	}
}

// keptSession is a session cache of one session.
type keptSession struct{ kept *tls.ClientSessionState }

func (s *keptSession) Get(string) (*tls.ClientSessionState, bool)    { return s.kept, s.kept != nil }
func (s *keptSession) Put(_ string, session *tls.ClientSessionState) { s.kept = session }

// wantNoEarlyData holds that the server's ticket does not invite to send early data.
func (s *keptSession) wantNoEarlyData(t *testing.T) {
	t.Helper()
	_, state, err := s.kept.ResumptionState()
	if err != nil || state.EarlyData {
		t.Errorf("%+v, %v", state, err)
	}
}

// A proxy that accepts early data says so with a field (RFC 8470 §5.1), by which a handler
// decides. The server does not.
func TestEarlyDataFieldIsTheHandlers(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Request.Header.Peek("Early-Data")) == "1" && !ctx.IsGet() {
				ctx.Error("too early", http.StatusTooEarly)
				return
			}
			ctx.SetBodyString(strings.Join(valuesOf(ctx, "Early-Data"), "|"))
		}}
		on.Talk(t, s, func(c *wiretest.Conversation) {
			for fields, want := range map[string]string{
				"": "", "Early-Data: 1\r\n": "1", "early-data: 0\r\n": "0", "Early-Data: 1\r\nEarly-Data: 1\r\n": "1|1", "Early-Data:\r\n": "",
			} {
				c.Send("GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n")
				c.Want(200)
				c.WantBody(want)
			}
			c.Send("POST / HTTP/1.1\r\nHost: a\r\nEarly-Data: 1\r\nContent-Length: 1\r\n\r\nx")
			c.Want(425)
			c.WantBody("too early")
		})
	})
}

// valuesOf returns the values of the request's fields with this name.
func valuesOf(ctx *gallop.RequestCtx, name string) (values []string) {
	for _, value := range ctx.Request.Header.PeekAll(name) {
		values = append(values, string(value))
	}
	return values
}
