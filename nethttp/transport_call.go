package nethttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/gallop-http/gallop"
)

// call is a call and everything that it holds until its response has been read.
type call struct {
	t       *Transport
	head    *headTimer // of ResponseHeaderTimeout, or nil
	r       *http.Request
	ctx     context.Context
	cancel  context.CancelFunc // of Request.Cancel, or nil
	host    *host
	length  int64         // of the body that is sent, -1 for chunks
	unzip   bool          // this package asked for gzip
	sends   *sentTrailers // the body, if trailers follow it
	feeds   io.ReadCloser // the body of a CONNECT, which goes into the tunnel, or nil
	request *gallop.Request

	mu       sync.Mutex
	response *gallop.Response // nil when the call is over
}

// RoundTrip sends r and returns the response as soon as the response header has arrived. RoundTrip implements
// http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL != nil && r.Header != nil {
		if resp, err, ok := t.byScheme(r); ok {
			return resp, err
		}
	}
	h, err := t.prepare(r)
	if err != nil {
		closeBody(r)
		return nil, err
	}
	asked := r
	for again := false; ; again = true {
		c := newCall(t, h, r)
		err := c.fill(t, h.asked)
		if err == nil {
			err = h.client.DoContext(c.ctx, c.request, c.response)
		}
		if c.head != nil {
			c.head.stop()
		}
		if err == nil {
			resp := c.answer()
			resp.Request = asked
			return resp, nil
		}
		err = c.explain(err)
		c.end()
		if again || !mayRepeat(r, err) {
			return nil, err
		}
		body, berr := r.GetBody()
		if berr != nil {
			return nil, berr
		}
		copied := *r
		copied.Body = body
		r = &copied
	}
}

// prepare checks r and returns the host that sends it.
func (t *Transport) prepare(r *http.Request) (*host, error) {
	switch {
	case r.URL == nil:
		return nil, errNoURL
	case r.Header == nil:
		return nil, errNoHeader
	}
	if err := checkRequest(r); err != nil {
		return nil, err
	}
	return t.hostFor(r)
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

// mayRepeat reports whether r, which has failed with err, may be sent again with a new body from GetBody. The HostClient
// itself repeats requests without a body.
func mayRepeat(r *http.Request, err error) bool {
	var closed *gallop.ClosedError
	if r.GetBody == nil || r.Body == nil || r.Context().Err() != nil || !errors.As(err, &closed) || !closed.Reused {
		return false
	}
	switch r.Method {
	case http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodGet, http.MethodHead, "":
		return true
	}
	return closed.NotProcessed() || r.Header.Get("Idempotency-Key") != "" || r.Header.Get("X-Idempotency-Key") != ""
}

func newCall(t *Transport, h *host, r *http.Request) *call {
	c := &call{t: t, host: h, r: r, ctx: r.Context(), request: gallop.AcquireRequest(), response: gallop.AcquireResponse()}
	//lint:ignore SA1019 http.Client sets it still
	if stop := r.Cancel; stop != nil {
		c.ctx, c.cancel = context.WithCancel(c.ctx)
		ctx, cancel := c.ctx, c.cancel
		go func() {
			select {
			case <-stop:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	if t.ResponseHeaderTimeout > 0 {
		c.limitHead(t.ResponseHeaderTimeout)
	}
	c.ctx = c.traced(c.ctx)
	return c
}

// end releases everything that the call holds and closes the request body. It may be called more than once.
func (c *call) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.response == nil {
		return
	}
	if c.sends != nil {
		c.sends.end()
	}
	if c.feeds != nil {
		c.feeds.Close()
	}
	gallop.ReleaseResponse(c.response)
	gallop.ReleaseRequest(c.request)
	c.response, c.request = nil, nil
	if c.cancel != nil {
		c.cancel()
	}
	if c.head != nil {
		c.head.cancel(nil)
	}
	c.t.limitIdle()
}

// errCanceled is the error of a call whose Request.Cancel was closed.
var errCanceled = errors.New("nethttp: request canceled")
