package http2

import "encoding/binary"

// Functions that append whole frames.

func appendRSTStream(dst []byte, stream uint32, code Code) []byte {
	dst = appendFrameHeader(dst, 4, typeRSTStream, 0, stream)
	return binary.BigEndian.AppendUint32(dst, uint32(code))
}

func appendSettingsAck(dst []byte) []byte { return appendFrameHeader(dst, 0, typeSettings, flagAck, 0) }

func appendPing(dst []byte, data uint64, f frameFlags) []byte {
	return binary.BigEndian.AppendUint64(appendFrameHeader(dst, 8, typePing, f, 0), data)
}

func appendGoAway(dst []byte, last uint32, code Code, debug string) []byte {
	dst = appendFrameHeader(dst, 8+len(debug), typeGoAway, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, last)
	return append(binary.BigEndian.AppendUint32(dst, uint32(code)), debug...)
}

func appendWindowUpdate(dst []byte, stream, increment uint32) []byte {
	return binary.BigEndian.AppendUint32(appendFrameHeader(dst, 4, typeWindowUpdate, 0, stream), increment)
}

// appendData appends the header of a DATA frame and its payload.
func appendData(dst []byte, stream uint32, p []byte, end bool) []byte {
	var f frameFlags
	if end {
		f = flagEndStream
	}
	return append(appendFrameHeader(dst, len(p), typeData, f, stream), p...)
}

// appendPriorityUpdate appends a PRIORITY_UPDATE frame (RFC 9218 §7.1).
func appendPriorityUpdate(dst []byte, stream uint32, p Priority) []byte {
	var value [8]byte
	text := p.Append(value[:0])
	dst = appendFrameHeader(dst, 4+len(text), typePriorityUpdate, 0, 0)
	return append(binary.BigEndian.AppendUint32(dst, stream), text...)
}
