package http2peers_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// peer is another HTTP/2 server, and what gallop's client needs to use it.
type peer struct {
	t       *testing.T
	dir     string
	address string
	client  *gallop.Client
	conns   sync.Map     // IDs of the connections that calls have used
	calls   atomic.Int32 // that were over HTTP/2
}

// large is a file of each server, and the body of uploads. It is larger than the window of a stream.
var large = bytes.Repeat([]byte("0123456789abcdef\n"), map[bool]int{false: 80_000, true: 200_000}[wiretest.Full()])

// newPeer prepares a directory with a certificate and files for a server.
func newPeer(t *testing.T) *peer {
	t.Helper()
	p := &peer{t: t, dir: t.TempDir(), address: wiretest.FreeAddress(t)}
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	w := &site{t: t, dir: p.dir}
	w.file("cert.pem", cert)
	w.file("key.pem", key)
	w.file("small", []byte("small"))
	w.file("large", large)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	p.client = &gallop.Client{
		TLSConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}, DetailedErrors: true, MaxConnWaitTimeout: -1,
	}
	t.Cleanup(p.client.CloseIdleConnections)
	return p
}

// start runs the server until the test ends.
func (p *peer) start(program string, args ...string) {
	p.t.Helper()
	cmd := exec.Command(program, args...)
	var log bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, &log, &log
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		p.client.CloseIdleConnections() // a graceful server waits for them
		_ = cmd.Process.Signal(syscall.SIGTERM)
		timer := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		if err := cmd.Wait(); p.t.Failed() {
			p.t.Logf("%s: %v\n%.5000s", program, err, &log)
		}
	})
	wiretest.Eventually(p.t, func() bool {
		nc, err := net.Dial("tcp4", p.address)
		if err == nil {
			_ = nc.Close()
		}
		return err == nil
	})
}

// port returns the port of the server.
func (p *peer) port() string {
	_, port, _ := net.SplitHostPort(p.address)
	return port
}

// do makes a call, and counts it if it was over HTTP/2.
func (p *peer) do(ctx context.Context, req *gallop.Request, resp *gallop.Response) error {
	req.SetTimeout(30 * time.Second)
	return p.client.DoContext(gallop.WithClientTrace(ctx, &gallop.ClientTrace{GotConn: func(info gallop.GotConnInfo) {
		if info.Protocol == "HTTP/2.0" {
			p.calls.Add(1)
			p.conns.Store(info.ConnID, true)
		}
	}}), req, resp)
}

// request returns a request to the server.
func (p *peer) request(method, path string, body []byte) *gallop.Request {
	req := &gallop.Request{}
	req.SetRequestURI("https://" + p.address + path)
	req.Header.SetMethod(method)
	if body != nil {
		req.SetBody(body)
	}
	return req
}

// wants makes a call, and checks the response.
func (p *peer) wants(req *gallop.Request, status int, body []byte) *gallop.Response {
	p.t.Helper()
	resp := &gallop.Response{}
	err := p.do(p.t.Context(), req, resp)
	if err != nil || resp.StatusCode() != status || body != nil && !bytes.Equal(resp.Body(), body) {
		p.t.Errorf("%s %s: %v, status %d, %d bytes", req.Header.Method(), req.URI().Path(), err, resp.StatusCode(), len(resp.Body()))
	}
	return resp
}

// files tests what each server can do: files, many calls at the same time, and calls that end early.
func (p *peer) files() {
	p.t.Helper()
	p.wants(p.request("GET", "/small", nil), 200, []byte("small"))
	p.wants(p.request("GET", "/large", nil), 200, large)
	p.wants(p.request("GET", "/missing", nil), 404, nil)
	if resp := p.wants(p.request("HEAD", "/small", nil), 200, []byte{}); resp.Header.ContentLength() != 5 {
		p.t.Errorf("HEAD: Content-Length is %d", resp.Header.ContentLength())
	}
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			for range 10 {
				p.wants(p.request("GET", "/small", nil), 200, []byte("small"))
			}
			if i%8 == 0 {
				p.wants(p.request("GET", "/large", nil), 200, large)
			}
		})
	}
	group.Wait()
	p.endsEarly()
	p.wants(p.request("GET", "/small", nil), 200, []byte("small"))
}

// endsEarly ends calls while their responses arrive.
func (p *peer) endsEarly() {
	p.t.Helper()
	canceled := 0
	for i := range 30 {
		ctx, cancel := context.WithCancel(p.t.Context())
		resp := &gallop.Response{StreamBody: true}
		if err := p.do(ctx, p.request("GET", "/large", nil), resp); err != nil {
			p.t.Fatal(err)
		}
		if _, err := io.ReadFull(resp.BodyStream(), make([]byte, 1000*i)); err != nil {
			p.t.Fatal(err)
		}
		if i%2 == 0 {
			cancel()
			n, err := io.Copy(io.Discard, resp.BodyStream())
			switch {
			case errors.Is(err, context.Canceled):
				canceled++
			case err != nil || int(n) != len(large)-1000*i: // or else the rest has arrived before the call noticed
				p.t.Errorf("a cancelled call: %d bytes, %v", n, err)
			}
		}
		_ = resp.CloseBodyStream()
		cancel()
	}
	if canceled == 0 {
		p.t.Error("no call was cancelled")
	}
}

// uploads sends bodies that the server echoes: in memory, as a stream, and after a response of 100.
func (p *peer) uploads(path string) {
	p.t.Helper()
	p.wants(p.request("POST", path, []byte("hello")), 200, []byte("hello"))
	p.wants(p.request("POST", path, large), 200, large)
	stream := p.request("POST", path, nil)
	stream.SetBodyStream(bytes.NewReader(large), -1)
	p.wants(stream, 200, large)
	expects := p.request("POST", path, large)
	expects.Header.Set("Expect", "100-continue")
	p.wants(expects, 200, large)
}

// ends checks that calls were over HTTP/2, on at most so many connections.
func (p *peer) ends(most int) {
	p.t.Helper()
	n := 0
	p.conns.Range(func(any, any) bool { n++; return true })
	if p.calls.Load() == 0 || n > most {
		p.t.Errorf("%d calls over HTTP/2, on %d connections", p.calls.Load(), n)
	}
}

func TestNghttpd(t *testing.T) {
	t.Parallel()
	nghttpd := need(t, "nghttpd", "nghttp2-server")
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		p := newPeer(t)
		p.start(nghttpd, "--address=127.0.0.1", "--htdocs="+p.dir, "--trailer=x-sum: 42", p.port(), "key.pem", "cert.pem")
		p.files()
		resp := p.wants(p.request("GET", "/small", nil), 200, []byte("small"))
		if got := resp.Header.PeekTrailer("X-Sum"); string(got) != "42" {
			t.Errorf("trailer %q", got)
		}
		p.ends(1)
	})
	t.Run("uploads", func(t *testing.T) {
		t.Parallel()
		p := newPeer(t)
		p.start(nghttpd, "--address=127.0.0.1", "--echo-upload", "--padding=200", p.port(), "key.pem", "cert.pem")
		p.uploads("/")
		p.ends(1)
	})
	t.Run("few streams", func(t *testing.T) {
		t.Parallel()
		p := newPeer(t)
		p.client.MaxConnsPerHost = 4
		p.start(nghttpd, "--address=127.0.0.1", "--htdocs="+p.dir, "--max-concurrent-streams=3", p.port(), "key.pem", "cert.pem")
		p.files()
		p.ends(10)
	})
}

// nginxConf is filled with a directory, the address, and the address of the server behind nginx.
const nginxConf = wiretest.NginxHead + `
	keepalive_requests 150;
	server {
		listen %[2]s ssl http2;
		ssl_certificate %[1]s/cert.pem;
		ssl_certificate_key %[1]s/key.pem;
		root %[1]s;
		client_max_body_size 10m;
		location /echo { proxy_pass http://%[3]s; }
		location /refused { client_max_body_size 1k; proxy_pass http://%[3]s; }
	}
}
`

// nginx ends connections with GOAWAY after 150 requests. No call notices.
func TestNginx(t *testing.T) {
	t.Parallel()
	nginx := wiretest.Nginx(t)
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }))
	defer behind.Close()
	p := newPeer(t)
	conf := fmt.Appendf(nil, nginxConf, p.dir, p.address, strings.TrimPrefix(behind.URL, "http://"))
	p.start(nginx, "-p", p.dir, "-c", (&site{t: t, dir: p.dir}).file("nginx.conf", conf))
	p.files()
	p.uploads("/echo")
	p.wants(p.request("POST", "/refused", large), 413, nil)
	p.ends(20)
}

// nodeServer echoes, and has the files. Its first session refuses the first stream.
const nodeServer = `
const http2 = require('http2'), fs = require('fs')
const server = http2.createSecureServer({ key: fs.readFileSync('key.pem'), cert: fs.readFileSync('cert.pem'), allowHTTP1: true,
	settings: { maxConcurrentStreams: 50 }, maxSessionMemory: 1000 })
let refused = false
server.on('request', (req, res) => {
	if (req.httpVersion === '1.1') return res.end('over 1.1')
	const stream = res.stream, path = req.url, method = req.method
	stream.on('error', () => {})
	if (path === '/refused' && !refused) {
		refused = true
		return stream.close(http2.constants.NGHTTP2_REFUSED_STREAM)
	}
	if (path === '/http1') return stream.close(http2.constants.NGHTTP2_HTTP_1_1_REQUIRED)
	if (path === '/early') {
		stream.respond({ ':status': 403 })
		stream.end('no')
		return stream.close(http2.constants.NGHTTP2_NO_ERROR)
	}
	if (path === '/goaway') {
		stream.session.close()
		stream.respond({ ':status': 200 })
		return stream.end('bye')
	}
	if (path === '/hints') {
		stream.additionalHeaders({ ':status': 103, link: '</a.css>' })
		res.setTrailer('x-sum', '42')
		return res.end('hinted')
	}
	if (path === '/small' || path === '/large') {
		const file = fs.readFileSync(path.slice(1))
		stream.respond({ ':status': 200, 'content-length': file.length })
		return stream.end(method === 'HEAD' ? undefined : file)
	}
	if (path !== '/echo') { stream.respond({ ':status': 404 }); return stream.end() }
	req.pipe(res)
})
server.on('sessionError', () => {})
server.listen(process.argv[2], '127.0.0.1')
process.on('SIGTERM', () => process.exit(0))
`

func TestNodeServer(t *testing.T) {
	t.Parallel()
	node := need(t, "node", "nodejs")
	p := newPeer(t)
	p.start(node, (&site{t: t, dir: p.dir}).file("server.js", []byte(nodeServer)), p.port())
	p.files()
	p.uploads("/echo")
	p.fullDuplex("/echo")
	p.ends(5)
	p.wants(p.request("POST", "/refused", []byte("x")), 404, nil) // at the second attempt
	p.wants(p.request("POST", "/early", large), 403, []byte("no"))
	p.wants(p.request("POST", "/http1", []byte("x")), 200, []byte("over 1.1"))
	var hints atomic.Int32
	hinted := &gallop.Client{TLSConfig: p.client.TLSConfig, OnInterim: func(resp *gallop.Response) {
		if resp.StatusCode() == 103 && string(resp.Header.Peek("Link")) == "</a.css>" {
			hints.Add(1)
		}
	}}
	defer hinted.CloseIdleConnections()
	p.client = hinted
	if resp := p.wants(p.request("GET", "/hints", nil), 200, []byte("hinted")); hints.Load() != 1 || string(resp.Header.PeekTrailer("X-Sum")) != "42" {
		t.Errorf("%d hints, trailers %q", hints.Load(), resp.Header.PeekTrailer("X-Sum"))
	}
	for range 20 {
		p.wants(p.request("POST", "/goaway", []byte("x")), 200, []byte("bye"))
	}
}

// fullDuplex sends a line, reads its echo, and so on.
func (p *peer) fullDuplex(path string) {
	p.t.Helper()
	r, w := io.Pipe()
	req := p.request("POST", path, nil)
	req.SetBodyStream(r, -1)
	req.FullDuplex = true
	resp := &gallop.Response{StreamBody: true}
	go fmt.Fprintln(w, "line 0")
	if err := p.do(p.t.Context(), req, resp); err != nil {
		p.t.Fatal(err)
	}
	for i := range 20 {
		line := fmt.Sprintf("line %d\n", i)
		if i > 0 {
			io.WriteString(w, line)
		}
		got := make([]byte, len(line))
		if _, err := io.ReadFull(resp.BodyStream(), got); err != nil || string(got) != line {
			p.t.Fatalf("%q, %v", got, err)
		}
	}
	w.Close()
	if rest, err := io.ReadAll(resp.BodyStream()); err != nil || len(rest) > 0 {
		p.t.Errorf("%q, %v", rest, err)
	}
}

// hypercornApp is an application that echoes and has the files.
const hypercornApp = `
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    async def start(status, headers=()):
        await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    async def body(data, more=False):
        await send({"type": "http.response.body", "body": data, "more_body": more})
    path = scope["path"]
    if path in ("/small", "/large"):
        with open(path[1:], "rb") as f:
            data = f.read()
        await start(200, [(b"content-length", str(len(data)).encode())])
        await body(b"" if scope["method"] == "HEAD" else data)
    elif path == "/echo":
        await start(200)
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            more = message.get("more_body", False)
            await body(message.get("body", b""), more)
    else:
        await start(404)
        await body(b"")
`

func TestHypercorn(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3"
	if !pythonHas(python, "hypercorn") {
		t.Skip("there is no hypercorn: install python3-hypercorn to test with it")
	}
	p := newPeer(t)
	(&site{t: t, dir: p.dir}).file("server.py", []byte(hypercornApp))
	p.start(python, "-m", "hypercorn", "--bind", p.address, "--certfile", filepath.Join(p.dir, "cert.pem"), "--keyfile", filepath.Join(p.dir, "key.pem"),
		"--graceful-timeout", "0", "server:app")
	p.files()
	p.uploads("/echo")
	p.fullDuplex("/echo")
	p.ends(10)
}
