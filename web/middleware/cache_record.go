package middleware

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	"github.com/gallop-http/gallop"
)

// The values of a cache in its store.
//
//	every record   version kind epoch[8], then
//	response       meta[41] status[2] count[2], lines (mode name value), body
//	variants       generation[8] count, names, count, variants (id[16] expires[8])
//	gone           nothing
//
// The record of a URI is a response, or the list of its variants. The responses of variants have records of their own. Counts and the
// lengths of texts are varints. The epoch is the last invalidation of the URI. A response that a handler began to make in another epoch
// is not stored.
const (
	cacheVersion    = 1
	kindResponse    = 1
	kindVariants    = 2
	kindGone        = 3
	cacheRecordHead = 10
	cacheMetaSize   = 41
)

// How a line is put into the header of a response.
const (
	lineSet = iota // it replaces lines that outer middleware has set
	lineAdd        // it is added to them
)

// storedResponse is a response in the store. Its slices point into the record.
type storedResponse struct {
	meta   cacheMeta
	status int
	lines  []byte
	body   []byte
}

// uriRecord is the record of a URI.
type uriRecord struct {
	raw        []byte // nil if the store has none
	kind       byte   // 0 if the store has none
	epoch      uint64
	response   storedResponse // kindResponse
	generation uint64         // kindVariants
	names      []string       // kindVariants: the headers that select a variant
	variants   []variantRef   // kindVariants
}

// variantRef is an entry in the list of variants.
type variantRef struct {
	id      variantID
	expires int64 // nanoseconds since 1970
}

// appendRecordHead appends the start of a record.
func appendRecordHead(b []byte, kind byte, epoch uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, cacheVersion, kind), epoch)
}

// appendMeta appends what decides about the use of a response, and its status.
func appendMeta(b []byte, m *cacheMeta, status int) []byte {
	for _, n := range [...]int64{m.stored, int64(m.initialAge), int64(m.lifetime), int64(m.revalidate), int64(m.ifError)} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	flags := byte(0)
	for i, flag := range [...]bool{m.noCache, m.mustBeFresh, m.validators, m.guessed} {
		if flag {
			flags |= 1 << i
		}
	}
	return binary.BigEndian.AppendUint16(append(b, flags), uint16(status))
}

func readMeta(b []byte) (m cacheMeta) {
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[i*8:])) }
	flags := b[40]
	return cacheMeta{
		stored: at(0), initialAge: time.Duration(at(1)), lifetime: time.Duration(at(2)), revalidate: time.Duration(at(3)),
		ifError: time.Duration(at(4)), noCache: flags&1 != 0, mustBeFresh: flags&2 != 0, validators: flags&4 != 0, guessed: flags&8 != 0,
	}
}

// appendText appends a text after its length.
func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// cutText reads bytes after their length.
func cutText(b []byte) (text, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	end := n + int(size)
	return b[n:end:end], b[end:], true
}

// readURI reads the record of a URI. A malformed record counts as missing, and will be replaced. The epoch is that of a malformed record.
func readURI(raw []byte, epoch uint64) uriRecord {
	if r, ok := decodeURI(raw); ok {
		return r
	}
	return uriRecord{raw: raw, epoch: epoch}
}

func decodeURI(raw []byte) (r uriRecord, ok bool) {
	if len(raw) < cacheRecordHead || raw[0] != cacheVersion {
		return r, false
	}
	r.raw, r.kind, r.epoch = raw, raw[1], binary.BigEndian.Uint64(raw[2:])
	switch r.kind {
	case kindResponse:
		r.response, ok = decodeResponse(raw)
	case kindVariants:
		ok = r.decodeVariants(raw[cacheRecordHead:])
	case kindGone:
		ok = true
	}
	return r, ok
}

// decodeResponse reads a response. It checks the lines, but does not read them.
func decodeResponse(raw []byte) (r storedResponse, ok bool) {
	if len(raw) < cacheRecordHead+cacheMetaSize+4 || raw[0] != cacheVersion || raw[1] != kindResponse {
		return r, false
	}
	b := raw[cacheRecordHead:]
	r.meta, r.status = readMeta(b), int(binary.BigEndian.Uint16(b[cacheMetaSize:]))
	if r.status < 200 || r.status > 599 {
		return r, false
	}
	r.lines = b[cacheMetaSize+4:]
	rest := r.lines
	for range binary.BigEndian.Uint16(b[cacheMetaSize+2:]) {
		if _, _, _, rest, ok = cutLine(rest); !ok {
			return r, false
		}
	}
	r.lines, r.body = r.lines[:len(r.lines)-len(rest)], rest[:len(rest):len(rest)]
	return r, true
}

// cutLine reads a line of the header.
func cutLine(b []byte) (mode byte, name, value, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, nil, nil, false
	}
	if name, rest, ok = cutText(b[1:]); ok {
		value, rest, ok = cutText(rest)
	}
	return b[0], name, value, rest, ok
}

// get returns the first value of a header, or nil.
func (r *storedResponse) get(header string) []byte {
	for rest := r.lines; len(rest) > 0; {
		var name, value []byte
		if _, name, value, rest, _ = cutLine(rest); string(name) == header {
			return value
		}
	}
	return nil
}

// encodeVariants returns the record of a list of variants.
func (r *uriRecord) encodeVariants() []byte {
	b := appendRecordHead(nil, kindVariants, r.epoch)
	b = binary.BigEndian.AppendUint64(b, r.generation)
	b = binary.AppendUvarint(b, uint64(len(r.names)))
	for _, name := range r.names {
		b = appendText(b, []byte(name))
	}
	b = binary.AppendUvarint(b, uint64(len(r.variants)))
	for _, v := range r.variants {
		b = binary.BigEndian.AppendUint64(append(b, v.id[:]...), uint64(v.expires))
	}
	return b
}

func (r *uriRecord) decodeVariants(b []byte) (ok bool) {
	if len(b) < 8 {
		return false
	}
	r.generation, b = binary.BigEndian.Uint64(b), b[8:]
	count, n := binary.Uvarint(b)
	if n <= 0 || count > maxVaryNames {
		return false
	}
	b = b[n:]
	r.names = make([]string, count)
	for i := range r.names {
		name, rest, ok := cutText(b)
		if !ok {
			return false
		}
		r.names[i], b = nameText(name), rest
	}
	count, n = binary.Uvarint(b)
	const size = len(variantID{}) + 8
	if n <= 0 || count > maxVariants || len(b)-n != int(count)*size {
		return false
	}
	r.variants = make([]variantRef, count)
	for i := range r.variants {
		at := b[n+i*size:]
		copy(r.variants[i].id[:], at)
		r.variants[i].expires = int64(binary.BigEndian.Uint64(at[len(variantID{}):]))
	}
	return true
}

// nameText returns a name as a string, without allocating for the usual ones.
func nameText(name []byte) string {
	for _, usual := range [...]string{gallop.HeaderAcceptEncoding, gallop.HeaderAcceptLanguage, gallop.HeaderAccept, gallop.HeaderOrigin, gallop.HeaderCookie} {
		if string(name) == usual {
			return usual
		}
	}
	return string(name)
}

// add adds a variant to the list. If the list is full, the variant that expires first leaves it, and add returns its ID.
func (r *uriRecord) add(v variantRef, now int64) (left variantID, full bool) {
	r.variants = slices.DeleteFunc(slices.Clone(r.variants), func(old variantRef) bool { return old.id == v.id || old.expires <= now })
	if len(r.variants) >= maxVariants {
		first := 0
		for i := range r.variants {
			if r.variants[i].expires < r.variants[first].expires {
				first = i
			}
		}
		left, full = r.variants[first].id, true
		r.variants = slices.Delete(r.variants, first, first+1)
	}
	r.variants = append(r.variants, v)
	return left, full
}

// hasNames reports whether the list of variants is for these names, and perhaps for more names.
func (r *uriRecord) hasNames(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(r.names, name) })
}

// varyNames returns the names in Vary, in the spelling of Header.All, sorted. ok is false if Vary has "*" or too many names.
func varyNames(lines [][]byte, more []string) (names []string, ok bool) {
	names = slices.Clone(more)
	for _, line := range lines {
		for name := range bytes.SplitSeq(line, []byte(",")) {
			if name = bytes.Trim(name, " \t"); len(name) == 0 {
				continue
			}
			if string(name) == "*" {
				return nil, false
			}
			names = append(names, string(gallop.AppendNormalizedHeaderKeyBytes(nil, name)))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names, len(names) <= maxVaryNames
}
