package fiberapps

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	coder "github.com/coder/websocket"
	"github.com/fasthttp/websocket"
	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
	gorilla "github.com/gorilla/websocket"
	"github.com/valyala/fasthttp"
)

// libraries are the WebSocket servers of three libraries. Each sends back the first message.
var libraries = map[string]gallop.RequestHandler{
	"/gorilla": nethttp.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		upgrader := gorilla.Upgrader{}
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		if kind, text, err := conn.ReadMessage(); err == nil {
			_ = conn.WriteMessage(kind, text)
		}
		_, _, _ = conn.ReadMessage() // the client closes
	})),
	"/coder": nethttp.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := coder.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		if kind, text, err := conn.Read(r.Context()); err == nil {
			_ = conn.Write(r.Context(), kind, text)
		}
		_, _, _ = conn.Read(r.Context()) // the client closes
	})),
	"/fasthttp": func(ctx *fasthttp.RequestCtx) {
		upgrader := websocket.FastHTTPUpgrader{}
		_ = upgrader.Upgrade(ctx, func(conn *websocket.Conn) {
			defer conn.Close()
			if kind, text, err := conn.ReadMessage(); err == nil {
				_ = conn.WriteMessage(kind, text)
			}
			_, _, _ = conn.ReadMessage() // the client closes
		})
	},
}

// The page that the browser loads reports how it was loaded, and what its WebSockets have sent back.
const page = `<!doctype html><title>page</title><link rel="stylesheet" href="/style.css"><script src="/script.js"></script>`

const script = `
const echo = path => new Promise(resolve => {
  const socket = new WebSocket("wss://" + location.host + path)
  socket.onopen = () => socket.send("hello " + path)
  socket.onmessage = e => { resolve(e.data); socket.close() }
  socket.onerror = () => resolve("error")
})
addEventListener("load", async () => {
  const sizes = await Promise.all([...Array(30).keys()].map(async i => (await (await fetch("/size?n=" + i * 1000)).text()).length))
  const uploaded = await (await fetch("/upload", { method: "POST", body: "u".repeat(1000000) })).text()
  const sockets = {}
  for (const path of SOCKETS) sockets[path] = await echo(path)
  const protocols = {}
  for (const e of [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]) {
    protocols[e.nextHopProtocol] = (protocols[e.nextHopProtocol] || 0) + 1
  }
  const style = getComputedStyle(document.body).maxWidth
  await fetch("/report", { method: "POST", body: JSON.stringify({ sizes, uploaded, sockets, protocols, style }) })
})
`

// report is what the page reports.
type report struct {
	Sizes     []int
	Uploaded  string
	Sockets   map[string]string
	Protocols map[string]int // by which protocol files have come
	Style     string
}

// site is a server with TLS for a browser.
type site struct {
	t       *testing.T
	s       *gallop.Server
	address string
	reports chan report

	mu    sync.Mutex
	asked map[string]int // requests for WebSockets by protocol and method
}

// serve serves the page, and WebSockets at the paths in sockets.
func serve(t *testing.T, s *gallop.Server, sockets map[string]gallop.RequestHandler) *site {
	t.Helper()
	w := &site{t: t, s: s, reports: make(chan report, 1), asked: map[string]int{}}
	paths := make([]string, 0, len(sockets))
	for path := range sockets {
		paths = append(paths, path)
	}
	list, _ := json.Marshal(paths)
	s.Handler = func(ctx *gallop.RequestCtx) {
		path := string(ctx.Path())
		if h := sockets[path]; h != nil {
			w.mu.Lock()
			w.asked[fmt.Sprintf("%s %s", ctx.Request.Header.Protocol(), ctx.Method())]++
			w.mu.Unlock()
			h(ctx)
			return
		}
		w.file(ctx, path, string(list))
	}
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.address = ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- s.ServeTLSEmbed(ln, cert, key) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return w
}

// file serves what belongs to the page.
func (w *site) file(ctx *gallop.RequestCtx, path, sockets string) {
	switch path {
	case "/":
		ctx.SetContentType("text/html")
		ctx.SetBodyString(page)
	case "/style.css":
		ctx.SetContentType("text/css")
		ctx.SetBodyString("body { max-width: 321px }")
	case "/script.js":
		ctx.SetContentType("text/javascript")
		ctx.SetBodyString("const SOCKETS = " + sockets + script)
	case "/size":
		ctx.SetBodyString(strings.Repeat("x", ctx.QueryArgs().GetUintOrZero("n")))
	case "/upload":
		fmt.Fprint(ctx, len(ctx.PostBody()))
	case "/report":
		var r report
		if err := json.Unmarshal(ctx.PostBody(), &r); err != nil {
			w.t.Error(err)
		}
		w.reports <- r
	default:
		ctx.Error("there is no such file", fasthttp.StatusNotFound)
	}
}

// browse has a browser load the page, and returns the report of the page. It skips the test if no browser is installed.
func (w *site) browse() report {
	w.t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		w.t.Skip("there is no chromium: install it to test with a browser")
	}
	profile, err := os.MkdirTemp("", "h2-browser")
	if err != nil {
		w.t.Fatal(err)
	}
	browser := exec.Command(program, "--headless", "--no-sandbox", "--ignore-certificate-errors", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--remote-debugging-port=0", "--user-data-dir="+profile, "https://"+w.address+"/")
	if err := browser.Start(); err != nil {
		w.t.Fatalf("%s does not start: %v", program, err)
	}
	defer func() {
		browser.Process.Kill()
		browser.Wait()
		for range 50 { // its children may still write
			if os.RemoveAll(profile) == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	select {
	case r := <-w.reports:
		return r
	case <-time.After(2 * time.Minute):
		w.t.Fatal("the page reports nothing")
		return report{}
	}
}

// check fails the test if the page was not loaded over HTTP/2, or a WebSocket has not sent back what it got.
func (w *site) check(r report, sockets map[string]gallop.RequestHandler) {
	w.t.Helper()
	for i, n := range r.Sizes {
		if n != i*1000 {
			w.t.Errorf("/size?n=%d has %d bytes", i*1000, n)
		}
	}
	// The page, the style sheet, the script, thirty sizes, the upload, and perhaps an icon.
	if r.Uploaded != "1000000" || r.Style != "321px" || len(r.Sizes) != 30 || len(r.Protocols) != 1 || r.Protocols["h2"] < 34 {
		w.t.Errorf("the page reports %+v", r)
	}
	for path := range sockets {
		if got, want := r.Sockets[path], "hello "+path; got != want {
			w.t.Errorf("the WebSocket of the browser at %s sends %q, want %q", path, got, want)
		}
	}
}

// A browser loads pages over HTTP/2, while WebSockets of three libraries work on the same server, from the browser and from
// clients of the libraries.
func TestBrowserAndWebSockets(t *testing.T) {
	for name, engine := range map[string]gallop.EngineType{"loop": gallop.EngineLoop, "goroutine": gallop.EngineGoroutine} {
		t.Run(name, func(t *testing.T) {
			w := serve(t, &gallop.Server{Engine: engine}, libraries)
			done := make(chan int)
			stop := make(chan struct{})
			go func() { done <- w.dialUntil(stop) }()
			r := w.browse()
			close(stop)
			if n := <-done; n == 0 {
				t.Error("no client of a library has come through beside the browser")
			}
			w.check(r, libraries)
			if n := w.asked["HTTP/1.1 GET"]; len(w.asked) != 1 || n <= len(libraries) {
				t.Errorf("WebSockets were asked for with %v", w.asked)
			}
		})
	}
}

// dialUntil uses WebSockets with the clients of the libraries until stop is closed, at least once, and returns how many times.
func (w *site) dialUntil(stop <-chan struct{}) (n int) {
	for {
		for path := range libraries {
			for client, dial := range clients {
				if got, err := dial(w.t, "wss://"+w.address+path, "hello"); got != "hello" || err != nil {
					w.t.Errorf("%s's client at %s: %q, %v", client, path, got, err)
					return n
				}
			}
		}
		n++
		select {
		case <-stop:
			return n
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// clients are the WebSocket clients of the three libraries. Each sends a message and returns the response.
var clients = map[string]func(t *testing.T, url, message string) (string, error){
	"gorilla": func(_ *testing.T, url, message string) (string, error) {
		dialer := gorilla.Dialer{TLSClientConfig: anyCertificate(), HandshakeTimeout: time.Minute}
		conn, _, err := dialer.Dial(url, nil)
		if err != nil {
			return "", err
		}
		defer conn.Close()
		return talk(conn, message)
	},
	"fasthttp": func(_ *testing.T, url, message string) (string, error) {
		dialer := websocket.Dialer{TLSClientConfig: anyCertificate(), HandshakeTimeout: time.Minute}
		conn, _, err := dialer.Dial(url, nil)
		if err != nil {
			return "", err
		}
		defer conn.Close()
		return talk(conn, message)
	},
	"coder": func(t *testing.T, url, message string) (string, error) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: anyCertificate()}}
		conn, _, err := coder.Dial(t.Context(), url, &coder.DialOptions{HTTPClient: client})
		if err != nil {
			return "", err
		}
		defer conn.CloseNow()
		if err := conn.Write(t.Context(), coder.MessageText, []byte(message)); err != nil {
			return "", err
		}
		_, text, err := conn.Read(t.Context())
		return string(text), err
	},
}

// anyCertificate accepts the certificate of the test. The client offers only HTTP/1.1, as WebSockets need it.
func anyCertificate() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}
}

// talk sends a message and returns the response.
func talk(conn interface {
	WriteMessage(kind int, text []byte) error
	ReadMessage() (kind int, text []byte, err error)
}, message string) (string, error) {
	if err := conn.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		return "", err
	}
	_, text, err := conn.ReadMessage()
	return string(text), err
}

// With ExtendedConnect, the browser opens WebSockets on the connection that has loaded the page (RFC 8441).
func TestBrowserExtendedConnect(t *testing.T) {
	sockets := map[string]gallop.RequestHandler{"/one": echoOnStream(t), "/two": echoOnStream(t)}
	for name, engine := range map[string]gallop.EngineType{"loop": gallop.EngineLoop, "goroutine": gallop.EngineGoroutine} {
		t.Run(name, func(t *testing.T) {
			w := serve(t, &gallop.Server{Engine: engine, ExtendedConnect: true}, sockets)
			w.check(w.browse(), sockets)
			if len(w.asked) != 1 || w.asked["HTTP/2.0 CONNECT"] != len(sockets) {
				t.Errorf("WebSockets were asked for with %v", w.asked)
			}
		})
	}
}

// echoOnStream returns a handler that accepts a WebSocket with AcceptStream, and sends back messages.
func echoOnStream(t *testing.T) gallop.RequestHandler {
	return func(ctx *gallop.RequestCtx) {
		if protocol, ok := ctx.Upgrade(); !ok || protocol != "websocket" {
			ctx.Error("WebSocket expected", gallop.StatusUpgradeRequired)
			return
		}
		nc, err := ctx.AcceptStream()
		if err != nil {
			t.Error(err)
			return
		}
		defer nc.Close()
		if err := echoFrames(nc); err != nil && !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
}

// echoFrames sends back short frames until the client closes the WebSocket (RFC 6455 §5).
func echoFrames(nc net.Conn) error {
	in := bufio.NewReader(nc)
	for {
		var head [6]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return err
		}
		op, n := head[0]&15, int(head[1]&127)
		if head[1]&128 == 0 || n > 125 {
			return fmt.Errorf("frame % x", head)
		}
		text := make([]byte, n)
		if _, err := io.ReadFull(in, text); err != nil {
			return err
		}
		for i := range text {
			text[i] ^= head[2+i%4]
		}
		if _, err := nc.Write(append([]byte{128 | op, byte(n)}, text...)); err != nil || op == 8 {
			return err
		}
	}
}
