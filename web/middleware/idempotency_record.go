package middleware

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// key returns the idempotency key of a request, or nil if it has none. The key is a string in quotes (RFC 9651 §3.3.3) or,
// as many clients send it, a bare token.
func (d *idempotency) key(c *web.Ctx) ([]byte, error) {
	lines := c.RequestCtx().Request.Header.PeekAll(d.Header)
	if len(lines) == 0 {
		return nil, nil
	}
	key := lines[0]
	quoted := len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"'
	if quoted {
		key = key[1 : len(key)-1]
	}
	if len(lines) > 1 || len(key) == 0 || len(key) > maxIdempotencyKey || !isKeyText(key) {
		return nil, refusal(gallop.StatusBadRequest, "The header "+d.Header+" is malformed.", errKeyMalformed)
	}
	return key, nil
}

// isKeyText reports whether text is visible ASCII without quotes, backslashes, commas and semicolons.
func isKeyText(text []byte) bool {
	for _, b := range text {
		if !keyBytes[b] {
			return false
		}
	}
	return true
}

// keyBytes has true for the bytes that a key may have.
var keyBytes = func() (table [256]bool) {
	for b := '!'; b <= '~'; b++ {
		table[b] = !strings.ContainsRune("\"\\,;", b)
	}
	return table
}()

// appendKey appends the key in the store to b. Its last part identifies the client, the resource and the key. It is a hash, so the keys
// of clients are not in the store.
func (d *idempotency) appendKey(b []byte, c *web.Ctx, room *idempotencyRoom, key []byte) []byte {
	parts := append(room.parts[:0], idempotencyVersion) // then parts with their length, so that none runs into the next one
	if d.Scope == nil {
		parts = appendText(parts, c.ReqHeaderBytes(gallop.HeaderAuthorization))
	} else {
		parts = appendText(parts, d.Scope(c))
	}
	parts = appendText(appendText(appendText(parts, c.Host()), c.PathBytes()), key)
	room.parts = parts
	sum := sha256.Sum256(parts)
	return base64.RawURLEncoding.AppendEncode(append(append(b, d.Name...), ':'), sum[:])
}

// maxWholeBody is how long a body may be, in bytes, so that it is a part of the hashed text. A longer body is hashed first. Either takes
// the least time.
const maxWholeBody = 64

// The byte before the last part of a fingerprint says what the part is.
const (
	partBody   = 'b'
	partHash   = 'h' // of the body
	partLength = 'l' // of a body that is a stream, as the header says
)

// fingerprint returns a hash of what must not change from a request to its retry.
func (room *idempotencyRoom) fingerprint(c *web.Ctx) [sha256.Size]byte {
	b := appendText(appendText(room.parts[:0], c.Method()), c.OriginalURL())
	b = appendText(b, c.ReqHeaderBytes(gallop.HeaderContentType))
	switch r := &c.RequestCtx().Request; {
	case r.IsBodyStream():
		b = appendText(append(b, partLength), c.ReqHeaderBytes(gallop.HeaderContentLength))
	case len(r.Body()) <= maxWholeBody:
		b = appendText(append(b, partBody), r.Body())
	default:
		sum := sha256.Sum256(r.Body())
		b = appendText(append(b, partHash), sum[:])
	}
	room.parts = b
	return sha256.Sum256(b)
}

// The states of a record.
const (
	stateRunning = iota + 1 // the handler runs
	stateDone               // the record has the response
	stateNotKept            // the handler has finished, but the response was not kept
)

// idempotencyRecord is the value of a key in the store. Its texts are views of the bytes that it was read from.
//
//	version state print[32]  then: owner (running), or status, body and header lines (done); texts with their length
type idempotencyRecord struct {
	state  byte
	print  [sha256.Size]byte
	owner  []byte // no two claims have the same
	status uint64
	body   []byte
	lines  []byte // names and values take turns; texts with their length
}

// idempotencyVersion is the version of keys and records.
const idempotencyVersion = 2

// appendTo appends the record as bytes to b.
func (r idempotencyRecord) appendTo(b []byte) []byte {
	b = slices.Grow(b, 64+len(r.owner)+len(r.body)+len(r.lines))
	b = append(append(b, idempotencyVersion, r.state), r.print[:]...)
	if r.state != stateDone {
		return appendText(b, r.owner)
	}
	return append(appendText(binary.AppendUvarint(b, r.status), r.body), r.lines...)
}

var errRecord = errors.New("middleware: the store has a malformed value for an idempotency key")

// decodeIdempotency reads a record.
func decodeIdempotency(b []byte) (r idempotencyRecord, err error) {
	const head = 2 + sha256.Size
	if len(b) < head || b[0] != idempotencyVersion || b[1] < stateRunning || b[1] > stateNotKept {
		return r, errRecord
	}
	r.state = b[1]
	copy(r.print[:], b[2:])
	b = b[head:]
	if r.state != stateDone {
		if countTexts(b) < 0 {
			return r, errRecord
		}
		return r, nil
	}
	status, n := binary.Uvarint(b)
	if n <= 0 || status < 200 || status > 999 {
		return r, errRecord
	}
	body, lines, ok := cutText(b[n:])
	if texts := countTexts(lines); !ok || texts < 0 || texts%2 != 0 {
		return r, errRecord
	}
	r.status, r.body, r.lines = status, body, lines
	return r, nil
}

// countTexts returns the number of texts that b consists of, or -1 if it is malformed.
func countTexts(b []byte) (n int) {
	for ; len(b) > 0; n++ {
		_, rest, ok := cutText(b)
		if !ok {
			return -1
		}
		b = rest
	}
	return n
}

// headerLines returns the header of the response, for finding out which lines a handler has added.
func headerLines(c *web.Ctx) map[string]bool {
	lines := map[string]bool{}
	for name, value := range c.RequestCtx().Response.Header.All() {
		lines[string(name)+":"+string(value)] = true
	}
	return lines
}

// record returns the response as a record. It leaves out the header lines that were there before the handlers ran.
func (d *idempotency) record(c *web.Ctx, before map[string]bool) idempotencyRecord {
	response := &c.RequestCtx().Response
	if isTaken(c.RequestCtx()) || response.IsBodyStream() || len(response.Body()) > max(d.MaxBody, 0) {
		return idempotencyRecord{state: stateNotKept}
	}
	r := idempotencyRecord{state: stateDone, status: uint64(response.StatusCode()), body: response.Body()}
	for name, value := range response.Header.All() {
		if !before[string(name)+":"+string(value)] && !isNeverReplayed(string(name)) {
			r.lines = appendText(appendText(r.lines, name), value)
		}
	}
	return r
}

// isNeverReplayed reports whether a header belongs to one response only.
func isNeverReplayed(name string) bool {
	switch name {
	case gallop.HeaderConnection, gallop.HeaderContentLength, gallop.HeaderDate, gallop.HeaderServer, gallop.HeaderSetCookie,
		gallop.HeaderTrailer, gallop.HeaderTransferEncoding, gallop.HeaderUpgrade:
		return true
	}
	return false
}

// each calls a function with the name and the value of each line.
func (r *idempotencyRecord) each(line func(name, value []byte)) {
	for rest := r.lines; len(rest) > 0; {
		name, after, _ := cutText(rest)
		value, after, _ := cutText(after)
		line(name, value)
		rest = after
	}
}

// replayed is the header of replayed responses.
var replayed = func() *gallop.ResponseHeader {
	h := &gallop.ResponseHeader{}
	h.Set("Idempotency-Replayed", "true")
	return h
}()

// replay makes the record the response.
func (r *idempotencyRecord) replay(c *web.Ctx) {
	response := &c.RequestCtx().Response
	response.SetStatusCode(int(r.status))
	if response.Header.Len() > 0 {
		r.each(func(name, _ []byte) { response.Header.DelBytes(name) })
	}
	r.each(response.Header.AddBytesKV)
	response.Header.SetAll(replayed)
	response.SetBody(r.body)
}
