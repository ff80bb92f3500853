package http2

import "encoding/binary"

// Functions for payloads. Their lengths have been checked by frameHeader.check.

// u32 returns the 32-bit integer at the start of b.
func u32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }

// u31 returns the 31-bit integer at the start of b, without the reserved bit.
func u31(b []byte) uint32 { return u32(b) & maxStreamID }

// fragment returns the part of a header block in the payload of HEADERS: without the padding and the fields for priority
// (RFC 9113 §6.2). The result depends is the stream on which this one depends, or 0.
func fragment(h frameHeader, payload []byte) (block []byte, depends uint32, err *Error) {
	pad := 0
	if h.has(flagPadded) {
		pad, payload = int(payload[0]), payload[1:]
	}
	if h.has(flagPriority) {
		depends, payload = u31(payload), payload[5:]
	}
	if pad > len(payload) {
		return nil, 0, ErrPadding
	}
	return payload[:len(payload)-pad], depends, nil
}

// goAway is the payload of GOAWAY (RFC 9113 §6.8).
type goAway struct {
	last  uint32
	code  Code
	debug []byte
}

func parseGoAway(payload []byte) goAway {
	return goAway{u31(payload), Code(u32(payload[4:])), payload[8:]}
}
