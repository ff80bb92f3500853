package middleware

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// key returns the idempotency key of a request, or an empty string if it has none. The key is a string in quotes (RFC 9651 §3.3.3) or,
// as many clients send it, a bare token.
func (d *idempotency) key(c *web.Ctx) (string, error) {
	lines := c.RequestCtx().Request.Header.PeekAll(d.Header)
	if len(lines) == 0 {
		return "", nil
	}
	key := string(lines[0])
	quoted := len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"'
	if quoted {
		key = key[1 : len(key)-1]
	}
	if len(lines) > 1 || key == "" || len(key) > maxIdempotencyKey || !isKeyText(key) {
		return "", refusal(gallop.StatusBadRequest, "The header "+d.Header+" is malformed.", errKeyMalformed)
	}
	return key, nil
}

// isKeyText reports whether text is visible ASCII without quotes, backslashes, commas and semicolons.
func isKeyText(text string) bool {
	for i := range len(text) {
		switch b := text[i]; {
		case b <= ' ', b > '~', b == '"', b == '\\', b == ',', b == ';':
			return false
		}
	}
	return true
}

// hashOf returns the hash of texts, of which none runs into the next one.
func hashOf(texts ...string) (sum [sha256.Size]byte) {
	var room [512]byte
	b := room[:0]
	for _, text := range texts {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(text))), text...)
	}
	return sha256.Sum256(b)
}

// keyHash returns the key in the store. Its last part identifies the client, the resource and the key. It is a hash, so the keys of
// clients are not in the store.
func (d *idempotency) keyHash(c *web.Ctx, key string) string {
	sum := hashOf(d.Scope(c), c.Host(), c.Path(), key)
	var room [128]byte
	b := append(append(room[:0], d.Name...), ':')
	return string(base64.RawURLEncoding.AppendEncode(b, sum[:]))
}

// fingerprint returns a hash of what must not change from a request to its retry.
func fingerprint(c *web.Ctx) [sha256.Size]byte {
	r := &c.RequestCtx().Request
	body := ""
	if r.IsBodyStream() {
		body = "length " + c.ReqHeader(gallop.HeaderContentLength)
	} else {
		sum := sha256.Sum256(r.Body())
		body = string(sum[:])
	}
	return hashOf(c.Method(), c.OriginalURL(), c.ReqHeader(gallop.HeaderContentType), body)
}

// The states of a record.
const (
	stateRunning = iota + 1 // the handler runs
	stateDone               // the record has the response
	stateNotKept            // the handler has finished, but the response was not kept
)

// idempotencyRecord is the value of a key in the store.
//
//	version state print[32]  then: owner (running), or status, body and header lines (done); texts with their length
type idempotencyRecord struct {
	state  byte
	print  [sha256.Size]byte
	owner  string // no two claims have the same
	status uint64
	body   string
	lines  []string // names and values take turns
}

const idempotencyVersion = 1

// encode returns the record as bytes.
func (r idempotencyRecord) encode() []byte {
	size := 64 + len(r.owner) + len(r.body)
	for _, line := range r.lines {
		size += len(line) + binary.MaxVarintLen32
	}
	b := make([]byte, 0, size)
	b = append(append(b, idempotencyVersion, r.state), r.print[:]...)
	if r.state != stateDone {
		return appendText(b, r.owner)
	}
	b = appendText(binary.AppendUvarint(b, r.status), r.body)
	for _, line := range r.lines {
		b = appendText(b, line)
	}
	return b
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
	if r.state == stateDone {
		status, n := binary.Uvarint(b)
		if n <= 0 || status < 200 || status > 999 {
			return r, errRecord
		}
		r.status, b = status, b[n:]
	}
	texts, all := make([]string, 0, 16), string(b)
	for len(b) > 0 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return r, errRecord
		}
		start := len(all) - len(b) + n
		texts, b = append(texts, all[start:start+int(size)]), b[n+int(size):]
	}
	if r.state != stateDone {
		return r, nil
	}
	if len(texts)%2 == 0 {
		return r, errRecord
	}
	r.body, r.lines = texts[0], texts[1:]
	return r, nil
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
	r := idempotencyRecord{state: stateDone, status: uint64(response.StatusCode()), body: string(response.Body())}
	for name, value := range response.Header.All() {
		if !before[string(name)+":"+string(value)] && !isNeverReplayed(string(name)) {
			r.lines = append(r.lines, string(name), string(value))
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

// replay makes the record the response.
func (r *idempotencyRecord) replay(c *web.Ctx) {
	response := &c.RequestCtx().Response
	response.SetStatusCode(int(r.status))
	for i := 0; i < len(r.lines); i += 2 {
		response.Header.Del(r.lines[i])
	}
	for i := 0; i < len(r.lines); i += 2 {
		response.Header.Add(r.lines[i], r.lines[i+1])
	}
	response.Header.Set("Idempotency-Replayed", "true")
	response.SetBodyString(r.body)
}
