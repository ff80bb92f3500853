package http2

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/hpack"
)

// RequestLine has the pseudo-fields of a request (RFC 9113 §8.3.1). For a CONNECT, Scheme and Path are empty. Protocol is only
// for extended CONNECT.
type RequestLine struct {
	Method, Scheme, Authority, Path, Protocol []byte
}

// appendRequest appends the block of a request. It leaves out fields that HTTP/2 forbids, and Host if there is an authority.
func appendRequest(e *hpack.Encoder, dst []byte, r *RequestLine, fields *field.List) []byte {
	dst = e.Begin(dst)
	dst = hpack.AppendPseudo(e, dst, hpack.Method, r.Method)
	for _, p := range [...]struct {
		pseudo hpack.Pseudo
		value  []byte
	}{{hpack.Protocol, r.Protocol}, {hpack.Scheme, r.Scheme}, {hpack.Authority, r.Authority}, {hpack.Path, r.Path}} {
		if len(p.value) > 0 {
			dst = hpack.AppendPseudo(e, dst, p.pseudo, p.value)
		}
	}
	return appendFields(e, dst, fields, len(r.Authority) > 0)
}

// appendResponse appends the block of a response.
func appendResponse(e *hpack.Encoder, dst []byte, status int, fields *field.List) []byte {
	dst = e.Begin(dst)
	dst = hpack.AppendStatus(e, dst, status)
	return appendFields(e, dst, fields, false)
}

// appendFields appends regular fields. It leaves out those that are specific to an HTTP/1 connection (RFC 9113 §8.2.2).
func appendFields(e *hpack.Encoder, dst []byte, fields *field.List, withoutHost bool) []byte {
	if fields == nil {
		return dst
	}
	for i := range fields.Len() {
		id := fields.ID(i)
		name, value := fields.At(i)
		switch id {
		case field.Connection, field.ProxyConnection, field.KeepAlive, field.TransferEncoding, field.Upgrade, field.HTTP2Settings:
			continue
		case field.TE:
			if !ascii.HasToken(value, "trailers") {
				continue
			}
			value = []byte("trailers")
		case field.Host:
			if withoutHost {
				continue
			}
		}
		dst = hpack.Append(e, dst, id, name, value)
	}
	return dst
}

// appendBlock turns the block at the end of dst into HEADERS and CONTINUATION frames of at most maxFrame bytes. The block begins
// at start, after room for the header of a frame.
func appendBlock(dst []byte, start int, stream uint32, end bool, maxFrame int) []byte {
	n := len(dst) - start - headerLen
	var f frameFlags
	if end {
		f = flagEndStream
	}
	if n <= maxFrame {
		appendFrameHeader(dst[:start], n, typeHeaders, f|flagEndHeaders, stream)
		return dst
	}
	appendFrameHeader(dst[:start], maxFrame, typeHeaders, f, stream)
	rest := append([]byte(nil), dst[start+headerLen+maxFrame:]...)
	for dst = dst[:start+headerLen+maxFrame]; len(rest) > 0; {
		n, f = min(len(rest), maxFrame), 0
		if n == len(rest) {
			f = flagEndHeaders
		}
		dst = append(appendFrameHeader(dst, n, typeContinuation, f, stream), rest[:n]...)
		rest = rest[n:]
	}
	return dst
}

// reserveHeader appends room for the header of a frame.
func reserveHeader(dst []byte) []byte { return append(dst, make([]byte, headerLen)...) }
