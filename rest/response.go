package rest

import (
	"io"
	"iter"
	"net/http"
	"strings"
	"time"
)

// Response is the response to a request. If the Response comes from Open, the body has not been read yet. The strings
// of a Response remain valid forever.
type Response struct {
	// StatusCode is the status of the response, such as 200.
	StatusCode int

	// Protocol is the HTTP version of the response, such as "HTTP/1.1". Protocol is empty if the response came from the
	// cache.
	Protocol string

	// FromCache is true if the body came from the cache. In a response from the cache, the Age header holds the
	// estimated age in seconds.
	FromCache bool

	// Body is the body of the response. After [Client.Open], read and close the Body. After any other call, the Body is
	// empty.
	Body io.ReadCloser

	method  string
	url     target
	headers fields
	length  int64 // of Body, -1 if it is not known
	native  nativeBody
	cut     io.Closer // what ends a Read of Body that waits, nil if nothing does
}

// Header returns the first value of a header, or "" if the response does not have it.
func (r *Response) Header(name string) string {
	value, _ := r.headers.get(name, foldName)
	return value
}

// Headers returns an iterator over the headers. The iterator yields each name once, with all values of the name.
func (r *Response) Headers() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) { r.headers.each(foldName, yield) }
}

// Time parses the first value of a header as a time. The header can hold an HTTP date (RFC 9110 §5.6.7) or
// an RFC 3339 time. The header can also hold a time such as 2006-01-02 15:04:05 with UTC or an offset. The result ok
// is false if the header is missing or is not a time.
func (r *Response) Time(name string) (at time.Time, ok bool) {
	value := strings.TrimSpace(r.Header(name))
	if at, err := http.ParseTime(value); err == nil {
		return at, true
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05 UTC", "2006-01-02 15:04:05 -0700"} {
		if at, err := time.Parse(layout, value); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// URL returns the URL that the response came from, after redirects. The URL can contain secrets.
func (r *Response) URL() string { return r.url.String() }

// Link returns the URL of the link with the relation rel in the Link headers (RFC 8288), such as "next". The method
// returns "" if there is no such link. Link ignores links whose anchor parameter names another resource.
func (r *Response) Link(rel string) string {
	for _, line := range r.headers.lines("Link") {
		for link := range linksIn(line) {
			if link.has(rel) && (!link.anchored || r.absolute(link.anchor) == r.absolute("")) {
				return r.absolute(link.target)
			}
		}
	}
	return ""
}

// empty makes the body one without bytes.
func (r *Response) empty() { r.Body, r.length = noBody{}, 0 }

type noBody struct{}

// Read implements io.Reader.
func (noBody) Read([]byte) (int, error) { return 0, io.EOF }

// Close implements io.Closer.
func (noBody) Close() error { return nil }

const (
	maxDrain     = 64 << 10              // how much of a body is read that nobody wants, so that the connection can be used again
	maxDrainTime = 50 * time.Millisecond // and for how long
	maxError     = 1 << 20               // how much of the body of an error is kept
)

// discard ends the body. A short rest of it is read if it comes soon, for the sake of the connection.
func (r *Response) discard() {
	if _, none := r.Body.(noBody); none || r.Body == nil {
		return
	}
	if r.length <= maxDrain {
		if cut := r.cut; cut != nil {
			timer := time.AfterFunc(maxDrainTime, func() { cut.Close() })
			defer timer.Stop()
		}
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain+1)
	}
	r.Body.Close()
	r.empty()
}
