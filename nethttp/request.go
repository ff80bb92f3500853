package nethttp

import (
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/gallop-http/gallop"
)

// urlOf is a URL within an exchange.
type urlOf = url.URL

// read makes the http.Request of the gallop request in ctx. It fails if net/url does not
// accept its target.
func (x *exchange) read(ctx *gallop.RequestCtx, server *http.Server) error {
	h := &ctx.Request.Header
	r := &x.req
	x.ctx.init(ctx, server)
	*r = *new(http.Request).WithContext(&x.ctx)
	var text text
	text.makeRoom(ctx)
	r.Method = methodName(ctx.Method())
	r.RequestURI = text.add(ctx.RequestURI())
	r.Proto, r.ProtoMajor, r.ProtoMinor = protoOf(h)
	r.Header = http.Header{}
	x.readFields(h, &text)
	if err := x.readTarget(); err != nil {
		return err
	}
	if x.req.URL.Host != "" {
		r.Host = r.URL.Host
	}
	r.Close = h.ConnectionClose()
	r.RemoteAddr = ctx.RemoteAddr().String()
	r.TLS = ctx.TLSConnectionState()
	x.readTunnel(ctx)
	x.readBody(ctx)
	return nil
}

// protoOf returns the HTTP version of a request. Other names, which middleware can set, count as HTTP/1.1.
func protoOf(h *gallop.RequestHeader) (proto string, major, minor int) {
	switch {
	case h.ProtoAtLeast(2, 0):
		return "HTTP/2.0", 2, 0
	case h.IsHTTP11():
		return "HTTP/1.1", 1, 1
	}
	return "HTTP/1.0", 1, 0
}

// text is the memory of all strings of a request. They are cut out of it.
type text struct {
	all   strings.Builder
	names [16]string // of the first fields, as net/http spells them; empty if the name is not in canonical
}

// makeRoom makes room for the target and the fields.
func (t *text) makeRoom(ctx *gallop.RequestCtx) {
	n, i := len(ctx.RequestURI()), 0
	for name, value := range ctx.Request.Header.All() {
		n += len(value)
		known := canonical[string(name)]
		if known == "" {
			n += len(name)
		}
		if i < len(t.names) {
			t.names[i] = known
		}
		i++
	}
	t.all.Grow(n)
}

func (t *text) add(p []byte) string {
	start := t.all.Len()
	t.all.Write(p)
	return t.all.String()[start:]
}

// name returns a field name as net/http spells it.
func (t *text) name(name []byte) string {
	if known := canonical[string(name)]; known != "" {
		return known
	}
	return textproto.CanonicalMIMEHeaderKey(t.add(name))
}

// nameAt is name for the i-th field, after makeRoom.
func (t *text) nameAt(i int, name []byte) string {
	if i < len(t.names) && t.names[i] != "" {
		return t.names[i]
	}
	return t.name(name)
}

// readFields fills Header, Host and Trailer.
func (x *exchange) readFields(h *gallop.RequestHeader, text *text) {
	r := &x.req
	values := make([]string, 0, h.Len())
	i := -1
	for name, value := range h.All() {
		i++
		key := text.nameAt(i, name)
		switch key {
		case "Host":
			r.Host = text.add(value)
			continue
		case "Transfer-Encoding":
			continue
		case "Trailer":
			if h.ContentLength() == -1 || r.ProtoMajor == 2 { // otherwise there are none
				r.Trailer = announced(r.Trailer, string(value))
				continue
			}
		case "Cookie":
			if all := cookieFields(h, value); all != nil {
				r.Header[key] = all
				continue
			}
		}
		values = append(values, text.add(value))
		if before, again := r.Header[key]; again {
			r.Header[key] = append(before, values[len(values)-1])
		} else {
			n := len(values)
			r.Header[key] = values[n-1 : n : n]
		}
	}
	if r.ProtoMajor == 2 {
		dropContinue(r.Header)
	} else {
		fixPragma(r.Header)
	}
}

// dropContinue removes Expect: 100-continue, as net/http's server does over HTTP/2.
func dropContinue(h http.Header) {
	if expect := h["Expect"]; len(expect) > 0 && strings.EqualFold(expect[0], "100-continue") {
		delete(h, "Expect")
	}
}

// fixPragma adds what an old client means by Pragma (RFC 9111 §5.4).
func fixPragma(h http.Header) {
	if pragma := h["Pragma"]; len(pragma) > 0 && pragma[0] == "no-cache" && h["Cache-Control"] == nil {
		h["Cache-Control"] = []string{"no-cache"}
	}
}

// readTarget sets URL.
func (x *exchange) readTarget() error {
	r := &x.req
	if path, query, asked, plain := cutPlain(r.RequestURI); plain {
		x.url = url.URL{Path: path, RawQuery: query, ForceQuery: asked && query == ""}
		r.URL = &x.url
		return nil
	}
	target := r.RequestURI
	authority := r.Method == http.MethodConnect && !strings.HasPrefix(target, "/")
	if authority {
		target = "http://" + target
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return err
	}
	if authority {
		u.Scheme = ""
	}
	x.url = *u
	r.URL = &x.url
	return nil
}

// cutPlain cuts a target that is a path without escapes, and a query, if it is that.
func cutPlain(target string) (path, query string, asked, ok bool) {
	if target == "" || target[0] != '/' {
		return "", "", false, false
	}
	path, query, asked = strings.Cut(target, "?")
	for i := range len(path) {
		if !plainInPath[path[i]] {
			return "", "", false, false
		}
	}
	return path, query, asked, true
}

// plainInPath are the bytes that net/url neither escapes nor unescapes in a path.
var plainInPath = func() (t [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~$&+,/:;=@") {
		t[c] = true
	}
	return t
}()

func methodName(method []byte) string {
	switch string(method) {
	case http.MethodGet:
		return http.MethodGet
	case http.MethodHead:
		return http.MethodHead
	case http.MethodPost:
		return http.MethodPost
	case http.MethodPut:
		return http.MethodPut
	case http.MethodPatch:
		return http.MethodPatch
	case http.MethodDelete:
		return http.MethodDelete
	case http.MethodConnect:
		return http.MethodConnect
	case http.MethodOptions:
		return http.MethodOptions
	}
	return string(method)
}

// canonical has the names of usual fields as net/http spells them, by that spelling and in
// lower case.
var canonical = func() map[string]string {
	t := map[string]string{}
	for _, name := range []string{
		"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Accept-Ranges", "Authorization",
		"Cache-Control", "Connection", "Content-Disposition", "Content-Encoding", "Content-Length", "Content-Type",
		"Cookie", "Date", "Dnt", "Etag", "Expect", "Forwarded", "From", "Host", "If-Match", "If-Modified-Since",
		"If-None-Match", "If-Range", "If-Unmodified-Since", "Keep-Alive", "Last-Modified", "Location", "Origin",
		"Pragma", "Priority", "Proxy-Connection", "Range", "Referer", "Sec-Ch-Ua", "Sec-Ch-Ua-Mobile",
		"Sec-Ch-Ua-Platform", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site", "Sec-Fetch-User",
		"Sec-Websocket-Extensions", "Sec-Websocket-Key", "Sec-Websocket-Protocol", "Sec-Websocket-Version", "Server",
		"Set-Cookie", "Te", "Traceparent", "Tracestate", "Trailer", "Transfer-Encoding", "Upgrade",
		"Upgrade-Insecure-Requests", "User-Agent", "Vary", "Via", "X-Forwarded-For", "X-Forwarded-Host",
		"X-Forwarded-Proto", "X-Real-Ip", "X-Request-Id", "X-Requested-With",
	} {
		t[name], t[strings.ToLower(name)] = name, name
	}
	return t
}()
