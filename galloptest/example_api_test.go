package galloptest_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/galloptest"
	"github.com/gallop-http/gallop/memnet"
)

// greet is a handler under test. It needs a server, because it streams.
func greet(ctx *gallop.RequestCtx) {
	w, err := ctx.StreamResponse()
	if err != nil {
		ctx.Error(err.Error(), gallop.StatusInternalServerError)
		return
	}
	fmt.Fprintf(w, "hello, %s", ctx.QueryArgs().Peek("name"))
}

func ExampleDo() {
	var req gallop.Request
	req.SetRequestURI("/?name=gopher")
	resp := galloptest.Do(greet, &req)
	fmt.Println(resp.StatusCode(), string(resp.Body()))
	// Output: 200 hello, gopher
}

func ExampleServe() {
	_ = func(t *testing.T) { // TestGreet
		client, url := galloptest.Serve(t, greet)
		client.OnInterim = func(resp *gallop.Response) { t.Error("an interim response") }

		var req gallop.Request
		var resp gallop.Response
		req.SetRequestURI(url + "/?name=gopher")
		if err := client.DoContext(t.Context(), &req, &resp); err != nil {
			t.Fatal(err)
		}
		if got := string(resp.Body()); got != "hello, gopher" {
			t.Errorf("got %q", got)
		}
	}
}

func ExampleStart() {
	_ = func(t *testing.T) { // TestLargeBody
		client, url := galloptest.Start(t, &gallop.Server{Handler: greet, MaxRequestBodySize: 1024})

		var req gallop.Request
		var resp gallop.Response
		req.SetRequestURI(url)
		req.Header.SetMethod(gallop.MethodPost)
		req.SetBody(make([]byte, 2048))
		if err := client.Do(&req, &resp); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode() != gallop.StatusRequestEntityTooLarge {
			t.Errorf("status %d", resp.StatusCode())
		}
	}
}

// A server with TLS, and a client that trusts it.
func ExampleCertificate() {
	pair, roots := galloptest.Certificate("api.example.com")
	s := &gallop.Server{Handler: greet, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}}
	ln := memnet.NewListener()
	go s.ServeTLS(ln, "", "")
	defer s.Shutdown()

	client := &gallop.Client{
		Dial:      func(string) (net.Conn, error) { return ln.Dial() },
		TLSConfig: &tls.Config{RootCAs: roots},
	}
	var req gallop.Request
	var resp gallop.Response
	req.SetRequestURI("https://api.example.com/?name=gopher")
	fmt.Println(client.Do(&req, &resp), string(resp.Body()))
	// Output: <nil> hello, gopher
}
