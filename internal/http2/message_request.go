package http2

import (
	"bytes"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/target"
)

// finishRequest checks the pseudo-fields of a request (RFC 9113 §8.3.1), and sets method and target.
func (d *decoding) finishRequest(excess bool) {
	h := d.m.Head
	h.Method, h.Target = d.pseudo[hpack.Method], d.pseudo[hpack.Path]
	d.m.Scheme, d.m.Protocol = d.pseudo[hpack.Scheme], d.pseudo[hpack.Protocol]
	h.MethodID = message.MethodOf(d.bytes(h.Method))
	if excess {
		return
	}
	switch {
	case !d.has(hpack.Method):
		d.wrong = ErrPseudoMissing
	case h.MethodID == message.OtherMethod && !ascii.IsToken(d.bytes(h.Method)):
		d.wrong = ErrMethod
	case h.MethodID == message.Connect && !d.has(hpack.Protocol):
		d.wrong = d.finishConnect()
	case d.has(hpack.Protocol) && (h.MethodID != message.Connect || d.m.Protocol.Len == 0):
		d.wrong = ErrConnectProtocol
	case !d.has(hpack.Scheme) || !d.has(hpack.Path):
		d.wrong = ErrPseudoMissing
	default:
		d.wrong = d.finishTarget()
	}
}

// finishConnect checks a CONNECT that asks for a tunnel (RFC 9113 §8.5).
func (d *decoding) finishConnect() *Error {
	if !d.has(hpack.Authority) || d.has(hpack.Scheme) || d.has(hpack.Path) {
		return ErrConnect
	}
	d.m.Head.Target = d.pseudo[hpack.Authority]
	return d.checkHosts("")
}

// finishTarget checks :scheme, :path and :authority of any other request.
func (d *decoding) finishTarget() *Error {
	h := d.m.Head
	scheme, path := d.bytes(d.m.Scheme), d.bytes(h.Target)
	if !ascii.EqualFold(scheme, "https") && !ascii.EqualFold(scheme, "http") {
		return ErrScheme
	}
	if h.TargetChecked = target.Usual(path, 0) == len(path) && len(path) > 0; !h.TargetChecked {
		if !(len(path) > 0 && path[0] == '/') && !(h.MethodID == message.Options && string(path) == "*") {
			return ErrPath
		}
	}
	if len(scheme) == len("https") {
		return d.checkHosts(":443")
	}
	return d.checkHosts(":80")
}

// checkHosts compares :authority and Host, which a proxy could otherwise choose between. port is the default port.
func (d *decoding) checkHosts(port string) *Error {
	switch {
	case !d.has(hpack.Authority) && !d.hasHost:
		return ErrNoAuthority
	case d.has(hpack.Authority) && d.hasHost && !sameHost(d.bytes(d.pseudo[hpack.Authority]), d.bytes(d.host), port):
		return ErrHostDiffers
	}
	return nil
}

func sameHost(a, b []byte, port string) bool {
	if string(a) == string(b) {
		return true
	}
	return ascii.EqualFold(bytes.TrimSuffix(a, []byte(port)), bytes.TrimSuffix(b, []byte(port)))
}

// frameRequest says where the body of a request ends. end means that the head had END_STREAM.
func frameRequest(h *message.Head, end bool) *Error {
	switch {
	case end && h.Length > 0:
		return ErrContentMismatch
	case end:
		h.Body = message.NoBody
	case h.Length >= 0:
		h.Body = message.Fixed
	default:
		h.Body = message.Chunked
	}
	return nil
}
