package gallop

import (
	"iter"
	"sync"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
)

// Trailers are headers after a chunked body (RFC 9110 §6.5). They are stored in a list of their own and never
// merged with the headers of the head. Their sender wrote them after the body, and proxies check them less
// strictly.

// SetTrailer announces trailers, which are headers that follow a chunked body. The argument is a comma-separated list
// of trailer names, which is sent in the Trailer header. Every header with a listed name is sent as a trailer, after
// the body. You may set the header before or after the call to SetTrailer. If the body is not chunked, headers with
// listed names are not sent at all.
//
// If a name is malformed or must not be a trailer, SetTrailer skips the name and returns ErrBadTrailer. For example,
// headers for framing, routing or authentication must not be trailers (RFC 9110 §6.5.1). If all names are skipped,
// nothing changes.
func (h *header) SetTrailer(trailer string) error { return h.announce(UnsafeBytes(trailer), false) }

// AddTrailer announces trailers in addition to the trailers that are already announced. See [RequestHeader.SetTrailer].
func (h *header) AddTrailer(trailer string) error { return h.announce(UnsafeBytes(trailer), true) }

// AppendTrailer adds a trailer without announcing its name in the Trailer header. Over HTTP/2, trailers need no
// announcement. If the name or the value is malformed, or the header must not be a trailer, AppendTrailer returns
// ErrBadTrailer. See [RequestHeader.SetTrailer].
func (h *header) AppendTrailer(name, value string) error {
	id, n, v := field.Lookup(UnsafeBytes(name)), UnsafeBytes(name), ascii.TrimOWS(UnsafeBytes(value))
	if id == field.Unknown && !isFieldName(n) || message.ForbiddenTrailer(id, n) || ascii.IndexControl(v) != len(v) || !h.room(len(n)+len(v)) {
		return ErrBadTrailer
	}
	if h.flags&namesAsGiven == 0 {
		n = h.usualName(id, n)
	}
	field.Add(&h.trailers, id, n, v)
	return nil
}

func (h *header) announce(names []byte, add bool) error {
	l := &h.head.Fields
	keep := add && h.flags&announced != 0
	all := h.scratch[:0]
	if keep {
		all = append(all, l.PeekID(field.Trailer)...)
	}
	old := len(all)
	all, err := h.appendTrailerNames(all, names)
	h.scratch = all
	if len(all) == old && err != nil || !h.room(len(all)) {
		return ErrBadTrailer
	}
	if !keep {
		h.withdrawTrailers()
	}
	if len(all) > 0 {
		field.Set(l, field.Trailer, "Trailer", all)
		h.flags |= announced
		moveFields(&h.trailers, l, h.announces)
	}
	return err
}

// appendTrailerNames appends the members of list that are allowed as trailers, separated by commas. The error
// is ErrBadTrailer if other members were skipped.
func (h *header) appendTrailerNames(dst, list []byte) (_ []byte, err error) {
	for len(list) > 0 {
		var member []byte
		member, list = ascii.Cut(list, ',')
		if member = ascii.TrimOWS(member); len(member) == 0 {
			continue
		}
		id := field.Lookup(member)
		if !isFieldName(member) || message.ForbiddenTrailer(id, member) {
			err = ErrBadTrailer
			continue
		}
		if len(dst) > 0 {
			dst = append(dst, ", "...)
		}
		switch {
		case h.flags&namesAsGiven != 0:
			dst = append(dst, member...)
		case id != field.Unknown:
			dst = append(dst, id.String()...)
		case isNormalizedHeaderKey(member):
			dst = append(dst, member...)
		default:
			dst = AppendNormalizedHeaderKeyBytes(dst, member)
		}
	}
	return dst, err
}

// announces reports whether Trailer contains this name.
func (h *header) announces(name []byte) bool {
	return anyLineHasToken(&h.head.Fields, field.Trailer, UnsafeString(name))
}

// withdrawTrailers undoes SetTrailer: the announced fields move back to the head. Received trailers with other
// names stay trailers.
func (h *header) withdrawTrailers() {
	if h.flags&announced != 0 {
		moveFields(&h.head.Fields, &h.trailers, h.announces)
		h.flags &^= announced
	}
	field.Del(&h.head.Fields, field.Trailer, "Trailer")
}

// moveFields moves those fields of src whose name is wanted to the end of dst.
func moveFields(dst, src *field.List, wanted func(name []byte) bool) {
	for i := 0; i < src.Len(); {
		name, value := src.At(i)
		id := src.ID(i)
		if message.ForbiddenTrailer(id, name) || !wanted(name) { // most fields of a head are no trailers, and the first half finds that out faster
			i++
			continue
		}
		field.Add(dst, id, name, value)
		src.DelAt(i)
	}
}

// PeekTrailer returns the value of the first trailer with this name, or nil. The case of the name does not matter.
// Received trailers are available after the body has been read to its end.
func (h *header) PeekTrailer(key string) []byte { return peekIn(&h.trailers, UnsafeBytes(key)) }

// TrailerHeader returns the trailers as they are sent: header lines and an empty line. The result is valid until the
// header is changed, or until the next call to TrailerHeader or Header.
func (h *header) TrailerHeader() []byte {
	h.scratch = append(h.trailers.AppendLines(h.scratch[:0], 0), "\r\n"...)
	return h.scratch
}

// PeekTrailerKeys returns the names of the trailers in a slice, in the same order as Trailers. The next call to
// PeekKeys or PeekTrailerKeys reuses the returned slice.
func (h *header) PeekTrailerKeys() [][]byte {
	h.keys = h.keys[:0]
	for name := range h.Trailers() {
		h.keys = append(h.keys, name)
	}
	return h.keys
}

// Trailers returns an iterator over the names of the trailers. The names in the Trailer header come first, followed
// by the names of trailers that were received unannounced. Names have the spelling that All yields. Do not change the
// header in the loop.
func (h *header) Trailers() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) { h.eachTrailerName(yield) }
}

func (h *header) eachTrailerName(yield func([]byte) bool) {
	l := &h.head.Fields
	for i := l.FindID(field.Trailer); i >= 0; i = field.Next(l, i, field.Trailer, "") {
		for list := l.Value(i); len(list) > 0; {
			var member []byte
			member, list = ascii.Cut(list, ',')
			if member = ascii.TrimOWS(member); len(member) > 0 && !yield(h.shown(&h.trailers, field.Lookup(member), member)) {
				return
			}
		}
	}
	for i := range h.trailers.Len() {
		name, _ := h.trailers.At(i)
		if !h.announces(name) && !yield(h.shown(&h.trailers, h.trailers.ID(i), name)) {
			return
		}
	}
}

// AllTrailers returns an iterator over the names and values of the trailers that were received or set. Names have the
// spelling that All yields. Do not change the header in the loop.
func (h *header) AllTrailers() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) { h.eachField(&h.trailers, yield) }
}

// lateTrailers is where the trailers of a body that is still being read go. The stream that reads the body contains it,
// and holds mu while it reads.
type lateTrailers struct {
	mu       sync.Mutex
	trailers *field.List // nil once the message does not want them
}

// drop makes sure that no trailers are stored any more.
func (l *lateTrailers) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trailers = nil
}
