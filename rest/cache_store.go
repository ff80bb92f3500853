package rest

import (
	"container/list"
	"hash/maphash"
	"net/url"
	"slices"
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
	seed  maphash.Seed
	eras  [256]era // of URLs, by their hashes
}

// era counts how often answers of some URLs were forgotten because they may have been changed. What was asked for in
// one that is over may be from before the change.
type era uint32

func newCache(most int64) *cache { return &cache{most: most, seed: maphash.MakeSeed()} }

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
	asks       bool          // whether it must not be used without asking,
	strict     bool          // or not once it is stale
}

const (
	maxVariants = 16
	entryCost   = 1 << 10 // what an answer costs beside its body and fields
)

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

// eraOf returns the era of a URL. k is locked.
func (k *cache) eraOf(url string) *era {
	return &k.eras[maphash.String(k.seed, url)%uint64(len(k.eras))]
}

// now returns the era of a URL.
func (k *cache) now(url string) era {
	k.mu.Lock()
	defer k.mu.Unlock()
	return *k.eraOf(url)
}

// keep puts s, which was asked for in the era, in the place of what was kept for the same requests, and forgets what
// was not used for longest if there is no room.
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

// forget drops what x, which was not safe, may have changed (RFC 9111 §4.4). resp is nil if there was no answer.
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
