package http1

import (
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
)

// lastNoted is the last ID that note looks at. IDs up to this one control the protocol.
const lastNoted = field.Expect

// note examines field i, the last one, which controls the protocol.
func note(h *message.Head, id field.ID, i int) error {
	if id == field.Host {
		if h.Fields.FindID(field.Host) != i {
			return ErrTwoHosts
		}
		return nil
	}
	return noteValue(h, id, h.Fields.Value(i))
}

func noteValue(h *message.Head, id field.ID, value []byte) error {
	switch id {
	case field.ContentLength:
		if valid, single := h.NoteLength(value); !valid {
			return ErrContentLength
		} else if !single {
			return ErrTwoContentLengths
		}
	case field.Connection:
		h.NoteConnection(value)
	case field.Expect:
		h.NoteExpect(value)
	}
	return nil
}
