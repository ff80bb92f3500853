package middleware

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"sync"

	"github.com/gallop-http/gallop/web"
)

// limitState is what a Limiter needs for one request. It is pooled.
type limitState struct {
	key     []byte // of the buckets, up to the client; with limiter.inKey the whole key of the only bucket
	buckets []Bucket
	text    []byte
}

var limitStates = sync.Pool{New: func() any { return new(limitState) }}

// maxLimitKey is how long a client's key may be, in bytes. A longer key is replaced by its hash.
const maxLimitKey = 128

// setClient finds the client that a request counts for. It reports whether there is one.
func (s *limitState) setClient(l *limiter, c *web.Ctx) bool {
	s.key = append(s.key[:0], l.prefix...)
	if l.Key == nil {
		s.key = appendIP(s.key, c)
	} else {
		s.key = appendClient(s.key, l.Key(c))
	}
	return len(s.key) > len(l.prefix)
}

// appendClient appends a client's key to b. It appends the hash of a long key, and of a key with braces: see begin.
func appendClient(b []byte, key string) []byte {
	if len(key) <= maxLimitKey && strings.IndexByte(key, '{') < 0 && strings.IndexByte(key, '}') < 0 {
		return append(b, key...)
	}
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.AppendEncode(append(b, "sha256-"...), sum[:])
}

// begin sets the buckets for the client. The part of a key in braces makes a Redis cluster keep all buckets of a client on one node.
//
//	NAME:{CLIENT}:RATE
func (s *limitState) begin(l *limiter) {
	s.buckets = s.buckets[:0]
	if l.inKey {
		r := &l.Rates[0]
		s.key = append(s.key, l.suffixes[0]...)
		s.buckets = append(s.buckets, Bucket{Limit: r.Limit, Window: r.Window, Burst: r.Burst})
		return
	}
	for i := range l.Rates {
		r := &l.Rates[i]
		key := append(s.key, l.suffixes[i]...)
		s.buckets = append(s.buckets, Bucket{Key: string(key), Limit: r.Limit, Window: r.Window, Burst: r.Burst})
		s.key = key[:len(s.key)] // which may have more room now
	}
}

// beginAgain sets the buckets for a Store that reads their keys from them.
func (s *limitState) beginAgain(l *limiter) {
	if !l.inKey {
		s.begin(l)
		return
	}
	r := &l.Rates[0]
	s.buckets[0] = Bucket{Key: string(s.key), Limit: r.Limit, Window: r.Window, Burst: r.Burst}
}

// exceeded returns the index of the bucket for which the client has to wait longest.
func (s *limitState) exceeded() (longest int) {
	for i := range s.buckets {
		this, that := s.buckets[i].RetryAfter, s.buckets[longest].RetryAfter
		if this < 0 || that >= 0 && this > that {
			longest = i
		}
	}
	return longest
}

// show sets the headers that tell the client what is left.
func (l *limiter) show(c *web.Ctx, s *limitState) {
	h := &c.RequestCtx().Response.Header
	if !l.HideHeaders {
		s.text = s.text[:0]
		for i := range s.buckets {
			s.append(l.Rates[i].Name, &s.buckets[i])
		}
		if h.Has("Ratelimit-Policy") { // of another Limiter
			h.Add("Ratelimit-Policy", l.policy)
		} else {
			h.SetAll(&l.announced)
		}
		h.AddBytesV("Ratelimit", s.text)
	}
	if l.LegacyHeaders {
		b := &s.buckets[0]
		for i := range s.buckets {
			if s.buckets[i].Left < b.Left {
				b = &s.buckets[i]
			}
		}
		h.Set("X-Ratelimit-Limit", strconv.FormatInt(b.Limit, 10))
		h.Set("X-Ratelimit-Remaining", strconv.FormatInt(b.Left, 10))
		h.Set("X-Ratelimit-Reset", seconds(b.ResetAfter))
	}
}

// append adds the state of a bucket to the value of the header RateLimit.
func (s *limitState) append(name string, b *Bucket) {
	if len(s.text) > 0 {
		s.text = append(s.text, ", "...)
	}
	s.text = append(append(append(s.text, '"'), name...), `";r=`...)
	s.text = strconv.AppendInt(s.text, b.Left, 10)
	s.text = append(s.text, ";t="...)
	s.text = strconv.AppendInt(s.text, wholeSeconds(b.ResetAfter), 10)
}
