package http1

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
)

// lastNoted is the last ID that note looks at. IDs up to this one control the protocol.
const lastNoted = field.Expect

// teState is the combined meaning of the Transfer-Encoding lines so far.
type teState uint8

const (
	teNone    teState = iota
	teChunked         // chunked, once and last
	teUnknown         // an unknown coding
	teBad             // not a list, or chunked is not last
)

// note examines field i, the last one, which controls the protocol.
func (h *Head) note(id field.ID, i int) error {
	if id == field.Host {
		if h.Fields.FindID(field.Host) != i {
			return ErrTwoHosts
		}
		return nil
	}
	return h.noteValue(id, h.Fields.Value(i))
}

func (h *Head) noteValue(id field.ID, value []byte) error {
	switch id {
	case field.ContentLength:
		n, ok := ascii.ParseUint(value)
		if !ok {
			return ErrContentLength
		}
		if h.Length >= 0 {
			return ErrTwoContentLengths
		}
		h.Length = int64(n)
	case field.TransferEncoding:
		h.noteTransferEncoding(value)
	case field.Connection:
		h.noteConnection(value)
	case field.Expect:
		h.noteExpect(value)
	}
	return nil
}

// NoteFlags sets Flags again from the fields Connection and Expect. Call it after changing these fields.
func (h *Head) NoteFlags() {
	h.Flags &= LongConnection
	for i := range h.Fields.Len() {
		switch h.Fields.ID(i) {
		case field.Connection:
			h.noteConnection(h.Fields.Value(i))
		case field.Expect:
			h.noteExpect(h.Fields.Value(i))
		}
	}
}

// noteExpect parses a list (RFC 9110 §10.1.1). Each line of the field is a part of it.
func (h *Head) noteExpect(value []byte) {
	for len(value) > 0 {
		var member []byte
		member, value = ascii.Cut(value, ',')
		if member = ascii.TrimOWS(member); ascii.EqualFold(member, "100-continue") {
			h.Flags |= ExpectContinue
		} else if len(member) > 0 {
			h.Flags |= ExpectOther
		}
	}
}

func (h *Head) noteConnection(value []byte) {
	if string(value) == "keep-alive" {
		h.Flags |= ConnectionKeepAlive
		return
	}
	for len(value) > 0 {
		var member []byte
		member, value = ascii.Cut(value, ',')
		switch member = ascii.TrimOWS(member); {
		case ascii.EqualFold(member, "close"):
			h.Flags |= ConnectionClose
		case ascii.EqualFold(member, "keep-alive"):
			h.Flags |= ConnectionKeepAlive
		case ascii.EqualFold(member, "upgrade"):
			h.Flags |= ConnectionUpgrade
		}
	}
}

// noteTransferEncoding is as strict as possible. It refuses empty members and parameters, which RFC 9110 §5.6.1 would
// allow, because the next hop may interpret them differently.
func (h *Head) noteTransferEncoding(value []byte) {
	for more := true; more; {
		n := 0
		for n < len(value) && value[n] != ',' {
			n++
		}
		member := ascii.TrimOWS(value[:n])
		if more = n < len(value); more {
			value = value[n+1:]
		}
		switch chunked := ascii.EqualFold(member, "chunked"); {
		case h.te == teChunked || h.te == teBad || !ascii.IsToken(member):
			h.te = teBad
		case chunked && h.te == teNone:
			h.te = teChunked
		case !chunked:
			h.te = teUnknown
		}
	}
}
