package gallop_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/url"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// exampleClient returns a client of a server in memory that answers with the given handler.
func exampleClient(handler gallop.RequestHandler) *gallop.Client {
	ln := memnet.NewListener()
	go gallop.Serve(ln, handler)
	return &gallop.Client{Dial: func(string) (net.Conn, error) { return ln.Dial() }}
}

// withTenant is client-side middleware: it adds a field to each request.
func withTenant(next gallop.Doer, tenant string) gallop.Doer { return &tenantDoer{next, tenant} }

type tenantDoer struct {
	next   gallop.Doer
	tenant string
}

func (d *tenantDoer) DoContext(ctx context.Context, req *gallop.Request, resp *gallop.Response) error {
	req.Header.Set("X-Tenant", d.tenant)
	return d.next.DoContext(ctx, req, resp)
}

func ExampleDoer() {
	var c gallop.Doer = exampleClient(func(ctx *gallop.RequestCtx) {
		ctx.WriteString("hello, " + string(ctx.Request.Header.Peek("X-Tenant")))
	})
	c = withTenant(c, "acme")

	req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
	defer gallop.ReleaseRequest(req)
	defer gallop.ReleaseResponse(resp)
	req.SetRequestURI("http://example.com/")
	if err := c.DoContext(context.Background(), req, resp); err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(resp.Body()))
	// Output: hello, acme
}

// tracing is a RoundTripper that logs each attempt with an ID from the context.
type tracing struct{}

type requestID struct{}

func (tracing) RoundTrip(hc *gallop.HostClient, req *gallop.Request, resp *gallop.Response) (retry bool, err error) {
	fmt.Println("attempt of", req.Context().Value(requestID{}))
	return gallop.DefaultTransport.RoundTrip(hc, req, resp)
}

func ExampleRequest_Context() {
	c := exampleClient(func(ctx *gallop.RequestCtx) { ctx.WriteString("hello") })
	c.Transport = tracing{}

	var req gallop.Request
	var resp gallop.Response
	req.SetRequestURI("http://example.com/")
	ctx := context.WithValue(context.Background(), requestID{}, "call 7")
	if err := c.DoContext(ctx, &req, &resp); err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(resp.Body()))
	// Output:
	// attempt of call 7
	// hello
}

func ExampleProxyRules_Proxy() {
	rules := &gallop.ProxyRules{HTTPProxy: "proxy.example:3128", NoProxy: "internal.example"}
	c := &gallop.Client{Proxy: rules.Proxy}

	for _, target := range []string{"http://example.com:80", "http://internal.example:80"} {
		u, err := url.Parse(target)
		if err != nil {
			log.Fatal(err)
		}
		proxy, err := c.Proxy(context.Background(), u)
		fmt.Println(target, "by way of", proxy, err)
	}
	// Output:
	// http://example.com:80 by way of http://proxy.example:3128 <nil>
	// http://internal.example:80 by way of <nil> <nil>
}

func ExampleClient_protocols() {
	var protocols gallop.Protocols
	protocols.SetHTTP2(true)
	c := &gallop.Client{Protocols: &protocols, HTTP2: &gallop.HTTP2Config{MaxReadFrameSize: 1 << 20}}

	var req gallop.Request
	req.SetRequestURI("https://example.com/")
	err := c.Do(&req, nil)
	fmt.Println(errors.Is(err, errors.ErrUnsupported))
	// Output: true
}

func ExampleWithClientTrace() {
	c := exampleClient(func(ctx *gallop.RequestCtx) { ctx.WriteString("hello") })
	ctx := gallop.WithClientTrace(context.Background(), &gallop.ClientTrace{
		GotConn: func(info gallop.GotConnInfo) {
			fmt.Println(info.Protocol, "to", info.Addr, "reused:", info.Reused, "known:", info.ConnID > 0)
		},
	})

	var req gallop.Request
	req.SetRequestURI("http://example.com/")
	for range 2 {
		if err := c.DoContext(ctx, &req, nil); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// HTTP/1.1 to example.com:80 reused: false known: true
	// HTTP/1.1 to example.com:80 reused: true known: true
}

func ExampleSafeToRetry() {
	c := &gallop.Client{
		DetailedErrors: true,
		RetryIfErr: func(req *gallop.Request, attempts int, err error) (resetTimeout, retry bool) {
			return false, attempts < 3 && gallop.SafeToRetry(req, err)
		},
		Dial: func(addr string) (net.Conn, error) {
			fmt.Println("dialing", addr)
			return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		},
	}

	var req gallop.Request
	req.SetRequestURI("http://example.com/")
	req.Header.SetMethod(gallop.MethodPost)
	fmt.Println(c.Do(&req, nil))
	// Output:
	// dialing example.com:80
	// dialing example.com:80
	// dialing example.com:80
	// gallop: POST http://example.com/: dial: connection refused
}

func ExampleClosedError_NotProcessed() {
	err := fmt.Errorf("order: %w", &gallop.ClosedError{Addr: "example.com:80", Reused: true, Err: net.ErrClosed})

	var closed *gallop.ClosedError
	if errors.As(err, &closed) && closed.NotProcessed() {
		fmt.Println("the server has not seen the order")
	}
	// Output: the server has not seen the order
}
