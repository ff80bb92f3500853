package http2

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/message"
)

// finishResponse checks and sets the status of a response (RFC 9113 §8.3.2).
func (d *decoding) finishResponse() {
	text := d.bytes(d.pseudo[hpack.Status])
	n, ok := ascii.ParseUint(text)
	switch {
	case !ok || len(text) != 3 || n < 100:
		d.wrong = ErrStatus
	case n == 101:
		d.wrong = ErrSwitchProtocols
	default:
		d.m.Head.Status = int(n)
	}
}

// frameResponse says where the body of a final response ends. end means that the head had END_STREAM. isBodiless means that the
// request was HEAD. isConnect means that it was CONNECT.
func frameResponse(h *message.Head, isBodiless, isConnect, end bool) *Error {
	switch {
	case isConnect && h.Status < 300:
		h.Body, h.Length = message.NoBody, -1 // DATA belongs to the tunnel
	case isBodiless || h.Status == 204 || h.Status == 304:
		h.Body = message.NoBody
	default:
		return frameRequest(h, end)
	}
	return nil
}
