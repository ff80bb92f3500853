package rest

import (
	"container/list"
	"hash/maphash"
	"net/url"
	"slices"
	"sync"
	"time"
)

// cache is a private cache in memory (RFC 9111). It stores responses to GET with status 200 while they are fresh, or
// while a validator allows asking for them again. A response to a request with one credential is never used for a
// request with another credential.
type cache struct {
	most int64 // maximum size in bytes

	mu    sync.Mutex
	used  int64
	urls  map[string]*list.Element // of *cached
	order list.List                // most recently used first
	seed  maphash.Seed
	eras  [256]era // eras of URLs, indexed by their hashes
}

// era counts how often a request invalidated the stored responses of some URLs. A response that was requested in an
// earlier era may predate the change, so it is not stored.
type era uint32

func newCache(most int64) *cache { return &cache{most: most, seed: maphash.MakeSeed()} }

// cached holds the responses for one URL: one for each credential and each combination of the headers that Vary
// names.
type cached struct {
	url      string
	variants []*stored // newest last
}

// stored is a stored response. It is immutable.
type stored struct {
	credential string
	vary       fields // the headers that Vary names, with the values in the request
	headers    fields
	body       []byte
	born       time.Time     // when it was generated, by the local clock
	fresh      time.Duration // how long after born it is fresh
	asks       bool          // must always be revalidated (no-cache)
	strict     bool          // must be revalidated once stale (must-revalidate)
}

const (
	maxVariants = 16
	entryCost   = 1 << 10 // estimated overhead of a response, in bytes
)

// find returns the stored response for x, or nil.
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

// eraOf returns the era of a URL. The caller holds k.mu.
func (k *cache) eraOf(url string) *era {
	return &k.eras[maphash.String(k.seed, url)%uint64(len(k.eras))]
}

// now returns the era of a URL.
func (k *cache) now(url string) era {
	k.mu.Lock()
	defer k.mu.Unlock()
	return *k.eraOf(url)
}

// keep stores s, which was requested in the given era. It replaces any response to the same requests. If the cache
// is full, it evicts the least recently used responses.
func (k *cache) keep(url string, s *stored, asked era) {
	if s.cost() > k.most {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if asked != *k.eraOf(url) {
		return
	}
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

// supersede drops the stored responses that match x, because a newer one has arrived.
func (k *cache) supersede(x *exchange) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropSome(k.urls[x.to.String()], func(old *stored) bool { return old.matches(x) })
}

// dropOldest drops the oldest response of a URL. The caller holds k.mu.
func (k *cache) dropOldest(at *list.Element) {
	oldest := at.Value.(*cached).variants[0]
	k.dropSome(at, func(s *stored) bool { return s == oldest })
}

// dropSome drops the selected responses of a URL, and the URL itself once it has none left. at may be nil. The
// caller holds k.mu.
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
			n += len(text) + 16 // plus the string header
		}
	}
	return int64(n)
}

// forget drops the responses that the unsafe request x may have made invalid (RFC 9111 §4.4). resp is nil if there
// was no response.
func (k *cache) forget(x *exchange, resp *Response) {
	k.mu.Lock()
	defer k.mu.Unlock()
	urls := []string{x.to.String()}
	if resp != nil {
		for _, name := range []string{"Location", "Content-Location"} {
			if to, err := url.Parse(resp.absolute(resp.Header(name))); err == nil {
				if to, err := targetOf(to); err == nil && to.origin == x.to.origin {
					urls = append(urls, to.String())
				}
			}
		}
	}
	for _, url := range urls {
		*k.eraOf(url)++
		k.dropSome(k.urls[url], func(*stored) bool { return true })
	}
}
