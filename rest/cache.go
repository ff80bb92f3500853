package rest

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cached is the stage that responds from the cache.
func (c *Client) cached(next stage) stage {
	k := c.cache
	return func(x *exchange) (*Response, error) {
		if x.method != "GET" {
			resp, err := next(x)
			if isUnsafe(x.method) && (err != nil || resp.StatusCode < 400) { // after an error the server may still have processed it
				k.forget(x, resp)
			}
			return resp, err
		}
		asked := directives(x.headers.lines("Cache-Control"))
		usual := !asked.has("no-store") && !x.isConditional() && (x.body == nil || x.body.empty())
		var have *stored
		if usual {
			have = k.find(x)
		}
		switch {
		case have != nil && have.serves(asked, time.Now()):
			return have.response(x), nil
		case asked.has("only-if-cached"):
			return notKept(x), nil
		case usual:
			return k.fetch(x, have, next)
		}
		return next(x)
	}
}

// notKept returns the 504 for a request with only-if-cached that the cache cannot serve (RFC 9111 §5.2.1.7).
func notKept(x *exchange) *Response {
	resp := &Response{StatusCode: 504, FromCache: true, method: x.method, url: x.to}
	resp.empty()
	return resp
}

func isUnsafe(method string) bool {
	return method != "HEAD" && method != "OPTIONS" && method != "TRACE" && method != "QUERY"
}

// isConditional reports whether the request has a condition or a range of its own. Such a request bypasses the
// cache.
func (x *exchange) isConditional() bool {
	return x.has("Range") || slices.ContainsFunc(conditions, x.has)
}

// conditions are the headers that make a request conditional (RFC 9110 §13.1).
var conditions = []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"}

func isCondition(name string) bool {
	for _, c := range conditions {
		if foldName(c, name) {
			return true
		}
	}
	return false
}

// fetch asks the server. If the stored response has a validator, the request is conditional.
func (k *cache) fetch(x *exchange, have *stored, next stage) (*Response, error) {
	before, url := x.headers, x.to.String()
	era := k.now(url)
	asks := have != nil && have.validate(x)
	sent := time.Now()
	resp, err := next(x)
	x.headers = before
	switch {
	case err != nil:
		return resp, err
	case resp.StatusCode == 304 && asks:
		resp.discard()
		fresh, keeps := have.updated(x, &resp.headers, sent, time.Now())
		k.supersede(x)
		if keeps {
			k.keep(url, fresh, era)
		}
		return fresh.response(x), nil
	case resp.StatusCode == 200:
		k.supersede(x)
		k.watch(x, url, resp, sent, era)
	}
	return resp, nil
}

// validate makes x conditional on the stored response, and reports whether that was possible (RFC 9111 §4.3.1).
func (s *stored) validate(x *exchange) bool {
	etag, modified := validators(&s.headers)
	x.headers = x.headers.clone() // the caller restores the original headers
	if etag != "" {
		x.headers.set("If-None-Match", etag, foldName)
	}
	if modified != "" {
		x.headers.set("If-Modified-Since", modified, foldName)
	}
	return etag != "" || modified != ""
}

// validators returns the ETag and the Last-Modified date for a conditional request. Either is "" if it is missing or
// longer than 1 KiB, because a server that rejects long headers would reject the request every time.
func validators(headers *fields) (etag, modified string) {
	const most = 1 << 10
	if etag, _ = headers.get("ETag", foldName); len(etag) > most {
		etag = ""
	}
	if modified, _ = headers.get("Last-Modified", foldName); len(modified) > most {
		modified = ""
	}
	return etag, modified
}

// matches reports whether the stored response may be used for x (RFC 9111 §4.1).
func (s *stored) matches(x *exchange) bool {
	if s.credential != x.credential {
		return false
	}
	for i, name := range s.vary.names {
		if strings.Join(x.headers.lines(name), ",") != s.vary.values[i] {
			return false
		}
	}
	return true
}

// serves reports whether the stored response may be used without asking the server (RFC 9111 §4.2, §5.2.1).
func (s *stored) serves(asked directive, now time.Time) bool {
	age := now.Sub(s.born)
	if s.asks || asked.has("no-cache") || age >= s.fresh && !s.servesStale(asked, age-s.fresh) {
		return false
	}
	if most, ok := asked.seconds("max-age"); ok && age > most {
		return false
	}
	least, ok := asked.seconds("min-fresh")
	return !ok || s.fresh-age > least
}

// servesStale reports whether the response may be used although it has been stale for the given time (RFC 9111
// §5.2.1.2, §4.2.4).
func (s *stored) servesStale(asked directive, since time.Duration) bool {
	if s.strict || !asked.has("max-stale") {
		return false
	}
	most, limited := asked.seconds("max-stale")
	return limited && since <= most || asked["max-stale"] == ""
}

// response returns the stored response as the response to x.
func (s *stored) response(x *exchange) *Response {
	resp := &Response{StatusCode: 200, FromCache: true, method: x.method, url: x.to, headers: s.headers.clone(), length: int64(len(s.body))}
	resp.headers.set("Age", strconv.Itoa(int(max(time.Since(s.born), 0)/time.Second)), foldName)
	resp.Body = io.NopCloser(bytes.NewReader(s.body))
	return resp
}

// watch stores resp once its body has been read to the end, if it may be stored (RFC 9111 §3).
func (k *cache) watch(x *exchange, url string, resp *Response, sent time.Time, asked era) {
	s := newStored(x, resp.headers, sent, time.Now())
	if s == nil || resp.length > k.most/4 {
		return
	}
	resp.Body = &watchedBody{ReadCloser: resp.Body, most: k.most / 4, length: resp.length, ended: func(body []byte) {
		s.body = body
		k.keep(url, s, asked)
	}}
}

// newStored returns the entry for a response to x, without its body. It returns nil if the response must not be
// stored.
func newStored(x *exchange, headers fields, sent, now time.Time) *stored {
	said := directives(headers.lines("Cache-Control"))
	if said.has("no-store") {
		return nil
	}
	s := &stored{credential: x.credential, headers: headers.clone(), asks: said.has("no-cache"), strict: said.has("must-revalidate")}
	for _, line := range headers.lines("Vary") {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name == "*" {
				return nil
			} else if name != "" {
				s.varies(x, name)
			}
		}
	}
	if _, coded := headers.get("Content-Encoding", foldName); coded { // a body is decoded unless the request itself set Accept-Encoding
		s.varies(x, "Accept-Encoding")
	}
	s.born = bornAt(&headers, sent, now)
	s.fresh = freshFor(&headers, said)
	if etag, modified := validators(&headers); etag == "" && modified == "" && (s.asks || s.fresh <= now.Sub(s.born)) {
		return nil
	}
	return s
}

// varies limits s to requests with the same value of a header as x.
func (s *stored) varies(x *exchange, name string) {
	s.vary.names = append(s.vary.names, name)
	s.vary.values = append(s.vary.values, strings.Join(x.headers.lines(name), ","))
}

// bornAt returns when the response was generated, by its Age or Date header (RFC 9111 §4.2.3).
func bornAt(headers *fields, sent, now time.Time) time.Time {
	born := sent // the time in transit counts towards the age
	if age, ok := headers.get("Age", foldName); ok {
		if n, ok := number(strings.TrimSpace(age)); ok {
			born = sent.Add(-time.Duration(min(n, 1e9)) * time.Second)
		}
	}
	if date, ok := httpDate(headers, "Date"); ok && date.Before(born) && now.Sub(date) > time.Second {
		born = date
	}
	return born
}

// freshFor returns how long a response is fresh (RFC 9111 §4.2.1). It returns 0 if the response does not say. There
// is no heuristic.
func freshFor(headers *fields, said directive) time.Duration {
	if d, ok := said.seconds("max-age"); ok {
		return d
	}
	if said.has("max-age") {
		return 0 // malformed
	}
	expires, ok := httpDate(headers, "Expires")
	if !ok {
		return 0
	}
	date, ok := httpDate(headers, "Date")
	if !ok {
		date = time.Now()
	}
	return max(expires.Sub(date), 0)
}

func httpDate(headers *fields, name string) (at time.Time, ok bool) {
	value, ok := headers.get(name, foldName)
	if !ok {
		return at, false
	}
	at, err := http.ParseTime(value)
	return at, err == nil
}

// updated returns the stored response with the headers of a 304 (RFC 9111 §3.2), and whether it may be stored again.
// That is decided by the rules for a 200. The result is the response to x in any case.
func (s *stored) updated(x *exchange, news *fields, sent, now time.Time) (fresh *stored, keeps bool) {
	if !s.isMeantBy(news) {
		return s, false
	}
	headers := s.headers.clone()
	headers.del("Age", foldName)
	headers.set("Date", now.UTC().Format(http.TimeFormat), foldName) // a Date in the 304 replaces it (RFC 9110 §6.6.1)
	news.each(foldName, func(name string, values []string) bool {
		if isAboutContent(name) || foldName(name, "ETag") {
			return true
		}
		headers.del(name, foldName)
		for _, value := range values {
			headers.add(name, value, foldName)
		}
		return true
	})
	fresh = newStored(x, headers, sent, now)
	if keeps = fresh != nil; !keeps {
		fresh = &stored{headers: headers, born: now}
	}
	fresh.body = s.body
	return fresh, keeps
}

// isMeantBy reports whether a 304 confirms this content and not a newer version (RFC 9111 §4.3.4). ETags are
// compared weakly, because some servers weaken them in a 200 only.
func (s *stored) isMeantBy(news *fields) bool {
	have, known := s.headers.get("ETag", foldName)
	says, said := news.get("ETag", foldName)
	return !known || !said || strings.TrimPrefix(have, "W/") == strings.TrimPrefix(says, "W/")
}

// watchedBody calls ended with the whole body once it has been read completely. If the length is known, the caller
// need not read on until io.EOF.
type watchedBody struct {
	io.ReadCloser
	most   int64
	length int64 // -1 if unknown
	seen   []byte
	ended  func([]byte)
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.ended == nil {
		return n, err
	}
	b.seen = append(b.seen, p[:n]...)
	switch {
	case int64(len(b.seen)) > b.most || err != nil && err != io.EOF:
		b.seen, b.ended = nil, nil
	case err == io.EOF || int64(len(b.seen)) == b.length:
		b.ended(slices.Clip(b.seen))
		b.seen, b.ended = nil, nil
	}
	return n, err
}

// directive holds the directives of Cache-Control (RFC 9111 §5.2), with lower-case names.
type directive map[string]string

func (d directive) has(name string) bool {
	_, ok := d[name]
	return ok
}

func (d directive) seconds(name string) (time.Duration, bool) {
	n, ok := number(d[name])
	return time.Duration(min(n, 1e9)) * time.Second, ok
}

// directives parses the lines of Cache-Control. If a directive is repeated, the first one counts (RFC 9111 §4.2.1).
func directives(lines []string) directive {
	if len(lines) == 0 {
		return nil
	}
	d := directive{}
	for _, line := range lines {
		for line != "" {
			var name, value string
			name, value, line = nextParam(strings.TrimLeft(line, " \t,;"))
			if name = strings.ToLower(name); name != "" && !d.has(name) {
				d[name] = value
			}
		}
	}
	return d
}
