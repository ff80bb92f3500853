package hpack

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
)

// First bytes of the representations of a field (RFC 7541 §6). The mask covers the bits of the index.
const (
	indexedPattern, indexedMask = 0x80, 0x7f
	storePattern, storeMask     = 0x40, 0x3f
	plainPattern, plainMask     = 0x00, 0x0f
	neverPattern, neverMask     = 0x10, 0x0f
)

// AppendStatus appends the pseudo-field :status of a response. status must have three digits.
func AppendStatus(e *Encoder, dst []byte, status int) []byte {
	switch status {
	case 200:
		return append(dst, indexedPattern|8)
	case 204:
		return append(dst, indexedPattern|9)
	case 206:
		return append(dst, indexedPattern|10)
	case 304:
		return append(dst, indexedPattern|11)
	case 400:
		return append(dst, indexedPattern|12)
	case 404:
		return append(dst, indexedPattern|13)
	case 500:
		return append(dst, indexedPattern|14)
	}
	digits := [3]byte{byte('0' + status/100%10), byte('0' + status/10%10), byte('0' + status%10)}
	return appendStored(e, dst, field.Unknown, Status, ":status", digits[:])
}

// AppendPseudo appends a pseudo-field of a request. p must be Method, Scheme, Authority, Path or Protocol. The encoder
// stores methods and the authority. It does not store paths, because they differ from request to request.
func AppendPseudo[V ascii.Text](e *Encoder, dst []byte, p Pseudo, value V) []byte {
	first := int(staticByPseudo[p])
	for i := first; i > 0 && statics[i].pseudo == p; i++ {
		if statics[i].value == string(value) && len(value) > 0 {
			return append(dst, indexedPattern|byte(i))
		}
	}
	name := pseudoNames[p]
	if p == Method || p == Authority {
		return appendStored(e, dst, field.Unknown, p, name, value)
	}
	return appendLiteral(dst, plainPattern, plainMask, first, name, value)
}

// AppendContentLength appends a Content-Length. The encoder does not store it.
func AppendContentLength(dst []byte, n uint64) []byte {
	var digits [20]byte
	return appendLiteral(dst, plainPattern, plainMask, int(staticByID[field.ContentLength]), "", ascii.AppendUint(digits[:0], n))
}

// Append appends a regular field. id must be field.Lookup(name). The name is sent in lower case (RFC 9113 §8.2), and the
// value unchanged. Authorization, Proxy-Authorization, Set-Cookie and short cookies are sent as sensitive fields, which
// nobody may store.
func Append[N, V ascii.Text](e *Encoder, dst []byte, id field.ID, name N, value V) []byte {
	if id == field.Unknown {
		return appendUnknown(dst, plainPattern, name, value)
	}
	switch policyOf(id, len(value)) {
	case store:
		return appendStored(e, dst, id, Regular, id.Lower(), value)
	case never:
		return AppendSensitive(dst, id, name, value)
	}
	return appendLiteral(dst, plainPattern, plainMask, int(staticByID[id]), id.Lower(), value)
}

// AppendSensitive appends a regular field that neither the peer nor any proxy behind it may store in a table (RFC 7541
// §7.1.3). id must be field.Lookup(name).
func AppendSensitive[N, V ascii.Text](dst []byte, id field.ID, name N, value V) []byte {
	if id == field.Unknown {
		return appendUnknown(dst, neverPattern, name, value)
	}
	return appendLiteral(dst, neverPattern, neverMask, int(staticByID[id]), id.Lower(), value)
}

// appendStored appends a field that is in the table, or puts it there if it is worth its place.
func appendStored[V ascii.Text](e *Encoder, dst []byte, id field.ID, p Pseudo, name string, value V) []byte {
	index, nameIndex := find(e, id, p, value)
	if index > 0 {
		return appendInt(dst, indexedPattern, indexedMask, index)
	}
	if id == field.AcceptEncoding && string(value) == statics[staticAcceptEncoding].value {
		return append(dst, indexedPattern|staticAcceptEncoding)
	}
	if i := max(staticByID[id], staticByPseudo[p]); i > 0 {
		nameIndex = int(i)
	}
	if !e.worth(len(name), len(value)) {
		return appendLiteral(dst, plainPattern, plainMask, nameIndex, name, value)
	}
	dst = appendInt(dst, storePattern, storeMask, nameIndex)
	if nameIndex == 0 {
		dst = appendString(dst, name, true)
	}
	add(&e.table, name, value, entry{id: id, pseudo: p})
	e.latest[slotOf(id, p)] = uint8(e.table.added)
	return appendString(dst, value, true)
}

// appendLiteral appends a literal field that is not stored: with the index of its name, or the name if nameIndex is 0.
func appendLiteral[V ascii.Text](dst []byte, pattern, mask byte, nameIndex int, name string, value V) []byte {
	dst = appendInt(dst, pattern, mask, nameIndex)
	if nameIndex == 0 {
		dst = appendString(dst, name, false)
	}
	return appendString(dst, value, false)
}

// appendUnknown appends a literal field whose name is not a known one.
func appendUnknown[N, V ascii.Text](dst []byte, pattern byte, name N, value V) []byte {
	dst = appendString(append(dst, pattern), name, false)
	ascii.ToLower(dst[len(dst)-len(name):])
	return appendString(dst, value, false)
}
