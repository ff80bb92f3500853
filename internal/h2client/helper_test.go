package h2client

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	xhpack "golang.org/x/net/http2/hpack"

	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/hpack"
	engine "github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/memnet"
)

// testOptions are the options of the connections of all tests.
func testOptions() *Options {
	return &Options{
		Engine: engine.Config{
			Role: engine.Client, MaxConcurrentStreams: 1000, StreamWindow: 64 << 10, ConnWindow: 1 << 20, MaxFrameSize: 16 << 10,
			MaxSendFrame: 64 << 10, HeaderTableSize: 4096, EncoderTableSize: 4096, MaxBlock: 1 << 16, MaxInterims: 5,
			Header: hpack.Limits{List: 8 << 10, Fields: 100, String: 8 << 10},
		},
		PingTimeout: 15 * time.Second,
	}
}

// textHead is a head: method, path, and then names and values of fields.
type textHead []string

func (h textHead) AppendTo(e *hpack.Encoder, dst []byte) []byte {
	for i, p := range []hpack.Pseudo{hpack.Method, hpack.Path} {
		dst = hpack.AppendPseudo(e, dst, p, h[i])
	}
	dst = hpack.AppendPseudo(e, dst, hpack.Scheme, "https")
	dst = hpack.AppendPseudo(e, dst, hpack.Authority, "example.com")
	for i := 2; i < len(h); i += 2 {
		dst = hpack.Append(e, dst, field.Lookup([]byte(h[i])), h[i], h[i+1])
	}
	return dst
}

// get returns a request whose response body is collected.
func get(path string) *Request {
	return &Request{Method: message.Get, Head: textHead{"GET", path}, Collects: true, MaxBody: 1 << 20}
}

func post(path, body string) *Request {
	r := get(path)
	r.Method, r.Head, r.Body = message.Post, textHead{"POST", path}, []byte(body)
	return r
}

// serve runs x/net's server with a handler on a new connection, and returns a client.
func serve(t *testing.T, o *Options, h http.HandlerFunc) *Conn {
	t.Helper()
	client, server := memnet.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&http2.Server{MaxConcurrentStreams: 50}).ServeConn(server, &http2.ServeConnOpts{Handler: h, BaseConfig: &http.Server{}})
	}()
	c := New(client, o, Hooks{})
	t.Cleanup(func() {
		c.Close()
		<-done
	})
	return c
}

// must opens a call.
func (c *Conn) must(t *testing.T, r *Request) *Call {
	t.Helper()
	call, err := c.Open(r)
	if err != nil {
		t.Fatal(err)
	}
	return call
}

// result waits for a call whose response is collected, and describes it.
func (call *Call) result() string {
	defer call.Close(true)
	var b strings.Builder
	for {
		p, err := call.Wait(time.Time{})
		switch {
		case err != nil:
			return b.String() + "error: " + err.Error()
		case p == GotInterim:
			fmt.Fprintf(&b, "%d ", call.TakeInterim().Status)
			continue
		}
		fmt.Fprintf(&b, "%d %s", call.Head().Status, call.TakeBody())
		for i := range call.Trailers().Len() {
			name, value := call.Trailers().At(i)
			fmt.Fprintf(&b, " %s=%s", name, value)
		}
		return b.String()
	}
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %.200q\nwant %.200q", got, want)
	}
}

// peer is a server whose frames a test writes and reads itself.
type peer struct {
	t  *testing.T
	nc net.Conn
	fr *http2.Framer

	ping [8]byte // data of the last PING

	enc bytes.Buffer
	hp  *xhpack.Encoder
}

// script returns a client, and its server after both have sent their SETTINGS.
func script(t *testing.T, o *Options, hooks Hooks, settings ...http2.Setting) (*Conn, *peer) {
	t.Helper()
	client, server := memnet.Pipe()
	c := New(client, o, hooks)
	p := &peer{t: t, nc: server, fr: http2.NewFramer(server, server)}
	p.fr.ReadMetaHeaders = xhpack.NewDecoder(4096, nil)
	p.hp = xhpack.NewEncoder(&p.enc)
	c.Start()
	preface := make([]byte, len(engine.Preface))
	if _, err := io.ReadFull(server, preface); err != nil || string(preface) != engine.Preface {
		t.Fatal(string(preface), err)
	}
	p.must(p.fr.WriteSettings(settings...))
	p.must(p.fr.WriteSettingsAck())
	p.wants("SETTINGS", "WINDOW_UPDATE 0", "SETTINGS ack")
	synctest.Wait()
	t.Cleanup(func() {
		c.Close()
		server.Close()
	})
	return c, p
}

func (p *peer) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// head sends HEADERS.
func (p *peer) head(stream uint32, end bool, lines ...string) {
	p.t.Helper()
	p.enc.Reset()
	for i := 0; i < len(lines); i += 2 {
		p.must(p.hp.WriteField(xhpack.HeaderField{Name: lines[i], Value: lines[i+1]}))
	}
	p.must(p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: p.enc.Bytes(), EndHeaders: true, EndStream: end}))
}

// next returns the client's next frame as a text, or "" if the client says nothing for a second.
func (p *peer) next() string {
	_ = p.nc.SetReadDeadline(time.Now().Add(time.Second))
	defer p.nc.SetReadDeadline(time.Time{})
	f, err := p.fr.ReadFrame()
	switch {
	case os.IsTimeout(err):
		return ""
	case err != nil:
		return err.Error()
	}
	id, end := f.Header().StreamID, ""
	if f.Header().Flags.Has(http2.FlagDataEndStream) && id > 0 {
		end = " end"
	}
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		return fmt.Sprintf("HEADERS %d%s", id, end)
	case *http2.DataFrame:
		return fmt.Sprintf("DATA %d %d%s", id, len(f.Data()), end)
	case *http2.RSTStreamFrame:
		return fmt.Sprintf("RST_STREAM %d %v", id, f.ErrCode)
	case *http2.GoAwayFrame:
		return fmt.Sprintf("GOAWAY %d %v", f.LastStreamID, f.ErrCode)
	case *http2.SettingsFrame:
		if f.IsAck() {
			return "SETTINGS ack"
		}
		return "SETTINGS"
	case *http2.WindowUpdateFrame:
		return fmt.Sprintf("WINDOW_UPDATE %d", id)
	case *http2.PingFrame:
		if f.IsAck() {
			return "PING ack"
		}
		p.ping = f.Data
		return "PING"
	}
	return f.Header().Type.String()
}

// wants checks the client's next frames.
func (p *peer) wants(frames ...string) {
	p.t.Helper()
	for _, frame := range frames {
		if got := p.next(); got != frame {
			p.t.Fatalf("the client sends %q, want %q", got, frame)
		}
	}
}

// readAll reads everything from a streaming call.
func readAll(call *Call) (string, error) {
	b, err := io.ReadAll(reader{call})
	return string(b), err
}

type reader struct{ call *Call }

func (r reader) Read(p []byte) (int, error) { return r.call.Read(p) }
