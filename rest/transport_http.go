package rest

import (
	"context"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
)

// httpTransport sends requests through an http.RoundTripper. A RoundTripper may read the request body after it has
// returned, so the body is lent until it is closed.
type httpTransport struct{ rt http.RoundTripper }

func (t httpTransport) roundTrip(x *exchange) (*Response, error) {
	ctx, cancel, closes := t.cutting(x.ctx)
	req, err := x.httpRequest(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	from, err := t.rt.RoundTrip(req)
	if err == nil && from == nil {
		err = errNoAnswer
	}
	if err != nil {
		cancel()
		return nil, err
	}
	if count := fieldCount(from.Header); count > maxFields {
		if from.Body != nil {
			from.Body.Close()
		}
		cancel()
		return nil, errFields
	}
	resp := &Response{StatusCode: from.StatusCode, Protocol: from.Proto, method: x.method, url: x.to, length: from.ContentLength, Body: from.Body}
	resp.headers = roomFor(len(from.Header) + 2)
	names := make([]string, 0, len(from.Header))
	for name := range from.Header {
		names = append(names, name)
	}
	slices.Sort(names) // net/http has forgotten their order
	for _, name := range names {
		for _, value := range from.Header[name] {
			resp.headers.add(name, value, foldName)
		}
	}
	if resp.length == 0 && from.Body != http.NoBody {
		resp.length = -1 // who puts answers together may have left it out
	}
	switch {
	case x.method == "HEAD" || from.Body == nil || from.Body == http.NoBody:
		if from.Body != nil {
			from.Body.Close()
		}
		cancel()
		resp.empty()
	case closes:
		resp.cut = from.Body
	default:
		resp.Body, resp.cut = &cancelledBody{from.Body, cancel}, cut(cancel)
	}
	return resp, nil
}

// maxFields is how many header fields a response may have, as with a gallop.Client. They are compared with each other.
const maxFields = 1024

func fieldCount(h http.Header) (n int) {
	for _, values := range h {
		n += len(values)
	}
	return n
}

// cutting returns how a Read of a body that waits is ended: by closing the body, as that of an http.Transport may be,
// or, since that is not known of others, by ending the context that they have.
func (t httpTransport) cutting(of context.Context) (ctx context.Context, cancel func(), closes bool) {
	if _, ok := t.rt.(*http.Transport); ok {
		return of, func() {}, true
	}
	ctx, cancel = context.WithCancel(of)
	return ctx, cancel, false
}

// cut ends what heeds a context, which it is the end of.
type cut func()

// Close implements io.Closer.
func (c cut) Close() error {
	c()
	return nil
}

func (t httpTransport) closeIdle() {
	if closer, ok := t.rt.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

func (x *exchange) httpRequest(ctx context.Context) (*http.Request, error) {
	u, err := url.Parse(x.to.String())
	if err != nil {
		return nil, hideURL(err)
	}
	req := (&http.Request{
		Method: x.method, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, len(x.headers.names)+1),
	}).WithContext(ctx)
	x.headers.each(foldName, func(name string, values []string) bool {
		req.Header[textproto.CanonicalMIMEHeaderKey(name)] = values // which is nobody else's
		return true
	})
	added := x.auth.added()
	for i, name := range added.names {
		req.Header.Set(name, added.values[i])
	}
	if own, ok := x.headers.get("Accept-Encoding", foldName); ok && own == "" {
		req.Header.Set("Accept-Encoding", "identity") // or net/http would add gzip, and the same is meant (RFC 9110 §12.5.3)
	}
	if !x.has("User-Agent") {
		req.Header["User-Agent"] = nil // or net/http would add its own
	}
	if x.body == nil || x.body.empty() || x.body.size() == 0 {
		return req, nil // a body of length 0 would be one of unknown length
	}
	if req.Body, err = x.body.reader(); err != nil {
		return nil, err
	}
	req.ContentLength = x.body.size()
	if x.body.replayable() {
		req.GetBody = x.body.reader
	}
	return req, nil
}
