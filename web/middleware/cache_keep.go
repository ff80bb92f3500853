package middleware

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/gallop-http/gallop"
)

// snapshot is the header of a response before the handler ran: names and values of lines take turns.
type snapshot struct{ lines []string }

func snapshotOf(h *gallop.ResponseHeader) *snapshot {
	s := new(snapshot)
	for name, value := range h.All() {
		s.lines = append(s.lines, string(name), string(value))
	}
	return s
}

// has reports whether the snapshot has a line.
func (s *snapshot) has(name, value []byte) bool {
	for i := 0; i < len(s.lines); i += 2 {
		if s.lines[i] == string(name) && s.lines[i+1] == string(value) {
			return true
		}
	}
	return false
}

// isKept reports whether the header still has all lines of the snapshot with this name.
func (s *snapshot) isKept(h *gallop.ResponseHeader, name []byte) bool {
	for i := 0; i < len(s.lines); i += 2 {
		if s.lines[i] == string(name) && !slices.ContainsFunc(h.PeekAll(s.lines[i]), func(v []byte) bool { return string(v) == s.lines[i+1] }) {
			return false
		}
	}
	return true
}

// changed returns the names of the lines that are not in the snapshot.
func (s *snapshot) changed(h *gallop.ResponseHeader) map[string]bool {
	names := map[string]bool{}
	for name, value := range h.All() {
		if !s.has(name, value) {
			names[string(name)] = true
		}
	}
	return names
}

// keep stores the response if that is allowed.
func (x *exchange) keep(before *snapshot, asked time.Time) (result flightResult) {
	d, p := x.cache, &x.r.Response
	if isFailure(p.StatusCode()) {
		return flightResult{kind: flightFailed}
	}
	result.kind = flightPassed
	if !x.isWhole() || len(p.Body()) > max(d.MaxBody, 0) || len(p.Header.PeekAll(gallop.HeaderSetCookie)) > 0 {
		return result
	}
	arrived := time.Now()
	facts := x.facts(asked, arrived)
	meta, ok := facts.decide(d.TTL, d.Heuristic)
	names, few := varyNames(p.Header.PeekAll(gallop.HeaderVary), d.KeyHeaders)
	if !ok || !few || arrived.Sub(x.now) > goneFor {
		return result
	}
	record := x.encode(before, &facts, &meta)
	kept, err := x.commit(x.background(), &result, record, names, meta.ttl())
	switch {
	case errors.Is(err, ErrValueTooLarge):
		return result
	case err != nil:
		d.warn(x.c, err)
		result.kind = flightFailed
	case !kept: // the URI was invalidated while the handler ran
		result.kind = flightGone
	default:
		result.kind = flightStored
		result.response, _ = decodeResponse(record)
	}
	return result
}

// isWhole reports whether the whole response is in memory.
func (x *exchange) isWhole() bool {
	return !isTaken(x.r) && !x.r.Response.IsBodyStream() && x.r.LastTimeoutErrorResponse() == nil && len(x.r.Response.Header.PeekTrailerKeys()) == 0
}

// facts collects what decides about storing the response.
func (x *exchange) facts(asked, arrived time.Time) cacheable {
	h, q := &x.r.Response.Header, &x.r.Request.Header
	a := cacheable{
		status:        x.r.Response.StatusCode(),
		control:       parseResponseControl(h.PeekAll(gallop.HeaderCacheControl)),
		authorization: len(q.PeekAll(gallop.HeaderAuthorization)) > 0,
		cookie:        len(q.PeekAll(gallop.HeaderCookie)) > 0,
		tag:           len(h.Peek(nameETag)) > 0,
		date:          arrived, asked: asked, arrived: arrived,
	}
	if date, err := gallop.ParseHTTPDate(h.Peek(gallop.HeaderDate)); err == nil {
		a.date = date
	}
	if modified, err := gallop.ParseHTTPDate(h.Peek(gallop.HeaderLastModified)); err == nil {
		a.modified = modified
	}
	a.age = ageOf(h.PeekAll(gallop.HeaderAge))
	lines := h.PeekAll(gallop.HeaderExpires)
	if a.hasExpires = len(lines) > 0; len(lines) == 1 {
		a.expires, _ = gallop.ParseHTTPDate(lines[0]) // zero if it is malformed, as in "Expires: 0"
	}
	return a
}

// ageOf returns the value of Age. A response whose Age is malformed counts as very old: to ignore the Age, as RFC 9111 §5.1 suggests, could
// make an old response fresh.
func ageOf(lines [][]byte) time.Duration {
	if len(lines) == 0 {
		return 0
	}
	age, ok := deltaSeconds(lines[0])
	if !ok || len(lines) > 1 {
		return maxDelta * time.Second
	}
	return age
}

// encode returns the response as a record. It leaves out the lines that outer middleware has set.
func (x *exchange) encode(before *snapshot, facts *cacheable, meta *cacheMeta) []byte {
	h := &x.r.Response.Header
	body := x.r.Response.Body()
	b := make([]byte, 0, 512+len(body))
	b = appendMeta(appendRecordHead(b, kindResponse, x.uri.epoch), meta, facts.status)
	count, n := len(b), 0
	b = append(b, 0, 0)
	line := func(mode byte, name, value []byte) {
		b = appendText(appendText(append(b, mode), name), value)
		n++
	}
	line(lineSet, []byte(gallop.HeaderDate), gallop.AppendHTTPDate(nil, facts.date))
	connection := bytes.Join(h.PeekAll(gallop.HeaderConnection), []byte(","))
	var set [][]byte // names of lines that replace others
	for name, value := range h.All() {
		if isNeverStored(name) || hasToken(connection, name) {
			continue
		}
		kept := before.isKept(h, name)
		if kept && before.has(name, value) {
			continue
		}
		mode := byte(lineAdd)
		if !kept && !slices.ContainsFunc(set, func(s []byte) bool { return bytes.Equal(s, name) }) {
			mode, set = lineSet, append(set, name)
		}
		line(mode, name, value)
	}
	binary.BigEndian.PutUint16(b[count:], uint16(n))
	return append(b, body...)
}

// isNeverStored reports whether a header belongs to one connection or one response only (RFC 9111 §3.1).
func isNeverStored(name []byte) bool {
	var room [32]byte
	switch string(gallop.AppendNormalizedHeaderKeyBytes(room[:0], name)) {
	case gallop.HeaderConnection, gallop.HeaderKeepAlive, gallop.HeaderProxyAuthenticate, gallop.HeaderProxyAuthorization,
		gallop.HeaderProxyConnection, "Proxy-Authentication-Info", "Te", gallop.HeaderTrailer, gallop.HeaderTransferEncoding,
		gallop.HeaderUpgrade, gallop.HeaderContentLength, gallop.HeaderDate, gallop.HeaderAge, gallop.HeaderSetCookie:
		return true
	}
	return false
}

// hasToken reports whether a list has a token, regardless of case.
func hasToken(list, token []byte) bool {
	for member := range bytes.SplitSeq(list, []byte(",")) {
		if bytes.EqualFold(bytes.Trim(member, " \t"), token) {
			return true
		}
	}
	return false
}

// commit puts a response into the store, unless the URI was invalidated since the request looked for it.
func (x *exchange) commit(ctx context.Context, result *flightResult, record []byte, names []string, ttl time.Duration) (kept bool, err error) {
	d, now := x.cache, x.uri
	for range 4 { // other requests may store other variants at the same time
		if now.kind != 0 && now.epoch != x.uri.epoch {
			return false, nil
		}
		next, id, dropped := now.with(&x.r.Request.Header, names, ttl)
		result.names, result.variant = next.names, id
		value, lasts := record, ttl
		if next.kind == kindVariants {
			// The response goes first. Otherwise, a request in another process could find the list without the response.
			if err := d.Store.Set(ctx, d.variantKey(x.key, next.generation, id), record, ttl); err != nil {
				return false, err
			}
			value, lasts = next.encodeVariants(), next.lasts()
		}
		if kept, err = d.replace(ctx, x.storeKey, now.raw, value, lasts); err != nil {
			return false, err
		}
		if kept {
			if dropped != nil {
				err = d.Store.Delete(ctx, d.variantKey(x.key, next.generation, *dropped))
			}
			return true, err
		}
		raw, found, err := d.Store.Get(ctx, x.storeKey)
		if err != nil {
			return false, err
		}
		if now = (uriRecord{epoch: x.uri.epoch}); found {
			now = readURI(raw, x.uri.epoch)
		}
	}
	return false, nil
}

// replace replaces the value of a key, which is nil if the key was missing.
func (d *cache) replace(ctx context.Context, key string, old, value []byte, ttl time.Duration) (ok bool, err error) {
	if old == nil {
		_, ok, err = d.adder.Add(ctx, key, value, ttl)
		return ok, err
	}
	return d.swapper.CompareAndSwap(ctx, key, old, value, ttl)
}

// with returns the record of the URI with one more response. The kind is kindResponse if all requests get that response.
func (r *uriRecord) with(h *gallop.RequestHeader, names []string, ttl time.Duration) (next uriRecord, id variantID, dropped *variantID) {
	next = uriRecord{kind: kindResponse, epoch: r.epoch}
	if r.kind != kindVariants && len(names) == 0 {
		return next, id, nil
	}
	next.kind, next.generation, next.names = kindVariants, r.generation, r.names
	if r.kind == kindVariants && r.hasNames(names) {
		next.variants = r.variants
	} else {
		next.names = append(slices.Clone(r.names), names...)
		slices.Sort(next.names)
		next.names = slices.Compact(next.names)
		if len(next.names) > maxVaryNames { // headers that come and go
			next.names = names
		}
		next.generation = newGeneration()
	}
	now := time.Now().UnixNano()
	id = variantOf(h, next.names)
	if left, full := next.add(variantRef{id, now + int64(ttl)}, now); full {
		dropped = &left
	}
	return next, id, dropped
}

// lasts returns how long the list of variants is needed.
func (r *uriRecord) lasts() time.Duration {
	last := int64(0)
	for _, v := range r.variants {
		last = max(last, v.expires)
	}
	return max(time.Until(time.Unix(0, last)), time.Second)
}

// newGeneration returns a random number that is not 0.
func newGeneration() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.BigEndian.Uint64(b[:]) | 1
}
