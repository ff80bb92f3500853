package http2

import "encoding/binary"

// frameType is the type of a frame (RFC 9113 §6, RFC 9218 §7.1).
type frameType uint8

const (
	typeData frameType = iota
	typeHeaders
	typePriority
	typeRSTStream
	typeSettings
	typePushPromise
	typePing
	typeGoAway
	typeWindowUpdate
	typeContinuation
	typePriorityUpdate frameType = 0x10
)

// frameFlags are the flags of a frame. Their meaning depends on the type. Unknown flags are ignored.
type frameFlags uint8

const (
	flagEndStream  frameFlags = 0x01 // DATA, HEADERS
	flagAck        frameFlags = 0x01 // SETTINGS, PING
	flagEndHeaders frameFlags = 0x04 // HEADERS, PUSH_PROMISE, CONTINUATION
	flagPadded     frameFlags = 0x08 // DATA, HEADERS, PUSH_PROMISE
	flagPriority   frameFlags = 0x20 // HEADERS
)

// headerLen is the length of the header of a frame.
const headerLen = 9

// frameHeader is the header of a frame (RFC 9113 §4.1).
type frameHeader struct {
	length uint32 // of the payload, below 2^24
	typ    frameType
	flags  frameFlags
	stream uint32 // below 2^31
}

// parseFrameHeader parses the header at the start of b, which has at least headerLen bytes. The reserved bit is ignored.
func parseFrameHeader(b []byte) frameHeader {
	word := binary.BigEndian.Uint64(b)
	return frameHeader{
		length: uint32(word >> 40),
		typ:    frameType(word >> 32),
		flags:  frameFlags(word >> 24),
		stream: (uint32(word)<<8 | uint32(b[8])) & maxStreamID,
	}
}

func (h frameHeader) has(f frameFlags) bool { return h.flags&f != 0 }

// appendFrameHeader appends the header of a frame with a payload of n bytes.
func appendFrameHeader(dst []byte, n int, t frameType, f frameFlags, stream uint32) []byte {
	return append(dst, byte(n>>16), byte(n>>8), byte(n), byte(t), byte(f),
		byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
}
