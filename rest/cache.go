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

// cached is the stage that answers from memory.
func (c *Client) cached(next stage) stage {
	k := c.cache
	return func(x *exchange) (*Response, error) {
		if x.method != "GET" {
			resp, err := next(x)
			if isUnsafe(x.method) && (err != nil || resp.StatusCode < 400) { // which may have been done though the answer is lost
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

// notKept is the answer to x if it may not be asked for (RFC 9111 §5.2.1.7).
func notKept(x *exchange) *Response {
	resp := &Response{StatusCode: 504, FromCache: true, method: x.method, url: x.to}
	resp.empty()
	return resp
}

func isUnsafe(method string) bool {
	return method != "HEAD" && method != "OPTIONS" && method != "TRACE" && method != "QUERY"
}

// isConditional reports whether the request is about what somebody else keeps.
func (x *exchange) isConditional() bool {
	return x.has("Range") || slices.ContainsFunc(conditions, x.has)
}

// conditions are the fields that say what has to be the case (RFC 9110 §13.1).
var conditions = []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"}

func isCondition(name string) bool {
	for _, c := range conditions {
		if foldName(c, name) {
			return true
		}
	}
	return false
}

// fetch asks the server, if it can whether have still holds.
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

// validate makes x a question whether the answer still holds, and reports whether it could (RFC 9111 §4.3.1).
func (s *stored) validate(x *exchange) bool {
	etag, modified := validators(&s.headers)
	x.headers = x.headers.clone() // the caller has the others
	if etag != "" {
		x.headers.set("If-None-Match", etag, foldName)
	}
	if modified != "" {
		x.headers.set("If-Modified-Since", modified, foldName)
	}
	return etag != "" || modified != ""
}

// validators returns the tag and the date that a conditional request may send back, "" for each that is missing or too long.
// A server that refuses a long one would refuse the request each time.
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

// matches reports whether the answer is one to x, too (RFC 9111 §4.1).
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

// serves reports whether the answer may be used without asking (RFC 9111 §4.2, §5.2.1).
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

// servesStale reports whether the answer may be used though it has been stale for that long (RFC 9111 §5.2.1.2, §4.2.4).
func (s *stored) servesStale(asked directive, since time.Duration) bool {
	if s.strict || !asked.has("max-stale") {
		return false
	}
	most, limited := asked.seconds("max-stale")
	return limited && since <= most || asked["max-stale"] == ""
}

// response returns the answer as one to x.
func (s *stored) response(x *exchange) *Response {
	resp := &Response{StatusCode: 200, FromCache: true, method: x.method, url: x.to, headers: s.headers.clone(), length: int64(len(s.body))}
	resp.headers.set("Age", strconv.Itoa(int(max(time.Since(s.born), 0)/time.Second)), foldName)
	resp.Body = io.NopCloser(bytes.NewReader(s.body))
	return resp
}

// watch keeps resp when its body was read to its end, if it may be kept (RFC 9111 §3).
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

// newStored returns what is to be kept of an answer to x, without its body, nil if nothing.
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
	if _, coded := headers.get("Content-Encoding", foldName); coded { // what x has asked for itself is not decoded, and for others it is
		s.varies(x, "Accept-Encoding")
	}
	s.born = bornAt(&headers, sent, now)
	s.fresh = freshFor(&headers, said)
	if etag, modified := validators(&headers); etag == "" && modified == "" && (s.asks || s.fresh <= now.Sub(s.born)) {
		return nil
	}
	return s
}

// varies makes s an answer to requests only that have the same in a field as x.
func (s *stored) varies(x *exchange, name string) {
	s.vary.names = append(s.vary.names, name)
	s.vary.values = append(s.vary.values, strings.Join(x.headers.lines(name), ","))
}

// bornAt returns when an answer was made, as old as Age or Date say it is (RFC 9111 §4.2.3).
func bornAt(headers *fields, sent, now time.Time) time.Time {
	born := sent // what is on its way grows old as well
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

// freshFor returns for how long an answer is fresh (RFC 9111 §4.2.1). Without a word about it that
// is no time: nothing is guessed.
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

// updated returns the answer with the fields of a 304 to x (RFC 9111 §3.2), and whether that may be kept: all that
// decides it for a 200 is asked once more. To x it is the answer in any case.
func (s *stored) updated(x *exchange, news *fields, sent, now time.Time) (fresh *stored, keeps bool) {
	if !s.isMeantBy(news) {
		return s, false
	}
	headers := s.headers.clone()
	headers.del("Age", foldName)
	headers.set("Date", now.UTC().Format(http.TimeFormat), foldName) // unless the 304 has one (RFC 9110 §6.6.1)
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

// isMeantBy reports whether a 304 is about this content, and not another that the server has by now
// (RFC 9111 §4.3.4). Tags are compared weakly, since some servers weaken them for a 200 alone.
func (s *stored) isMeantBy(news *fields) bool {
	have, known := s.headers.get("ETag", foldName)
	says, said := news.get("ETag", foldName)
	return !known || !said || strings.TrimPrefix(have, "W/") == strings.TrimPrefix(says, "W/")
}

// watchedBody calls ended with all of the body when it was read to its end, which who knows where that is need not look for.
type watchedBody struct {
	io.ReadCloser
	most   int64
	length int64 // -1 if it is not known
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

// directive are the directives of Cache-Control (RFC 9111 §5.2), names in lower case.
type directive map[string]string

func (d directive) has(name string) bool {
	_, ok := d[name]
	return ok
}

func (d directive) seconds(name string) (time.Duration, bool) {
	n, ok := number(d[name])
	return time.Duration(min(n, 1e9)) * time.Second, ok
}

// directives reads the lines of Cache-Control. Of one that is there twice the first counts (RFC 9111 §4.2.1).
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
