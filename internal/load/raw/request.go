package raw

import (
	"bytes"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/load/script"
	"github.com/gallop-http/gallop/internal/message"
)

// request is a request that is in flight or waits to be.
type request struct {
	script.Request
	method message.Method

	fields     []script.Field // storage of a request that outlives the next call of Next
	body, wire []byte
}

// hold takes a request over. If keeps is set, the request stays valid after the next call of Next.
func (r *request) hold(from *script.Request, keeps bool) {
	r.Request = *from
	if keeps {
		r.fields = append(r.fields[:0], from.Header...)
		r.body = append(r.body[:0], from.Body...)
		r.wire = append(r.wire[:0], from.Wire...)
		r.Header, r.Body, r.Wire = r.fields, r.body, r.wire
	}
	if r.Method == "" {
		r.Method = "GET"
		if method, _, ok := bytes.Cut(r.Wire, []byte(" ")); ok {
			r.Method = string(method)
		}
	}
	r.method = message.MethodOf(r.Method)
}

// appendWire appends the request as bytes of HTTP/1.1.
func (r *request) appendWire(dst []byte, authority string) []byte {
	if len(r.Wire) > 0 {
		return append(dst, r.Wire...)
	}
	if r.Authority != "" {
		authority = r.Authority
	}
	dst = append(append(append(dst, r.Method...), ' '), r.Path...)
	dst = append(dst, " HTTP/1.1\r\n"...)
	hasHost, hasLength := false, false
	for i := range r.Header {
		hasHost = hasHost || ascii.EqualFold(r.Header[i].Name, "host")
		hasLength = hasLength || ascii.EqualFold(r.Header[i].Name, "content-length") || ascii.EqualFold(r.Header[i].Name, "transfer-encoding")
	}
	if !hasHost {
		dst = http1.AppendField(dst, "Host", authority)
	}
	for i := range r.Header {
		dst = http1.AppendField(dst, r.Header[i].Name, r.Header[i].Value)
	}
	if !hasLength && (len(r.Body) > 0 || r.expectsBody()) {
		dst = http1.AppendContentLength(dst, int64(len(r.Body)))
	}
	return append(append(dst, "\r\n"...), r.Body...)
}

// expectsBody reports whether the method usually has a body, so that an empty one is announced (RFC 9110 §8.6).
func (r *request) expectsBody() bool {
	return r.method == message.Post || r.method == message.Put || r.method == message.Patch
}
