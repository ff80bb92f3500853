package rest

import (
	"bytes"
	"container/list"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// cache is a private cache in memory (RFC 9111). It keeps answers to GET with the status 200, as long as
// they are fresh or can be asked for again with a validator, for who has asked: what is kept for one
// credential is never shown to another.
type cache struct {
	most int64 // bytes

	mu    sync.Mutex
	used  int64
	urls  map[string]*list.Element // of *cached
	order list.List                // the one that was used last first
}

// cached are the answers of one URL: one for each credential and each set of the header fields that Vary names.
type cached struct {
	url      string
	variants []*stored // the newest last
}

// stored is an answer. It is never changed.
type stored struct {
	credential string
	vary       fields // names, and the values of the request
	headers    fields
	body       []byte
	born       time.Time     // when it was made, by our clock
	fresh      time.Duration // for how long it is fresh from then on
	asks       bool          // whether it must not be used without asking
}

const (
	maxVariants = 16
	entryCost   = 1 << 10 // what an answer costs beside its body and fields
)

// cached is the stage that answers from memory.
func (c *Client) cached(next stage) stage {
	k := c.cache
	return func(x *exchange) (*Response, error) {
		if x.method != "GET" {
			resp, err := next(x)
			if err == nil && isUnsafe(x.method) && resp.StatusCode < 400 {
				k.forget(x, resp)
			}
			return resp, err
		}
		asked := directives(x.headers.lines("Cache-Control"))
		if asked.has("no-store") || x.isConditional() || x.body != nil && !x.body.empty() {
			return next(x)
		}
		have := k.find(x)
		if have != nil && have.serves(asked, time.Now()) {
			return have.response(x), nil
		}
		return k.fetch(x, have, next)
	}
}

func isUnsafe(method string) bool {
	return method != "HEAD" && method != "OPTIONS" && method != "TRACE" && method != "QUERY"
}

// isConditional reports whether the request is about what somebody else keeps.
func (x *exchange) isConditional() bool {
	for _, name := range []string{"Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"} {
		if x.has(name) {
			return true
		}
	}
	return false
}

// fetch asks the server, if it can whether have still holds.
func (k *cache) fetch(x *exchange, have *stored, next stage) (*Response, error) {
	before := x.headers
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
			k.keep(x.to.String(), fresh)
		}
		return fresh.response(x), nil
	case resp.StatusCode == 200:
		k.supersede(x)
		k.watch(x, resp, sent)
	}
	return resp, nil
}

// validate makes x a question whether the answer still holds, and reports whether it could (RFC 9111 §4.3.1).
func (s *stored) validate(x *exchange) bool {
	etag, tagged := s.headers.get("ETag", foldName)
	modified, dated := s.headers.get("Last-Modified", foldName)
	x.headers = x.headers.clone() // the caller has the others
	if tagged {
		x.headers.set("If-None-Match", etag, foldName)
	}
	if dated {
		x.headers.set("If-Modified-Since", modified, foldName)
	}
	return tagged || dated
}

// find returns what was kept for x, nil if nothing.
func (k *cache) find(x *exchange) *stored {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := k.urls[x.to.String()]
	if at == nil {
		return nil
	}
	k.order.MoveToFront(at)
	for _, s := range slices.Backward(at.Value.(*cached).variants) {
		if s.matches(x) {
			return s
		}
	}
	return nil
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
	if s.asks || age >= s.fresh || asked.has("no-cache") {
		return false
	}
	if most, ok := asked.seconds("max-age"); ok && age > most {
		return false
	}
	least, _ := asked.seconds("min-fresh")
	return s.fresh-age > least
}

// response returns the answer as one to x.
func (s *stored) response(x *exchange) *Response {
	resp := &Response{StatusCode: 200, FromCache: true, method: x.method, url: x.to, headers: s.headers.clone(), length: int64(len(s.body))}
	resp.headers.set("Age", strconv.Itoa(int(max(time.Since(s.born), 0)/time.Second)), foldName)
	resp.Body = io.NopCloser(bytes.NewReader(s.body))
	return resp
}

// watch keeps resp when its body was read to its end, if it may be kept (RFC 9111 §3).
func (k *cache) watch(x *exchange, resp *Response, sent time.Time) {
	s := newStored(x, resp.headers, sent, time.Now())
	if s == nil || resp.length > k.most/4 {
		return
	}
	url := x.to.String()
	resp.Body = &watchedBody{ReadCloser: resp.Body, most: k.most / 4, ended: func(body []byte) {
		s.body = body
		k.keep(url, s)
	}}
}

// newStored returns what is to be kept of an answer to x, without its body, nil if nothing.
func newStored(x *exchange, headers fields, sent, now time.Time) *stored {
	said := directives(headers.lines("Cache-Control"))
	if said.has("no-store") {
		return nil
	}
	s := &stored{credential: x.credential, headers: headers.clone(), asks: said.has("no-cache")}
	for _, line := range headers.lines("Vary") {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name == "*" {
				return nil
			} else if name != "" {
				s.vary.names = append(s.vary.names, name)
				s.vary.values = append(s.vary.values, strings.Join(x.headers.lines(name), ","))
			}
		}
	}
	s.born = bornAt(&headers, sent, now)
	s.fresh = freshFor(&headers, said)
	_, tagged := headers.get("ETag", foldName)
	_, dated := headers.get("Last-Modified", foldName)
	if !tagged && !dated && (s.asks || s.fresh <= now.Sub(s.born)) {
		return nil
	}
	return s
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

// keep puts s in the place of what was kept for the same requests, and forgets what was not used for
// longest if there is no room.
func (k *cache) keep(url string, s *stored) {
	if s.cost() > k.most {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropSome(k.urls[url], func(old *stored) bool {
		return old.credential == s.credential && slices.Equal(old.vary.names, s.vary.names) && slices.Equal(old.vary.values, s.vary.values)
	})
	at := k.urls[url]
	if at == nil {
		at = k.order.PushFront(&cached{url: url})
		if k.urls == nil {
			k.urls = map[string]*list.Element{}
		}
		k.urls[url] = at
	}
	k.order.MoveToFront(at)
	c := at.Value.(*cached)
	c.variants = append(c.variants, s)
	k.used += s.cost()
	if len(c.variants) > maxVariants {
		k.dropOldest(at)
	}
	for k.used > k.most {
		k.dropOldest(k.order.Back())
	}
}

// supersede forgets what would have been an answer to x, for there is one that is newer.
func (k *cache) supersede(x *exchange) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropSome(k.urls[x.to.String()], func(old *stored) bool { return old.matches(x) })
}

// dropOldest forgets the oldest answer of a URL. k is locked.
func (k *cache) dropOldest(at *list.Element) {
	oldest := at.Value.(*cached).variants[0]
	k.dropSome(at, func(s *stored) bool { return s == oldest })
}

// dropSome forgets answers of a URL, and the URL if none is left; nil is none. k is locked.
func (k *cache) dropSome(at *list.Element, some func(*stored) bool) {
	if at == nil {
		return
	}
	c := at.Value.(*cached)
	c.variants = slices.DeleteFunc(c.variants, func(s *stored) bool {
		if !some(s) {
			return false
		}
		k.used -= s.cost()
		return true
	})
	if len(c.variants) == 0 {
		k.order.Remove(at)
		delete(k.urls, c.url)
	}
}

func (s *stored) cost() int64 {
	n := entryCost + len(s.body)
	for _, texts := range [][]string{s.headers.names, s.headers.values, s.vary.names, s.vary.values} {
		for _, text := range texts {
			n += len(text) + 16 // and what a string is
		}
	}
	return int64(n)
}

// forget drops what x, which was not safe, may have changed (RFC 9111 §4.4).
func (k *cache) forget(x *exchange, resp *Response) {
	k.mu.Lock()
	defer k.mu.Unlock()
	urls := []string{x.to.String()}
	for _, name := range []string{"Location", "Content-Location"} {
		if to := resp.absolute(resp.Header(name)); strings.HasPrefix(to, x.to.origin+"/") {
			urls = append(urls, to)
		}
	}
	for _, url := range urls {
		k.dropSome(k.urls[url], func(*stored) bool { return true })
	}
}

// watchedBody calls ended with all of the body when it was read to its end.
type watchedBody struct {
	io.ReadCloser
	most  int64
	seen  []byte
	ended func([]byte)
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
	case err == io.EOF:
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
