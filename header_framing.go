package gallop

import (
	"math"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
)

// Fields that control the connection are stored as text and as their meaning. Code that changes the text must
// change the meaning in the same step, here. When a head is written, the text of Content-Length and
// Transfer-Encoding is not used. Both are written anew from what is really sent.

// putSteering sets or adds a field that controls the connection. The value has no control characters.
func (h *header) putSteering(id field.ID, name, value []byte, add bool) bool {
	switch id {
	case field.ContentLength:
		n, ok := ascii.ParseUint(value)
		if ok {
			h.frame(message.Fixed, int64(n))
		}
		return ok
	case field.TransferEncoding:
		if !ascii.EqualFold(value, "chunked") {
			return false
		}
		h.frame(message.Chunked, -1)
	case field.Trailer:
		return h.announce(value, add) == nil
	default: // Connection, Expect
		if id == field.Connection && !isTokenList(value) {
			return false
		}
		store(&h.head.Fields, id, name, value, add)
		h.head.NoteFlags()
	}
	return true
}

// isTokenList reports whether list is a comma-separated list of tokens. Empty members are allowed (RFC 9110 §5.6.1).
func isTokenList(list []byte) bool {
	for len(list) > 0 {
		var member []byte
		member, list = ascii.Cut(list, ',')
		if member = ascii.TrimOWS(member); len(member) > 0 && !ascii.IsToken(member) {
			return false
		}
	}
	return true
}

// frame sets where the body ends, both as text and in head. n is the length of a Fixed body, and -1 for the other
// kinds.
func (h *header) frame(kind message.BodyKind, n int64) {
	l := &h.head.Fields
	if !h.room(len("Transfer-Encoding: chunked")) {
		return
	}
	if kind != message.Fixed {
		field.Del(l, field.ContentLength, "Content-Length")
	}
	if kind != message.Chunked {
		field.Del(l, field.TransferEncoding, "Transfer-Encoding")
	}
	switch kind {
	case message.Fixed:
		var digits [20]byte
		field.Set(l, field.ContentLength, "Content-Length", ascii.AppendUint(digits[:0], uint64(n)))
	case message.Chunked:
		field.Set(l, field.TransferEncoding, "Transfer-Encoding", "chunked")
	}
	h.head.Body, h.head.Length = kind, n
}

// noteUnframed updates head after Content-Length or Transfer-Encoding was removed.
func (h *header) noteUnframed(id field.ID) {
	if id == field.ContentLength {
		h.head.Length = -1
	}
	if id == field.ContentLength && h.head.Body == message.Fixed ||
		id == field.TransferEncoding && h.head.Body == message.Chunked {
		h.head.Body = message.NoBody
	}
}

// hasLength reports whether the head gives the length of the body, or of the body that it would have in a response to
// HEAD or a 304.
func (h *header) hasLength() bool {
	return h.head.Body == message.Fixed || h.head.Length > 0 || h.head.Fields.Has(field.ContentLength) ||
		h.head.Body == message.UntilClose && h.head.Length == 0
}

// Special values for the length of a body. The ContentLength methods can return these values, and the SetContentLength
// methods accept these values.
const (
	// LengthUnknown means that the body's length is not known in advance. Over HTTP/1.1, a body of unknown length is
	// chunked. Over HTTP/2, a body of unknown length ends when its stream ends.
	LengthUnknown = -1

	// LengthUntilClose is the length of a body that ends when the connection is closed (RFC 9112 §6.3). Over HTTP/2,
	// LengthUntilClose has the same meaning as LengthUnknown.
	LengthUntilClose = -2
)

// ContentLength returns the number of bytes of the body. For a chunked body, the result is LengthUnknown.
//
// If a received message has neither Content-Length nor Transfer-Encoding, the result is LengthUntilClose. For a
// received request, LengthUntilClose means that there is no body. For a new message without Content-Length and
// Transfer-Encoding, the result is 0.
func (h *header) ContentLength() int {
	switch {
	case h.head.Body == message.Chunked:
		return -1
	case h.hasLength():
		return int(min(h.head.Length, math.MaxInt))
	case h.head.Body == message.UntilClose || h.head.Received:
		return -2
	}
	return 0
}

// sentLength returns the length that the header asks to be sent.
func (h *header) sentLength() int64 {
	switch {
	case h.head.Body == message.Chunked:
		return lengthChunked
	case h.hasLength():
		return h.head.Length
	}
	return lengthNone
}

// ConnectionClose reports whether the connection is closed after this message (RFC 9112 §9.3). The result is true if
// the Connection header contains close, or if the message is HTTP/1.0 without keep-alive. The result is also true if
// the body ends only when the connection is closed. For a message that was received over HTTP/2, the result is false.
func (h *header) ConnectionClose() bool { return h.saysClose(false) }

// saysClose returns ConnectionClose, or, if keepAlive is set, what it would be with keep-alive added to Connection.
func (h *header) saysClose(keepAlive bool) bool {
	flags := h.head.Flags
	return flags&message.ConnectionClose != 0 || h.head.Body == message.UntilClose ||
		h.minor() == 0 && flags&message.ConnectionKeepAlive == 0 && !keepAlive
}

// hasToSayClose reports whether Connection has to say close for the connection to end with this message. In HTTP/1.0
// that is the default.
func (h *header) hasToSayClose() bool {
	return h.sentMinor() > 0 || h.head.Flags&message.ConnectionClose != 0
}

// ConnectionUpgrade reports whether the Connection header contains upgrade (RFC 9110 §7.8). In HTTP/1.0, the Connection
// header must also contain keep-alive.
func (h *header) ConnectionUpgrade() bool {
	flags := h.head.Flags
	return flags&message.ConnectionUpgrade != 0 && (h.minor() > 0 || flags&message.ConnectionKeepAlive != 0)
}

// SetConnectionClose adds close to the Connection header. SetConnectionClose removes keep-alive from the Connection
// header and keeps all other options.
//
// Over HTTP/2, a server sends GOAWAY and closes the connection once the response is sent. Connection, Keep-Alive,
// Upgrade and Transfer-Encoding headers are never sent over HTTP/2 (RFC 9113 §8.2.2).
func (h *header) SetConnectionClose() { h.setConnection("close") }

// ResetConnectionClose removes close from the Connection header.
func (h *header) ResetConnectionClose() {
	if !h.ConnectionClose() {
		return
	}
	if h.minor() == 0 {
		h.setConnection("keep-alive")
	} else {
		h.setConnection("")
	}
}

// setConnection replaces close and keep-alive in Connection with option, which may be empty.
func (h *header) setConnection(option string) {
	h.scratch = h.appendOptions(h.scratch[:0], option)
	if l := &h.head.Fields; len(h.scratch) == 0 {
		field.Del(l, field.Connection, "Connection")
	} else if h.room(len(h.scratch)) {
		field.Set(l, field.Connection, "Connection", h.scratch)
	}
	h.head.NoteFlags()
}

// appendOptions appends option, unless it is empty, and the members of all Connection headers except close and
// keep-alive, separated by commas. It drops an upgrade option from HTTP/1.0 that has no effect there, because it
// would take effect in the HTTP/1.1 that we send.
func (h *header) appendOptions(dst []byte, option string) []byte {
	start := len(dst)
	dst = append(dst, option...)
	upgrade := h.ConnectionUpgrade()
	l := &h.head.Fields
	for i := l.FindID(field.Connection); i >= 0; i = field.Next(l, i, field.Connection, "") {
		for list := l.Value(i); len(list) > 0; {
			var member []byte
			member, list = ascii.Cut(list, ',')
			member = ascii.TrimOWS(member)
			if len(member) == 0 || ascii.EqualFold(member, "close") || ascii.EqualFold(member, "keep-alive") ||
				!upgrade && ascii.EqualFold(member, "upgrade") {
				continue
			}
			if len(dst) > start {
				dst = append(dst, ", "...)
			}
			dst = append(dst, member...)
		}
	}
	return dst
}
