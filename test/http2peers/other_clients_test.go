package http2peers_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// site is a server to test clients with.
type site struct {
	t     *testing.T
	plain string // URL without TLS
	tls   string // URL with TLS
	dir   string // for files
}

// onSites runs f with a server on event loops, and with one on goroutines.
func onSites(t *testing.T, f func(w *site)) {
	for name, engine := range map[string]gallop.EngineType{"loop": gallop.EngineLoop, "goroutine": gallop.EngineGoroutine} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(serve(t, engine))
		})
	}
}

func serve(t *testing.T, engine gallop.EngineType) *site {
	t.Helper()
	s := &gallop.Server{
		Engine: engine, Handler: handle, Protocols: new(gallop.Protocols), ErrorLog: slog.New(slog.DiscardHandler),
		MaxRequestBodySize: 32 << 20, ExtendedConnect: true, PoisonReleased: true,
		TLSHandshakeTimeout: time.Minute, ReadHeaderTimeout: time.Minute, // on a busy machine, 32 handshakes at once take long
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	listen := func(serve func(net.Listener) error) (address string) {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- serve(ln) }()
		t.Cleanup(func() {
			s.Close()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
		return ln.Addr().String()
	}
	w := &site{t: t, dir: t.TempDir()}
	w.plain = "http://" + listen(s.Serve)
	w.tls = "https://" + listen(func(ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, key) })
	return w
}

func handle(ctx *gallop.RequestCtx) {
	switch string(ctx.Path()) {
	case "/echo":
		ctx.SetBody(ctx.PostBody())
	case "/size":
		n, _ := strconv.Atoi(string(ctx.QueryArgs().Peek("n")))
		ctx.SetBody(bytes.Repeat([]byte("0123456789abcdef"), (n+15)/16)[:n])
	case "/stream":
		s, err := ctx.StreamResponse()
		if err != nil {
			panic(err)
		}
		for i := range 5 {
			fmt.Fprintf(s, "line %d\n", i)
			s.Flush()
		}
	case "/trailers":
		ctx.Response.Header.AddTrailer("X-Sum")
		ctx.SetBodyString("body with trailers")
		ctx.Response.Header.Set("X-Sum", "42")
	case "/slow":
		time.Sleep(20 * time.Millisecond)
		ctx.SetBodyString("slow")
	case "/panic":
		panic("on purpose")
	case "/tunnel":
		nc, err := ctx.AcceptStream()
		if err != nil {
			ctx.Error(err.Error(), 500)
			return
		}
		go func() {
			defer nc.Close()
			io.Copy(nc, nc)
		}()
	default:
		fmt.Fprintf(ctx, "%s %s", ctx.Request.Header.Protocol(), ctx.Method())
	}
}

// need returns the path of a program, and skips the test if it is not installed.
func need(t *testing.T, program, pack string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("there is no %s: install %s to test with it", program, pack)
	}
	return path
}

// run runs a program for at most a minute and returns its standard output.
func (w *site) run(program string, args ...string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = w.dir
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%s %s: %v\n%.3000s%.3000s", filepath.Base(program), args, err, &errors, out)
	}
	return string(out)
}

// file writes a file and returns its path.
func (w *site) file(name string, content []byte) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// want fails the test if got is not want.
func (w *site) want(what, got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s: got %.300q (%d bytes), want %.300q (%d bytes)", what, got, len(got), want, len(want))
	}
}

func TestCurl(t *testing.T) {
	t.Parallel()
	curl := need(t, "curl", "curl")
	if out, _ := exec.Command(curl, "--version").Output(); !bytes.Contains(out, []byte("HTTP2")) {
		t.Skip("this curl does not know HTTP/2")
	}
	onSites(t, func(w *site) {
		curl := func(args ...string) string {
			w.t.Helper()
			return w.run(curl, append([]string{"-sSk", "-m", "30"}, args...)...)
		}
		w.want("prior knowledge", curl("--http2-prior-knowledge", w.plain), "HTTP/2.0 GET")
		w.want("ALPN", curl(w.tls), "HTTP/2.0 GET")
		w.want("HTTP/1.1 over TLS", curl("--http1.1", w.tls), "HTTP/1.1 GET")
		w.want("HTTP/1.1", curl(w.plain), "HTTP/1.1 GET")
		w.want("Upgrade", curl("--http2", w.plain), "HTTP/1.1 GET")
		w.want("HEAD", curl("-I", "-o", os.DevNull, "-w", "%{http_version} %{http_code}", w.tls), "2 200")
		w.want("stream", curl(w.tls+"/stream"), "line 0\nline 1\nline 2\nline 3\nline 4\n")
		w.want("panic", curl("-o", os.DevNull, "-w", "%{http_code}", w.tls+"/panic"), "500")
		body := bytes.Repeat([]byte("upload "), 400_000)
		path := w.file("upload", body)
		w.want("upload", curl("--data-binary", "@"+path, w.tls+"/echo"), string(body))
		w.want("upload with PUT and Expect", curl("-T", path, "-H", "Expect: 100-continue", "--http2-prior-knowledge", w.plain+"/echo"), string(body))
		w.want("10 MB", curl("-o", os.DevNull, "-w", "%{http_version} %{size_download}", w.tls+"/size?n=10000000"), "2 10000000")
		parallel := []string{"-Z", "--parallel-immediate"}
		for range 20 {
			parallel = append(parallel, w.tls+"/slow", w.tls+"/size?n=4")
		}
		out := curl(parallel...)
		if strings.Count(out, "slow") != 20 || strings.Count(out, "0123") != 20 || len(out) != 160 {
			w.t.Errorf("in parallel: %q", out)
		}
	})
}

func TestNghttp(t *testing.T) {
	t.Parallel()
	nghttp := need(t, "nghttp", "nghttp2-client")
	onSites(t, func(w *site) {
		for _, url := range []string{w.plain, w.tls} {
			w.want("GET", w.run(nghttp, url), "HTTP/2.0 GET")
			out := w.run(nghttp, "-nv", "-t", "10", url+"/trailers")
			for _, frame := range []string{"recv SETTINGS frame", "recv (stream_id=13) :status: 200", "recv (stream_id=13) x-sum: 42", "recv DATA frame <length=18"} {
				if !strings.Contains(out, frame) {
					w.t.Errorf("%q is not in\n%s", frame, out)
				}
			}
			if strings.Contains(out, "RST_STREAM") || strings.Contains(out, "GOAWAY frame <length=8, flags=0x00, stream_id=0>\n          (last_stream_id=0, error_code=PROTOCOL") {
				w.t.Errorf("errors in\n%s", out)
			}
			for _, bits := range []string{"1", "10", "16", "30"} { // windows of 2^bits-1 bytes
				got := w.run(nghttp, "-t", "30", "-w", bits, "-W", bits, url+"/size?n="+map[bool]string{true: "200", false: "300000"}[bits == "1"])
				if len(got) != 300_000 && len(got) != 200 {
					w.t.Errorf("windows of 2^%s-1 bytes: %d bytes", bits, len(got))
				}
			}
			body := bytes.Repeat([]byte("upload "), 100_000)
			w.want("upload", w.run(nghttp, "-d", w.file("upload", body), "--trailer", "x-end: yes", url+"/echo"), string(body))
			w.want("padding", w.run(nghttp, "-b", "100", "--no-push", url+"/size?n=3"), "012")
			if out := w.run(nghttp, "-ns", "-m", "50", url+"/slow"); strings.Count(out, " 200 ") != 50 {
				w.t.Errorf("fifty at once:\n%s", out)
			}
		}
	})
}

func TestH2load(t *testing.T) {
	t.Parallel()
	h2load := need(t, "h2load", "nghttp2-client")
	onSites(t, func(w *site) {
		for _, url := range []string{w.plain, w.tls, w.plain + "/stream", w.tls + "/size?n=100000"} {
			n := 1600
			if wiretest.Full() {
				n = 6400
			}
			if strings.Contains(url, "/s") {
				n /= 10
			}
			out := w.run(h2load, "-c32", "-m32", "-n", strconv.Itoa(n), url)
			all := fmt.Sprintf("requests: %d total, %d started, %d done, %d succeeded, 0 failed, 0 errored, 0 timeout", n, n, n, n)
			if !strings.Contains(out, all) || !strings.Contains(out, fmt.Sprintf("status codes: %d 2xx", n)) {
				w.t.Errorf("%s:\n%s", url, out)
			}
		}
		upload := w.file("upload", bytes.Repeat([]byte("u"), 20_000))
		if out := w.run(h2load, "-c8", "-m8", "-n400", "-d", upload, w.tls+"/echo"); !strings.Contains(out, "400 succeeded") {
			w.t.Error(out)
		}
	})
}

const nodeClient = `
const http2 = require('http2')
const assert = require('assert')
let session
function ask(head, body) {
  return new Promise((resolve, reject) => {
    const req = session.request(head)
    let status, text = '', trailers
    req.setEncoding('utf8')
    req.on('response', h => status = h[':status'])
    req.on('data', d => text += d)
    req.on('trailers', t => trailers = t)
    req.on('end', () => resolve({ status, text, trailers }))
    req.on('error', reject)
    req.end(body)
  })
}
async function main(url) {
  session = http2.connect(url, { rejectUnauthorized: false })
  assert.equal((await ask({ ':path': '/' })).text, 'HTTP/2.0 GET')
  const all = []
  for (let i = 0; i < 50; i++) all.push(ask({ ':path': '/echo', ':method': 'POST' }, 'n' + i))
  ;(await Promise.all(all)).forEach((r, i) => assert.equal(r.text, 'n' + i))
  const big = 'b'.repeat(3000000)
  assert.equal((await ask({ ':path': '/echo', ':method': 'POST' }, big)).text, big)
  assert.equal((await ask({ ':path': '/trailers' })).trailers['x-sum'], '42')
  assert.equal((await ask({ ':path': '/panic' })).status, 500)
  const cancelled = session.request({ ':path': '/slow' })
  cancelled.on('error', () => {})
  cancelled.close(http2.constants.NGHTTP2_CANCEL)
  await new Promise(r => session.remoteSettings ? r() : session.once('remoteSettings', r))
  assert.equal(session.remoteSettings.enableConnectProtocol, true)
  const tunnel = session.request({ ':method': 'CONNECT', ':protocol': 'echo', ':path': '/tunnel', ':authority': 'localhost', ':scheme': 'https' }, { endStream: false })
  await new Promise((resolve, reject) => {
    let got = ''
    tunnel.setEncoding('utf8')
    tunnel.on('response', h => { assert.equal(h[':status'], 200); tunnel.write('hello ') ; tunnel.end('tunnel') })
    tunnel.on('data', d => got += d)
    tunnel.on('end', () => { assert.equal(got, 'hello tunnel'); resolve() })
    tunnel.on('error', reject)
  })
  await new Promise((resolve, reject) => session.ping(err => err ? reject(err) : resolve()))
  session.close()
  console.log('done')
}
async function all() {
  for (const url of process.argv.slice(2)) await main(url)
}
all().catch(err => { console.log(err); process.exit(1) })
`

func TestNode(t *testing.T) {
	t.Parallel()
	node := need(t, "node", "nodejs")
	onSites(t, func(w *site) {
		script := w.file("client.js", []byte(nodeClient))
		w.want("both", w.run(node, script, w.plain, w.tls), "done\ndone\n")
	})
}

const pythonClient = `
import socket, sys
import h2.connection, h2.config, h2.events, h2.settings

host, port = sys.argv[1].split("://")[1].split(":")

class Client:
    """A client that is made of frames, and that can send what is not permitted."""
    def __init__(self, check=True):
        self.sock = socket.create_connection((host, int(port)))
        self.sock.settimeout(20)
        self.c = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8",
            validate_outbound_headers=check, normalize_outbound_headers=check))
        self.c.initiate_connection()
        self.send()
        self.streams, self.codes, self.away, self.open = {}, {}, None, True
    def send(self, more=b""):
        self.sock.sendall(self.c.data_to_send() + more)
    def ask(self, method, path, body=None, extra=()):
        sid = self.c.get_next_available_stream_id()
        self.streams[sid] = [None, b"", None, False]
        self.c.send_headers(sid, [(":method", method), (":scheme", "http"), (":authority", host), (":path", path), *extra], end_stream=body is None)
        if body is not None:
            while body:
                n = min(self.c.local_flow_control_window(sid), self.c.max_outbound_frame_size, len(body))
                if n == 0:
                    self.send(); self.read(); continue
                self.c.send_data(sid, body[:n]); body = body[n:]
            self.c.end_stream(sid)
        self.send()
        return sid
    def read(self):
        data = self.sock.recv(65536)
        if not data:
            self.open = False
            return
        for e in self.c.receive_data(data):
            if isinstance(e, h2.events.ResponseReceived):
                self.streams[e.stream_id][0] = dict(e.headers)[":status"]
            elif isinstance(e, h2.events.DataReceived):
                self.streams[e.stream_id][1] += e.data
                self.c.acknowledge_received_data(e.flow_controlled_length, e.stream_id)
            elif isinstance(e, h2.events.TrailersReceived):
                self.streams[e.stream_id][2] = dict(e.headers)
            elif isinstance(e, h2.events.StreamEnded):
                self.streams[e.stream_id][3] = True
            elif isinstance(e, h2.events.StreamReset):
                self.codes[e.stream_id] = int(e.error_code)
            elif isinstance(e, h2.events.ConnectionTerminated):
                self.away = int(e.error_code)
        self.send()
    def get(self, sid):
        while self.open and not self.streams[sid][3] and sid not in self.codes:
            self.read()
        return self.streams[sid]
    def end(self):
        while self.open and self.away is None:
            self.read()
        return self.away

c = Client()
assert c.get(c.ask("GET", "/"))[:2] == ["200", b"HTTP/2.0 GET"]
big = b"python " * 100_000
assert c.get(c.ask("POST", "/echo", big))[1] == big
assert c.get(c.ask("GET", "/trailers"))[2] == {"x-sum": "42"}
ids = [c.ask("GET", "/size?n=%d" % (i * 1000)) for i in range(60)]
for i, sid in enumerate(ids):
    assert len(c.get(sid)[1]) == i * 1000, i
sid = c.ask("GET", "/slow")
c.c.reset_stream(sid, 8); c.send()
assert c.get(c.ask("GET", "/"))[0] == "200"

# Heads that are malformed cost their stream, or at most their connection. The server goes on.
for extra in [("Upper", "x")], [("connection", "close")], [("te", "gzip")], [("a", "b\r\nc: d")], [(":path", "/twice")], [("a b", "c")], [("content-length", "5")]:
    c = Client(check=False)
    sid = c.ask("GET", "/", extra=extra)
    try:
        c.get(sid)
    except h2.exceptions.ProtocolError:
        pass
    assert c.codes.get(sid) == 1 or c.away == 1, (extra, c.streams, c.codes, c.away)

# Frames that are wrong end the connection with the code that RFC 9113 names.
for frame, code in [
    (b"\x00\x00\x01\x00\x01\x00\x00\x00\x00x", 1),                   # DATA on stream 0
    (b"\x00\x00\x07\x06\x00\x00\x00\x00\x00" + b"p" * 7, 6),         # PING of seven bytes
    (b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00", 1),    # WINDOW_UPDATE of 0
    (b"\x00\x00\x01\x01\x05\x00\x00\x00\x01\xff", 9),                # a block that HPACK cannot read
    (b"\x00\x00\x00\x05\x04\x00\x00\x00\x01", 1),                    # PUSH_PROMISE
    (b"\x00\x00\x00\x09\x04\x00\x00\x00\x01", 1),                    # CONTINUATION of nothing
    (b"\xff\xff\xff\x00\x00\x00\x00\x00\x01", 6),                    # a frame of 16 MB
]:
    c = Client()
    c.get(c.ask("GET", "/"))
    c.send(frame)
    assert c.end() == code, (frame, c.away)

c = Client()
assert c.get(c.ask("GET", "/"))[0] == "200"
print("done")
`

const httpxClient = `
import httpx, sys
def use(c, url):
    r = c.get(url)
    assert (r.http_version, r.text) == ("HTTP/2", "HTTP/2.0 GET"), (r.http_version, r.text)
    big = b"httpx " * 200_000
    assert c.post(url + "/echo", content=big).content == big
    for i in range(100):
        assert len(c.get(url + "/size", params={"n": i}).content) == i
    with c.stream("GET", url + "/stream") as r:
        lines = [line.rstrip() for line in r.iter_lines()]  # old versions keep the line breaks
        assert lines == ["line %d" % i for i in range(5)], lines
    assert c.get(url + "/panic").status_code == 500
for url in sys.argv[1:]:
    with httpx.Client(http1=False, http2=True, verify=False, timeout=30) as c:
        use(c, url)
    print("done")
`

// pythonForEach runs a script for each of several URLs. The modules are loaded only once.
const pythonForEach = `
import runpy, sys
script, urls = sys.argv[1], sys.argv[2:]
for url in urls:
    sys.argv = [script, url]
    try:
        runpy.run_path(script)
    except BaseException:
        print("with", url, file=sys.stderr)
        raise
`

func TestPython(t *testing.T) {
	t.Parallel()
	python := ""
	for _, name := range []string{os.Getenv("GALLOP_TEST_PYTHON"), "python3", "/usr/bin/python3"} {
		if name != "" && pythonHas(name, "h2", "httpx") {
			python = name
			break
		}
	}
	if python == "" {
		t.Skip("there is no Python with the modules h2 and httpx: install python3-h2 and python3-httpx to test with them")
	}
	loop, goroutine := serve(t, gallop.EngineLoop), serve(t, gallop.EngineGoroutine)
	t.Run("h2", func(t *testing.T) {
		t.Parallel()
		w := site{t: t, dir: loop.dir}
		frames := w.file("frames.py", []byte(pythonClient))
		w.want("h2", w.run(python, "-c", pythonForEach, frames, loop.plain, goroutine.plain), "done\ndone\n")
	})
	t.Run("httpx", func(t *testing.T) {
		t.Parallel()
		w := site{t: t, dir: loop.dir}
		client := w.file("client.py", []byte(httpxClient))
		w.want("httpx", w.run(python, "-c", pythonForEach, client, loop.plain, loop.tls, goroutine.plain, goroutine.tls), strings.Repeat("done\n", 4))
	})
}

// pythonHas reports whether a Python has modules. It does not load them, which takes long.
func pythonHas(python string, modules ...string) bool {
	const script = "import importlib.util, sys; sys.exit(not all(importlib.util.find_spec(m) for m in sys.argv[1:]))"
	return exec.Command(python, append([]string{"-c", script}, modules...)...).Run() == nil
}
