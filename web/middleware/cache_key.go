package middleware

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// The keys of a cache.
//
//	scheme, host, target           ──► uriKey: the record of the URI (cache_record.go)
//	uriKey, generation, variant    ──► the record of one variant, if responses of the URI have Vary
//
// The target is the bytes that the client sent. Two spellings of one URI have two keys, so a handler that sees a difference between
// them cannot poison the other spelling.

// uriKey is the hash of a URI.
type uriKey [sha256.Size]byte

// keyOf returns the key of a URI. The target is a path with a query.
func keyOf(scheme, host string, target []byte) uriKey {
	var room [512]byte
	b := append(append(room[:0], scheme...), "://"...)
	b = binary.AppendUvarint(b, uint64(len(host)))
	b = append(append(b, host...), target...)
	return sha256.Sum256(b)
}

// of returns the key of a request. ok is false if the target is not a path, as in "GET http://example.com/".
func (k *uriKey) of(c *web.Ctx) (ok bool) {
	target := c.RequestCtx().RequestURI()
	if len(target) == 0 || target[0] != '/' {
		return false
	}
	*k = keyOf(c.Scheme(), c.Host(), target)
	return true
}

// variantID identifies the variant of a URI that a request selects.
type variantID [16]byte

// variantOf returns the variant that a request selects by the headers with these names (RFC 9111 §4.1).
func variantOf(h *gallop.RequestHeader, names []string) (id variantID) {
	var room [512]byte
	b := room[:0]
	for _, name := range names {
		lines := h.PeekAll(name)
		b = binary.AppendUvarint(b, uint64(len(lines)))
		if len(lines) == 0 {
			continue
		}
		from := len(b) + 8
		b = appendNormal(append(b, make([]byte, 8)...), name, lines)
		binary.BigEndian.PutUint64(b[from-8:], uint64(len(b)-from))
	}
	sum := sha256.Sum256(b)
	copy(id[:], sum[:])
	return id
}

// appendNormal appends the value of a header in a form that is the same for values with the same meaning. It removes spaces, and ignores
// case where that has no meaning. The number of lines and the order of a list stay different, because a handler may see the difference.
func appendNormal(b []byte, name string, lines [][]byte) []byte {
	lower := foldsCase(name)
	list := lower || strings.HasPrefix(name, "Accept")
	for i, line := range lines {
		if i > 0 {
			b = append(b, ',')
		}
		line = bytes.Trim(line, " \t")
		if !list {
			b = append(b, line...)
			continue
		}
		b = appendNormalList(b, line, lower)
	}
	return b
}

// foldsCase reports whether the case of a header has no meaning (RFC 9110 §8.4.1, §8.3.2, §8.5.1).
func foldsCase(name string) bool {
	return name == gallop.HeaderAcceptEncoding || name == gallop.HeaderAcceptLanguage || name == gallop.HeaderAcceptCharset
}

func appendNormalList(b, line []byte, lower bool) []byte {
	quoted := false
	for i := 0; i < len(line); i++ {
		x := line[i]
		switch {
		case quoted && x == '\\' && i+1 < len(line):
			b = append(b, x)
			i++
			x = line[i]
		case x == '"':
			quoted = !quoted
		case !quoted && (x == ' ' || x == '\t'):
			continue
		case lower && x-'A' < 26:
			x |= 0x20
		}
		b = append(b, x)
	}
	return b
}

// The names of keys in the store.
const (
	keyURI     = ":u:"
	keyVariant = ":v:"
	keyLease   = ":l:"
)

// storeKey returns the key of a URI in the store.
func (d *cache) storeKey(of uriKey) string { return d.key(keyURI, of[:]) }

// variantKey returns the key of a variant in the store.
func (d *cache) variantKey(of uriKey, generation uint64, id variantID) string {
	return d.key(keyVariant, flightKey(of, generation, id))
}

// leaseKey returns the key of a lease in the store.
func (d *cache) leaseKey(flight string) string { return d.key(keyLease, []byte(flight)) }

// key returns the name of the cache and a hash as text.
func (d *cache) key(kind string, parts []byte) string {
	sum := parts
	if len(parts) != sha256.Size {
		hash := sha256.Sum256(parts)
		sum = hash[:]
	}
	var room [256]byte
	b := append(append(room[:0], d.Name...), kind...)
	return string(base64.RawURLEncoding.AppendEncode(b, sum))
}

// flightKey returns what identifies a response that is being made: its URI, the generation or epoch of the record, and its variant.
func flightKey(of uriKey, number uint64, id variantID) []byte {
	b := make([]byte, 0, len(of)+8+len(id))
	b = binary.BigEndian.AppendUint64(append(b, of[:]...), number)
	return append(b, id[:]...)
}
