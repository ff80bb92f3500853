package middleware

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// The Store has these keys and values for a Session:
//
//	session:NAME:HASH     a session, or where a session has moved to; HASH is the SHA-256 of the ID
//	session:NAME@HASH     the epoch of a user; HASH is the SHA-256 of the user's name
//
// A session is valid only if its epoch equals the epoch of its user. EndAll deletes the epoch of the user. If a Store drops an
// epoch, the sessions of the user end. It never happens that an ended session becomes valid again.
//
// A session begins with its version and its kind, two bytes, so that later versions can change the format:
//
//	1 's' created(8) rotated(8) seen(8) length-of-user(1) user epoch(16, if there is a user) payload
//	1 'm' new ID, XORed with a hash of the old ID
//	1 'r' new ID, XORed in the same manner; the old ID is only good for ending the session
//
// Times are Unix times in milliseconds. The new ID can only be read by a client that has the old ID.

const (
	recordVersion = 1
	kindSession   = 's'
	kindMoved     = 'm'
	kindReplaced  = 'r'

	recordHead = 2 + 3*8 + 1
	epochSize  = 16
	idLength   = 26  // of rand.Text
	maxUser    = 200 // bytes
)

// sessionRecord is a session as the Store has it. Times are Unix times in milliseconds.
type sessionRecord struct {
	created, rotated, seen int64
	user                   string
	epoch                  [epochSize]byte // if there is a user
	payload                []byte
}

// append appends the record to b.
func (r *sessionRecord) append(b []byte) []byte {
	b = append(b, recordVersion, kindSession)
	for _, t := range [...]int64{r.created, r.rotated, r.seen} {
		b = binary.BigEndian.AppendUint64(b, uint64(t))
	}
	b = append(b, byte(len(r.user)))
	b = append(b, r.user...)
	if r.user != "" {
		b = append(b, r.epoch[:]...)
	}
	return append(b, r.payload...)
}

// parseRecord reads what append wrote. The payload is a part of b.
func parseRecord(b []byte) (r sessionRecord, ok bool) {
	if len(b) < recordHead || b[0] != recordVersion || b[1] != kindSession {
		return r, false
	}
	for i, t := range [...]*int64{&r.created, &r.rotated, &r.seen} {
		*t = int64(binary.BigEndian.Uint64(b[2+8*i:]))
	}
	n := int(b[recordHead-1])
	if b = b[recordHead:]; n == 0 {
		r.payload = b
		return r, true
	}
	if len(b) < n+epochSize {
		return r, false
	}
	r.user = string(b[:n])
	copy(r.epoch[:], b[n:])
	r.payload = b[n+epochSize:]
	return r, true
}

// moved returns the record that leads from an old ID to a new one. The kind is kindMoved or kindReplaced.
func moved(kind byte, from, to string) []byte {
	b := append([]byte{recordVersion, kind}, to...)
	mask := moveMask(from)
	for i := range to {
		b[2+i] ^= mask[i]
	}
	return b
}

// parseMoved returns the new ID and the kind of the record, if b leads to another ID.
func parseMoved(b []byte, from string) (to string, kind byte, ok bool) {
	if len(b) != 2+idLength || b[0] != recordVersion || b[1] != kindMoved && b[1] != kindReplaced {
		return "", 0, false
	}
	mask := moveMask(from)
	id := make([]byte, idLength)
	for i := range id {
		id[i] = b[2+i] ^ mask[i]
	}
	return string(id), b[1], isSessionID(id)
}

func moveMask(id string) [sha256.Size]byte {
	return sha256.Sum256(append([]byte("gallop session moved\x00"), id...))
}

// newSessionID returns an ID with 130 random bits.
func newSessionID() string { return rand.Text() }

// isSessionID reports whether an ID has the form of those that newSessionID returns.
func isSessionID(id []byte) bool {
	if len(id) != idLength {
		return false
	}
	for _, b := range id {
		if b-'A' >= 26 && b-'2' >= 6 {
			return false
		}
	}
	return true
}

// keyOf returns the key of a session.
func (s *sessionCore) keyOf(id string) string { return s.hashed(':', id) }

// epochOf returns the key of a user's epoch.
func (s *sessionCore) epochOf(user string) string { return s.hashed('@', user) }

// hashed returns a key that shows neither IDs nor users.
func (s *sessionCore) hashed(kind byte, secret string) string {
	var room [128]byte
	var in [256]byte
	sum := sha256.Sum256(append(in[:0], secret...))
	b := append(room[:0], "session:"...)
	b = append(append(b, s.cookie...), kind)
	return string(base64.RawURLEncoding.AppendEncode(b, sum[:]))
}

// nowMillis returns the time as records have it.
func nowMillis() int64 { return time.Now().UnixMilli() }
