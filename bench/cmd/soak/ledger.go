package main

import (
	"bytes"
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/gallop-http/gallop/bench/peers"
)

// ledger is the server's record of the requests: which ids the handler saw, and whether the head, field and body of
// each request belong together. It is safe for concurrent use.
type ledger struct {
	total uint64          // ids are 0 ≤ id < total
	seen  []atomic.Uint64 // one bit per id

	right   atomic.Uint64
	wrong   atomic.Uint64 // path, field and body did not match
	twice   atomic.Uint64
	revived atomic.Uint64 // requests that were cut off but arrived whole
	printed atomic.Int32
}

func newLedger(requests uint64) *ledger {
	return &ledger{total: requests, seen: make([]atomic.Uint64, (requests+63)/64)}
}

// missing returns the number of ids that the handler never saw.
func (l *ledger) missing() uint64 {
	n := l.total
	for i := range l.seen {
		n -= uint64(bits.OnesCount64(l.seen[i].Load()))
	}
	return n
}

// app records and checks requests and returns a response to each.
func (l *ledger) app() peers.App { return peers.Simple(l.judge) }

// judge records a request and returns the response to it.
func (l *ledger) judge(a peers.Request) peers.Response {
	k, id, n, sum, ok := splitPath(a.Path)
	if !ok {
		return l.refuse("a path that no client sent", a)
	}
	if id&cutOff != 0 {
		l.revived.Add(1)
		l.complain("a request that was cut off", a)
		return bad
	}
	if own, err := strconv.ParseUint(string(a.Field("X-Soak-Id")), 16, 64); err != nil || own != id {
		return l.refuse("another request's X-Soak-Id", a)
	}
	r := peers.Response{Status: 200, Fields: []peers.ResponseField{
		{Name: "X-Soak-Id", Value: strconv.AppendUint(nil, id, 16)},
		{Name: "X-Soak-Sum", Value: strconv.AppendUint(nil, uint64(sum), 16)},
	}}
	want := "POST"
	switch k {
	case kindEcho, kindChunked:
		r.Body = a.Body
	case kindStream:
		r.Body, r.Chunked = a.Body, true
	case kindNone:
		r.Status = 204
	case kindMake:
		want, r.Body = "GET", payload(id, n)
	case kindHead:
		want, r.Body = "HEAD", payload(id, n)
	case kindSame:
		tag := appendTag(nil, id)
		want, r.Status = "GET", 304
		r.Fields = append(r.Fields, peers.ResponseField{Name: "ETag", Value: tag})
		if !bytes.Equal(a.Field("If-None-Match"), tag) {
			return l.refuse("another request's If-None-Match", a)
		}
	}
	if string(a.Method) != want {
		return l.refuse("another method", a)
	}
	if want == "POST" && (len(a.Body) != n || checksum(a.Body) != sum) {
		return l.refuse("another body", a)
	}
	if want != "POST" && len(a.Body) != 0 {
		return l.refuse("a body out of nowhere", a)
	}
	if id >= l.total || l.seen[id/64].Or(1<<(id%64))&(1<<(id%64)) != 0 {
		l.twice.Add(1)
		l.complain("a request that was handled before", a)
		return bad
	}
	l.right.Add(1)
	return r
}

// bad is the response to requests that cannot be right.
var bad = peers.Response{Status: 400}

func (l *ledger) refuse(why string, a peers.Request) peers.Response {
	l.wrong.Add(1)
	l.complain(why, a)
	return bad
}

// complain prints the first few errors. The requests come from this program, so printing them is safe.
func (l *ledger) complain(why string, a peers.Request) {
	if l.printed.Add(1) <= 20 {
		fmt.Fprintf(os.Stderr, "soak: handler got %s: %s %.80q, X-Soak-Id %q, body of %d\n", why, a.Method, a.Path, a.Field("X-Soak-Id"), len(a.Body))
	}
}

// splitPath parses /kind/id/length/sum. The numbers are hexadecimal.
func splitPath(path []byte) (k kind, id uint64, n int, sum uint32, ok bool) {
	if len(path) == 0 || path[0] != '/' {
		return
	}
	name, rest, _ := bytes.Cut(path[1:], slash)
	idText, rest, _ := bytes.Cut(rest, slash)
	nText, sumText, _ := bytes.Cut(rest, slash)
	for i, s := range kindNames {
		if string(name) == s {
			k, ok = kind(i), true
		}
	}
	id, idErr := strconv.ParseUint(string(idText), 16, 64)
	length, nErr := strconv.ParseUint(string(nText), 16, 31)
	s, sumErr := strconv.ParseUint(string(sumText), 16, 32)
	ok = ok && idErr == nil && nErr == nil && sumErr == nil && length <= maxBody
	return k, id, int(length), uint32(s), ok
}

var slash = []byte("/")

// appendTag appends the entity tag of a request id.
func appendTag(dst []byte, id uint64) []byte {
	dst = append(dst, '"')
	dst = strconv.AppendUint(dst, id, 16)
	return append(dst, '"')
}
