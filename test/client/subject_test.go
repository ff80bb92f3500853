package client_test

import (
	"context"
	"io"
	"net"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// hostClient is the client under test, with default limits, over those connections.
func hostClient(dial func() (net.Conn, error), stream bool) *gallop.HostClient {
	return &gallop.HostClient{
		Addr:               "h1.test:80",
		Dial:               func(string) (net.Conn, error) { return dial() },
		StreamResponseBody: stream,
	}
}

// clientSubject is a HostClient to play cases with.
func clientSubject(stream bool) wiretest.Subject {
	return func(dial func() (net.Conn, error)) (wiretest.Fetch, func()) {
		c := hostClient(dial, stream)
		fetch := func(ctx context.Context, call *wiretest.Call) (*wiretest.Result, error) {
			return fetchWith(ctx, c.DoContext, call)
		}
		return fetch, c.CloseIdleConnections
	}
}

// clientModes are the two ways in which a client hands out bodies.
var clientModes = map[string]bool{"whole bodies": false, "streamed bodies": true}

type doContext func(context.Context, *gallop.Request, *gallop.Response) error

// over is c.DoContext that speaks to c in its own scheme, whatever the request says.
func over(c *gallop.HostClient) doContext {
	return func(ctx context.Context, req *gallop.Request, resp *gallop.Response) error {
		if c.IsTLS {
			req.URI().SetScheme("https")
		}
		return c.DoContext(ctx, req, resp)
	}
}

// fetchWith makes the call and reads the body to its end, be it a stream or not.
func fetchWith(ctx context.Context, do doContext, call *wiretest.Call) (*wiretest.Result, error) {
	req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
	defer gallop.ReleaseRequest(req)
	defer gallop.ReleaseResponse(resp)
	req.Header.SetMethod(call.Method)
	req.SetRequestURI("http://h1.test" + call.Path)
	for _, f := range call.Fields {
		req.Header.Add(f[0], f[1])
	}
	if len(call.Body) > 0 {
		req.SetBody(call.Body)
	}
	if err := do(ctx, req, resp); err != nil {
		return nil, err
	}
	return resultOf(resp)
}

func resultOf(resp *gallop.Response) (*wiretest.Result, error) {
	r := &wiretest.Result{Status: resp.StatusCode()}
	if s := resp.BodyStream(); s != nil {
		var err error
		if r.Body, err = io.ReadAll(s); err != nil {
			return nil, err
		}
	} else {
		r.Body = append(r.Body, resp.Body()...)
	}
	for name, value := range resp.Header.All() {
		r.Fields = append(r.Fields, wiretest.Field{Name: string(name), Value: string(value)})
	}
	for name, value := range resp.Header.AllTrailers() {
		r.Trailers = append(r.Trailers, wiretest.Field{Name: string(name), Value: string(value)})
	}
	return r, resp.CloseBodyStream()
}
