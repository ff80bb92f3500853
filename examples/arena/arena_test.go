package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/gallop-http/gallop/examples/arena/profile"
)

// ports are the addresses of a running arena, with a client for each.
type ports struct {
	options
	clients map[string]*http.Client // by base URL
}

// start runs the whole program until the test ends.
func start(t *testing.T, o options) ports {
	t.Helper()
	dir := t.TempDir()
	o.cert, o.key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	roots := writeCertificate(t, o.cert, o.key)
	o.plain, o.tls1, o.h2c, o.tls2 = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	a, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	listeners, err := listen(o)
	if err != nil {
		t.Fatal(err)
	}
	for i, address := range []*string{&o.plain, &o.tls1, &o.h2c, &o.tls2} {
		*address = listeners[i].Addr().String()
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.serveAll(ctx, listeners) }()
	t.Cleanup(func() {
		stop()
		defer a.close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	p := ports{o, map[string]*http.Client{}}
	for url, protocol := range map[string]func(*http.Protocols){
		"http://" + o.plain: func(p *http.Protocols) { p.SetHTTP1(true) },
		"https://" + o.tls1: func(p *http.Protocols) { p.SetHTTP1(true); p.SetHTTP2(true) },
		"http://" + o.h2c:   func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
		"https://" + o.tls2: func(p *http.Protocols) { p.SetHTTP1(true); p.SetHTTP2(true) },
	} {
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, Protocols: new(http.Protocols)}
		protocol(tr.Protocols)
		t.Cleanup(tr.CloseIdleConnections)
		p.clients[url] = &http.Client{Transport: tr, Timeout: 20 * time.Second}
	}
	return p
}

func writeCertificate(t *testing.T, cert, key string) *x509.CertPool {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return roots
}

// ask sends a request and returns the response with its whole body.
func ask(t *testing.T, client *http.Client, method, url string, body io.Reader, header ...string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequest(method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, got
}

func TestEachWorkloadOnEachPort(t *testing.T) {
	files := t.TempDir()
	content := strings.Repeat("body { color: teal }\n", 1000)
	write(t, filepath.Join(files, "a.css"), content)
	write(t, filepath.Join(files, "a.css.gz"), packed(t, content))
	p := start(t, options{files: files})
	protocols := map[string]int{p.plain: 1, p.tls1: 1, p.h2c: 2, p.tls2: 2}
	for url, client := range p.clients {
		_, address, _ := strings.Cut(url, "://")
		resp, _ := ask(t, client, "GET", url+"/pipeline", nil)
		if resp.ProtoMajor != protocols[address] {
			t.Errorf("%s speaks %s", url, resp.Proto)
		}
		for _, c := range []struct {
			method, path string
			body         io.Reader
			status       int
			want         string
		}{
			{"GET", "/baseline2?a=-13&b=42", nil, 200, "29"},
			{"POST", "/baseline11?a=13&b=42", strings.NewReader("x"), 400, "a, b and the body must be integers\n"},
			{"GET", "/baseline11?a=13", nil, 400, "a, b and the body must be integers\n"},
			{"DELETE", "/baseline11?a=13&b=42", nil, 405, "this path does not support the method\n"},
			{"GET", "/json/51", nil, 404, "the path must end in a number up to 50\n"},
			{"GET", "/json/5?m=x", nil, 400, "m must be a number up to 1000000\n"},
			{"POST", "/upload?a=b", nil, 200, "0"},
			{"POST", "/baseline11?a=1&b=2", strings.NewReader(strings.Repeat("1", 100_000)), 413, ""},
			{"GET", "/async-db?min=1&max=2", nil, 503, "there is no database: set the flag -database\n"},
			{"GET", "/nothing", nil, 404, "there is nothing at this path\n"},
			{"GET", "/static/../routes.go", nil, 404, ""},
			{"GET", "/static/a.css", nil, 200, content},
		} {
			resp, got := ask(t, client, c.method, url+c.path, c.body)
			if resp.StatusCode != c.status || c.want != "" && string(got) != c.want {
				t.Errorf("%s %s on %s: %d %.100q", c.method, c.path, url, resp.StatusCode, got)
			}
		}
		resp, got := ask(t, client, "GET", url+"/static/a.css", nil, "Accept-Encoding", "br;q=1, gzip;q=0.8")
		if resp.Header.Get("Content-Encoding") != "gzip" || string(got) != packed(t, content) || resp.Header.Get("Content-Type") != "text/css; charset=utf-8" {
			t.Errorf("the file on %s has %v", url, resp.Header)
		}
		if err := profile.Check(client, url, false); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func write(t *testing.T, name, content string) {
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func packed(t *testing.T, content string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return b.String()
}

func TestWebSocketEcho(t *testing.T) {
	p := start(t, options{})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws://"+p.plain+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	for _, message := range []string{"hello", "", strings.Repeat("x", 30_000)} {
		if err := conn.Write(ctx, websocket.MessageText, []byte(message)); err != nil {
			t.Fatal(err)
		}
		kind, got, err := conn.Read(ctx)
		if err != nil || kind != websocket.MessageText || string(got) != message {
			t.Fatalf("%v %.20q %v", kind, got, err)
		}
	}
	conn.Close(websocket.StatusNormalClosure, "")
}

func TestSums(t *testing.T) {
	p := start(t, options{})
	conn, err := grpc.NewClient(p.h2c, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := profile.NewSumsClient(conn)
	var calls sync.WaitGroup
	for a := range int32(50) {
		calls.Go(func() {
			got, err := client.Add(context.Background(), &profile.AddRequest{A: a, B: 42})
			if err != nil || got.Sum != a+42 {
				t.Errorf("%d + 42 = %v, %v", a, got, err)
			}
		})
	}
	calls.Wait()
}
