package gallop

import (
	"math"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/http1"
)

// The fields that steer a connection are text and meaning at once. Whoever changes
// the text changes the meaning here, in the same step; on the way out the text of
// Content-Length and Transfer-Encoding is left out and made anew from what is
// really sent.

// putSteering sets, or adds, a field that steers the connection. The value is free
// of control characters.
func (h *header) putSteering(id field.ID, name, value []byte, add bool) bool {
	switch id {
	case field.ContentLength:
		n, ok := ascii.ParseUint(value)
		if ok {
			h.frame(http1.Fixed, int64(n))
		}
		return ok
	case field.TransferEncoding:
		if !ascii.EqualFold(value, "chunked") {
			return false
		}
		h.frame(http1.Chunked, -1)
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

// isTokenList reports whether list is a comma-separated list of tokens, in which
// empty members are allowed (RFC 9110 §5.6.1).
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

// frame says where the body ends, in text and meaning. n is the length of a Fixed
// one, and else -1.
func (h *header) frame(kind http1.BodyKind, n int64) {
	l := &h.head.Fields
	if !h.room(len("Transfer-Encoding: chunked")) {
		return
	}
	if kind != http1.Fixed {
		field.Del(l, field.ContentLength, "Content-Length")
	}
	if kind != http1.Chunked {
		field.Del(l, field.TransferEncoding, "Transfer-Encoding")
	}
	switch kind {
	case http1.Fixed:
		var digits [20]byte
		field.Set(l, field.ContentLength, "Content-Length", ascii.AppendUint(digits[:0], uint64(n)))
	case http1.Chunked:
		field.Set(l, field.TransferEncoding, "Transfer-Encoding", "chunked")
	}
	h.head.Body, h.head.Length = kind, n
}

// noteUnframed follows the removal of Content-Length or Transfer-Encoding.
func (h *header) noteUnframed(id field.ID) {
	if id == field.ContentLength {
		h.head.Length = -1
	}
	if id == field.ContentLength && h.head.Body == http1.Fixed ||
		id == field.TransferEncoding && h.head.Body == http1.Chunked {
		h.head.Body = http1.NoBody
	}
}

// hasLength reports whether the head says how many bytes a body has, or, in an
// answer to HEAD or a 304, would have.
func (h *header) hasLength() bool {
	return h.head.Body == http1.Fixed || h.head.Length > 0 || h.head.Fields.Has(field.ContentLength) ||
		h.head.Body == http1.UntilClose && h.head.Length == 0
}

// Lengths of a body that are not a number of bytes. ContentLength returns them and SetContentLength takes them.
const (
	// LengthUnknown is the length of a body that ends by itself: in chunks over HTTP/1.1, and with the stream over HTTP/2.
	LengthUnknown = -1

	// LengthUntilClose is the length of a body that ends with the connection, which is closed behind it (RFC 9112 §6.3). Over HTTP/2 it
	// means LengthUnknown.
	LengthUntilClose = -2
)

// ContentLength returns the number of bytes of the body. It is LengthUnknown for a chunked
// one. It is LengthUntilClose for a received message without Content-Length and
// Transfer-Encoding, which has no body, or, being a response, one that ends with
// the connection and has not been read; in a header that was not received that is 0.
func (h *header) ContentLength() int {
	switch {
	case h.head.Body == http1.Chunked:
		return -1
	case h.hasLength():
		return int(min(h.head.Length, math.MaxInt))
	case h.head.Body == http1.UntilClose || h.head.Parsed():
		return -2
	}
	return 0
}

// sentLength is the length that the header itself asks to be sent.
func (h *header) sentLength() int64 {
	switch {
	case h.head.Body == http1.Chunked:
		return lengthChunked
	case h.hasLength():
		return h.head.Length
	}
	return lengthNone
}

// ConnectionClose reports whether the connection ends with this message: its
// Connection fields say close, or it is of HTTP/1.0 and they do not say keep-alive,
// or its body ends with the connection (RFC 9112 §9.3). It is false for a message that came over HTTP/2.
func (h *header) ConnectionClose() bool { return h.saysClose(false) }

// saysClose is ConnectionClose, or if keepAlive is set, that of the message with keep-alive added to Connection.
func (h *header) saysClose(keepAlive bool) bool {
	flags := h.head.Flags
	return flags&http1.ConnectionClose != 0 || h.head.Body == http1.UntilClose ||
		h.minor() == 0 && flags&http1.ConnectionKeepAlive == 0 && !keepAlive
}

// hasToSayClose reports whether Connection says close if the connection ends with this message. HTTP/1.0 says that without words.
func (h *header) hasToSayClose() bool {
	return h.sentMinor() > 0 || h.head.Flags&http1.ConnectionClose != 0
}

// ConnectionUpgrade reports whether Connection says upgrade (RFC 9110 §7.8). In HTTP/1.0 it has
// to say keep-alive as well: by default there is no connection left to upgrade.
func (h *header) ConnectionUpgrade() bool {
	flags := h.head.Flags
	return flags&http1.ConnectionUpgrade != 0 && (h.minor() > 0 || flags&http1.ConnectionKeepAlive != 0)
}

// SetConnectionClose makes Connection say close, and keeps what else it says but
// for keep-alive. Over HTTP/2 a server closes the connection with GOAWAY once the response is sent. Connection, Keep-Alive, Upgrade and
// Transfer-Encoding are not sent there, whoever sets them (RFC 9113 §8.2.2).
func (h *header) SetConnectionClose() { h.setConnection("close") }

// ResetConnectionClose takes close out of Connection.
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

// setConnection replaces what Connection says about the end of the connection by
// option, "" for nothing.
func (h *header) setConnection(option string) {
	h.scratch = h.appendOptions(h.scratch[:0], option)
	if l := &h.head.Fields; len(h.scratch) == 0 {
		field.Del(l, field.Connection, "Connection")
	} else if h.room(len(h.scratch)) {
		field.Set(l, field.Connection, "Connection", h.scratch)
	}
	h.head.NoteFlags()
}

// appendOptions appends option, unless it is empty, and the members of all
// Connection fields but close and keep-alive, with commas between. An upgrade that
// does not count where it comes from, HTTP/1.0, is left out: in the HTTP/1.1 that we
// send it would.
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
