package gallop

import (
	"bytes"
	"fmt"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
)

// This file stores the headers of requests and responses. Related files:
//
//   - header_request.go and header_response.go: methods of only one of the two
//   - header_framing.go: headers that control the connection and the body
//   - header_coding.go: headers that allow, describe or rule out a content coding
//   - header_trailers.go: headers after a chunked body
//   - header_cookies.go: Cookie and Set-Cookie
//   - header_params.go: normalized names, log lines for names that setters refuse, parameters of values
//   - header_iter.go: loops, and the names that they show
//   - header_read.go and header_write.go: parsing and writing
//   - fasthttp_spellings.go: methods that take bytes

// header is the part that RequestHeader and ResponseHeader share: the header lines in order, spelled as they
// were given, and their meaning for the connection.
//
// The text is in head.Fields. Its meaning for framing and the connection is in head.Body, head.Length and
// head.Flags. A parser fills both. Only the setters of this type change them later, and they keep them in sync.
// Nothing else is stored twice: Host, Content-Type and Cookie are ordinary fields that are found by their ID.
type header struct {
	head      message.Head
	trailers  field.List // received after a chunked body, or to be sent there
	flags     headerFlags
	compactAt int // the next change compacts the storage if it has more bytes; 0 means minCompact

	scratch []byte   // result of Header and TrailerHeader, and room to build values
	peeked  [][]byte // result of PeekAll
	keys    [][]byte // result of PeekKeys and PeekTrailerKeys

	names shownNames
}

type headerFlags uint8

const (
	namesAsGiven         headerFlags = 1 << iota // names are not put into the usual spelling when set
	noDefaultContentType                         // add no default Content-Type
	plainFields                                  // DisableSpecialHeader: no field is added or moved
	protocolSet                                  // SetProtocol has set head.Minor
	reasonSet                                    // SetStatusMessage has set head.Reason
	noDefaultDate                                // add no default Date
	announced                                    // Trailer was set by the program; fields that it names go to trailers
)

const (
	minCompact = 16 << 10 // minimum bytes of storage for compacting
	maxStored  = 1 << 30  // maximum bytes of storage, so that offsets fit a field.Span
	keepPeeked = 512      // maximum number of values and names for which Reset keeps room
)

// outgoing contains what the connection knows and decides about the head that it is about to send.
// ContentLength and ConnectionClose of the header are only requests of the program. appendHead follows
// outgoing.
type outgoing struct {
	server             string    // default Server of a response; "" means none
	agent              string    // default User-Agent of a request; "" means none
	date               time.Time // default Date of a response; zero means none
	usual              []byte    // result of appendStart for an empty header, or nil
	length             int64     // length of the body if ≥ 0, otherwise one of the constants below
	close, keepAlive   bool      // add close, or else keep-alive, to the other options in Connection
	defaultContentType bool      // add a Content-Type if none is set, there is a body, and the head does not object
}

// Values of outgoing.length that are not a number of bytes.
const (
	lengthNone       = -1 // there is no body
	lengthChunked    = -2
	lengthUntilClose = -3 // the body ends with the connection
)

func (h *header) reset() {
	h.head.Reset()
	h.trailers.Reset()
	h.flags, h.compactAt = 0, 0
	if cap(h.scratch)|cap(h.peeked)|cap(h.keys)|cap(h.names.text) != 0 { // few headers use any of them
		h.names.reset()
		h.scratch = emptied(h.scratch)
		h.peeked = emptiedViews(h.peeked)
		h.keys = emptiedViews(h.keys)
	}
}

// emptiedViews returns views cleared and with length 0, or nil if its capacity is too large to keep.
func emptiedViews(views [][]byte) [][]byte {
	if cap(views) > keepPeeked {
		return nil
	}
	clear(views[:cap(views)])
	return views[:0]
}

func (h *header) copyTo(dst *header) {
	if h == dst {
		return
	}
	h.head.CopyTo(&dst.head)
	h.trailers.CopyTo(&dst.trailers)
	dst.flags, dst.compactAt = h.flags, h.compactAt
}

// poison overwrites the storage of the header, so that views that were kept too long show. The owner of
// borrowed bytes poisons those.
func (h *header) poison() {
	const dead = 0xDB
	h.head.Fields.Poison(dead)
	h.trailers.Poison(dead)
	scratch := h.scratch[:cap(h.scratch)]
	for i := range scratch {
		scratch[i] = dead
	}
	bufpool.PoisonBytes(h.names.text)
}

// Peek returns the value of the first header with this name, or nil. The case of the name does not matter. Peek also
// finds a trailer that your program has announced with SetTrailer and then set. To find received trailers, use
// PeekTrailer.
func (h *header) Peek(key string) []byte { return h.peek(UnsafeBytes(key)) }

func (h *header) peek(name []byte) []byte {
	if i := field.Find(&h.head.Fields, field.Lookup(name), name); i >= 0 {
		return h.head.Fields.Value(i)
	}
	if h.flags&announced != 0 && h.announces(name) {
		return peekIn(&h.trailers, name)
	}
	return nil
}

// Has reports whether the message has a header with this name. The case of the name does not matter. Unlike Peek, Has does
// not report a Content-Type that only the default would add.
func (h *header) Has(key string) bool {
	return h.peek(UnsafeBytes(key)) != nil
}

func peekIn(l *field.List, name []byte) []byte {
	if i := field.Find(l, field.Lookup(name), name); i >= 0 {
		return l.Value(i)
	}
	return nil
}

// PeekAll returns the values of all headers with this name, in order. The next call to PeekAll reuses the returned
// slice.
func (h *header) PeekAll(key string) [][]byte {
	h.peeked = h.appendPeeked(h.peeked[:0], key)
	return h.peeked
}

// appendPeeked appends to dst what PeekAll returns.
func (h *header) appendPeeked(dst [][]byte, key string) [][]byte {
	name := UnsafeBytes(key)
	id := field.Lookup(name)
	dst = appendAll(dst, &h.head.Fields, id, name)
	if h.flags&announced != 0 && h.announces(name) {
		dst = appendAll(dst, &h.trailers, id, name)
	}
	return dst
}

func appendAll(dst [][]byte, l *field.List, id field.ID, name []byte) [][]byte {
	for i := field.Find(l, id, name); i >= 0; i = field.Next(l, i, id, name) {
		dst = append(dst, l.Value(i))
	}
	return dst
}

// PeekKeys returns the names of all headers in order, in the spelling that All yields. If several header lines have the
// same name, the result contains the name once for each line. The next call to PeekKeys or PeekTrailerKeys reuses the
// returned slice.
func (h *header) PeekKeys() [][]byte {
	h.keys = h.keys[:0]
	for name := range h.All() {
		h.keys = append(h.keys, name)
	}
	return h.keys
}

// Len returns the number of header lines.
func (h *header) Len() int { return h.head.Fields.Len() }

// Add appends a header and keeps existing headers with the same name. A message can have some headers only once: Host,
// Content-Length, Content-Type, Transfer-Encoding, User-Agent, Server and Date. For these headers, Add replaces the
// existing header. In a request, Add appends cookies to the single Cookie header (RFC 6265 §5.4) and skips cookies that
// SetCookie refuses.
func (h *header) Add(key, value string) { h.add(UnsafeBytes(key), UnsafeBytes(value)) }

func (h *header) add(name, value []byte) { h.put(field.Lookup(name), name, value, true) }

// TryAdd does the same as Add, but returns an error that wraps ErrInvalidHeader if the header is refused. TryAdd also
// refuses a value with a control character, whereas Add replaces each control character with a space. After an error,
// the header is unchanged.
func (h *header) TryAdd(key, value string) error { return h.try(key, value, true) }

// try calls put for a field whose value must be stored as given, apart from surrounding whitespace.
func (h *header) try(key, value string, add bool) error {
	name, text := UnsafeBytes(key), ascii.TrimOWS(UnsafeBytes(value))
	id := field.Lookup(name)
	switch {
	case id == field.Unknown && !isFieldName(name):
		return fmt.Errorf("%w: %.*q is not a name (RFC 9110 §5.1)", ErrInvalidHeader, maxRefusedName, key)
	case ascii.IndexControl(text) != len(text):
		return fmt.Errorf("%w: value of %s has a control character (RFC 9110 §5.5)", ErrInvalidHeader, key)
	case !h.put(id, name, text, add):
		return fmt.Errorf("%w: value is not allowed in %s", ErrInvalidHeader, key)
	}
	return nil
}

// Del removes all headers with this name. The case of the name does not matter.
func (h *header) Del(key string) { h.del(UnsafeBytes(key)) }

// put sets a field, or adds it if add is true. It reports whether the field was accepted.
func (h *header) put(id field.ID, name, value []byte, add bool) bool {
	if h.flags&(namesAsGiven|announced) == 0 && !special[id] && h.room(len(name)+len(value)) &&
		h.head.Fields.AddFirst(id, value) {
		return true // which is the case for most fields that handlers set
	}
	clean := isClean(value)
	if !clean { // rarely true
		value = cleanValue(id, value)
		clean = ascii.IndexControl(value) == len(value)
	}
	if !clean || !h.accepts(id, name, len(value)) {
		noteRefused(id, name)
		return false
	}
	if h.flags&namesAsGiven == 0 {
		name = h.usualName(id, name)
	}
	switch id {
	case field.ContentLength, field.TransferEncoding, field.Connection, field.Expect, field.Trailer:
		return h.putSteering(id, name, value, add)
	case field.Cookie:
		if add {
			return h.addCookies(value)
		}
	case field.Host, field.ContentType, field.UserAgent, field.Server, field.Date:
		add = false
	}
	store(h.listFor(name), id, name, value, add)
	return true
}

// special are the names for which put does more than to store a line.
var special = [256]bool{
	field.Unknown: true, field.Cookie: true, field.ContentLength: true, field.TransferEncoding: true,
	field.Connection: true, field.Expect: true, field.Trailer: true,
}

// usualName returns name in its usual spelling, which may be stored in h.scratch.
func (h *header) usualName(id field.ID, name []byte) []byte {
	switch {
	case id != field.Unknown:
		return UnsafeBytes(id.String())
	case isNormalizedHeaderKey(name):
		return name
	}
	h.scratch = AppendNormalizedHeaderKeyBytes(h.scratch[:0], name)
	return h.scratch
}

func store(l *field.List, id field.ID, name, value []byte, add bool) {
	if add {
		field.Add(l, id, name, value)
	} else {
		field.Set(l, id, name, value)
	}
}

// cleanValue trims value and replaces each control character in it with a space (RFC 9110 §5.5). It allocates
// only if there are control characters. In headers that decide about routing, framing or cookies, control
// characters stay, and accepts refuses the value.
func cleanValue(id field.ID, value []byte) []byte {
	value = ascii.TrimOWS(value)
	switch id {
	case field.Host, field.ContentLength, field.TransferEncoding, field.Connection, field.Expect, field.Trailer,
		field.Cookie, field.SetCookie:
		return value
	}
	return ascii.TrimOWS(withoutControls(value))
}

// isClean reports whether value can be sent unchanged in any header.
func isClean(value []byte) bool {
	return len(value) > 0 && value[0] > ' ' && value[len(value)-1] > ' ' && ascii.IndexControl(value) == len(value)
}

// withoutControls returns text with each control character replaced by a space. It allocates only if there are any.
func withoutControls(text []byte) []byte {
	i := ascii.IndexControl(text)
	if i == len(text) {
		return text
	}
	text = bytes.Clone(text)
	for ; i < len(text); i += ascii.IndexControl(text[i:]) {
		text[i] = ' '
	}
	return text
}

// accepts reports whether a field may be stored whose value has this length and no control characters. A field that
// passes is exactly one line on the wire, whatever its name and value are (RFC 9110 §5.1 and §5.5).
func (h *header) accepts(id field.ID, name []byte, valueLen int) bool {
	return (id != field.Unknown || isFieldName(name)) && h.room(len(name)+valueLen)
}

func isFieldName(name []byte) bool {
	return len(name) <= field.MaxNameLen && ascii.IsToken(name)
}

// room reports whether n more bytes can be stored. Storage is only appended to, so that views stay valid. From
// time to time room compacts it, so a header that is changed often without Reset does not grow forever.
func (h *header) room(n int) bool {
	return n >= 0 && h.stored()+n <= minCompact || h.makeRoom(n)
}

// stored returns the number of bytes of storage in use.
func (h *header) stored() int { return h.head.Fields.Size() + h.trailers.Size() }

func (h *header) makeRoom(n int) bool {
	if h.stored()+n > max(h.compactAt, minCompact) {
		h.head.Fields.Compact(&h.head.Method, &h.head.Target, &h.head.Reason, &h.head.Lines)
		h.trailers.Compact()
		h.compactAt = max(4*h.stored(), minCompact)
	}
	return n < maxStored && h.stored() < maxStored-n
}

// listFor returns the list that holds the fields with this name.
func (h *header) listFor(name []byte) *field.List {
	if h.flags&announced != 0 && h.announces(name) {
		return &h.trailers
	}
	return &h.head.Fields
}

// setKnown sets the field with this known id, or removes it if the value is empty. It reports whether the value was
// accepted.
func (h *header) setKnown(id field.ID, value []byte) bool {
	if h.room(len(value)) && h.head.Fields.AddFirst(id, value) {
		return true
	}
	if !isClean(value) { // rarely true
		if value = cleanValue(id, value); ascii.IndexControl(value) != len(value) {
			return false
		}
	}
	if !h.room(len(value)) {
		return false
	}
	switch l := &h.head.Fields; {
	case len(value) == 0:
		field.Del(l, id, id.String())
	case !l.Has(id):
		field.Add(l, id, id.String(), value)
	default:
		field.Set(l, id, id.String(), value)
	}
	return true
}

func (h *header) del(name []byte) {
	id := field.Lookup(name)
	if id == field.Trailer {
		h.withdrawTrailers()
		return
	}
	field.Del(&h.head.Fields, id, name)
	switch id {
	case field.ContentLength, field.TransferEncoding:
		h.noteUnframed(id)
	case field.Connection, field.Expect:
		h.head.NoteFlags()
	}
	if h.flags&announced != 0 && h.announces(name) {
		field.Del(&h.trailers, id, name)
	}
}

// EnableNormalizing undoes DisableNormalizing. The result reports whether normalizing was already enabled.
func (h *header) EnableNormalizing() bool { return h.changeFlag(namesAsGiven, false) }

// DisableNormalizing makes setters keep the spelling of names, and makes iterators yield names as they were set or
// received. The result reports whether normalizing was enabled before the call. Normalizing is enabled by default.
//
// By default, setters change a known name to the spelling in its RFC ("ETag"). Setters change all other names to the
// spelling of AppendNormalizedHeaderKey. Iterators yield every name in the spelling of AppendNormalizedHeaderKey
// ("Etag"). Lookups always ignore case, and received names are always forwarded unchanged.
func (h *header) DisableNormalizing() bool { return h.changeFlag(namesAsGiven, true) }

// changeFlag sets or clears f and reports whether it was clear.
func (h *header) changeFlag(f headerFlags, set bool) (wasClear bool) {
	wasClear = h.flags&f == 0
	if h.flags &^= f; set {
		h.flags |= f
	}
	return wasClear
}

// SetNoDefaultContentType sets whether to omit the default Content-Type. By default, a message that has a body but no
// Content-Type gets the default Content-Type.
func (h *header) SetNoDefaultContentType(noDefault bool) {
	h.changeFlag(noDefaultContentType, noDefault)
}

// ContentEncoding returns the value of Content-Encoding.
func (h *header) ContentEncoding() []byte { return h.head.Fields.PeekID(field.ContentEncoding) }

// SetContentEncoding sets Content-Encoding.
func (h *header) SetContentEncoding(contentEncoding string) {
	h.setKnown(field.ContentEncoding, UnsafeBytes(contentEncoding))
}

// SetContentType sets Content-Type.
func (h *header) SetContentType(contentType string) {
	h.setKnown(field.ContentType, UnsafeBytes(contentType))
}

const versions = "HTTP/1.0HTTP/1.1HTTP/1.2HTTP/1.3HTTP/1.4HTTP/1.5HTTP/1.6HTTP/1.7HTTP/1.8HTTP/1.9HTTP/2.0" // by Head.Minor

var versionBytes = []byte(versions)

// minor returns the minor version that was received or set, or 1.
func (h *header) minor() uint8 {
	if h.flags&protocolSet != 0 || h.head.Received {
		return h.head.Minor
	}
	return 1
}

// sentMinor returns the minor version to send. A received head is forwarded with this program's version, 1.1, instead
// of the one it arrived with (RFC 9112 §2.3).
func (h *header) sentMinor() uint8 {
	if h.flags&protocolSet != 0 {
		return h.head.Minor
	}
	return 1
}

// IsHTTP11 reports whether the version is HTTP/1.1 or later, which includes HTTP/2. Use RequestHeader.ProtoAtLeast to
// compare versions.
func (h *header) IsHTTP11() bool { return h.minor() > 0 }

// Protocol returns the version, for example "HTTP/1.1" or "HTTP/1.0". For a message received over HTTP/2, the result
// is "HTTP/2.0".
func (h *header) Protocol() []byte {
	i := int(h.minor()) * len("HTTP/1.1")
	return versionBytes[i : i+8 : i+8]
}

// setProtocol reports whether protocol is a version that can be sent.
func (h *header) setProtocol(protocol []byte) bool {
	switch string(protocol) {
	case "HTTP/1.0":
		h.head.Minor = 0
	case "HTTP/1.1":
		h.head.Minor = 1
	default:
		return false
	}
	h.flags |= protocolSet
	return true
}

// detach copies the text of the header, which was a view of the buffer of a connection.
func (h *header) detach() { field.Store(&h.head.Fields, "") }
