package http1

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
)

// frameRequest decides where the body of a request ends and whether the connection may carry another request (RFC
// 9112 §6.3 and §9.3). No other code decides that. frameRequest refuses everything that two parsers could read
// differently. Finally it joins several Cookie fields. n is the length of the head, which the parser returns.
func frameRequest(h *message.Head, n int) (int, error) {
	if h.Minor > 0 && h.Fields.HasNone(1<<field.Host) {
		return 0, ErrNoHost
	}
	h.Body = message.NoBody
	switch {
	case !h.Fields.HasNone(1 << field.TransferEncoding):
		if err := frameEncoded(h); err != nil {
			return 0, err
		}
	case h.Length > 0:
		h.Body = message.Fixed
	}
	noteLongConnection(h)
	if h.Fields.MayRepeat() {
		h.Fields.JoinCookies()
	}
	return n, nil
}

// frameEncoded checks a head with Transfer-Encoding (RFC 9112 §6.1).
func frameEncoded(h *message.Head) error {
	switch {
	case h.Minor == 0:
		return ErrTransferEncoding10
	case h.Length >= 0:
		return ErrLengthAndEncoding
	}
	switch codingsOf(&h.Fields) {
	case teUnknown:
		return ErrUnknownCoding
	case teBad:
		return ErrTransferEncoding
	}
	h.Body = message.Chunked
	return nil
}

// noteLongConnection sets LongConnection according to RFC 9112 §9.3: "close" wins, HTTP/1.1 connections stay open,
// and HTTP/1.0 connections stay open on request.
func noteLongConnection(h *message.Head) {
	if h.Flags&message.ConnectionClose == 0 && (h.Minor > 0 || h.Flags&message.ConnectionKeepAlive != 0) {
		h.Flags |= message.LongConnection
	}
}

// FrameResponse decides where the body of a response ends, given the method of the request (RFC 9112 §6.3), and
// whether the connection may carry another message.
func FrameResponse(h *message.Head, request message.Method) error {
	h.Body = message.NoBody
	switch {
	case h.Status < 200 || h.Status == 204 || h.Status == 304 || request == message.HeadMethod:
		// No body, regardless of the fields.
	case request == message.Connect && h.Status < 300:
		// A tunnel.
	case h.Fields.Has(field.TransferEncoding):
		if err := frameEncoded(h); err != nil {
			return err
		}
	case h.Length > 0:
		h.Body = message.Fixed
	case h.Length < 0:
		h.Body = message.UntilClose
		h.Flags |= message.ConnectionClose
	}
	noteLongConnection(h)
	return nil
}

// teState is the combined meaning of Transfer-Encoding lines.
type teState uint8

const (
	teNone    teState = iota
	teChunked         // chunked, once and last
	teUnknown         // an unknown coding
	teBad             // not a list, or chunked is not last
)

// codingsOf returns the combined meaning of the Transfer-Encoding lines.
func codingsOf(l *field.List) (te teState) {
	for i := l.FindID(field.TransferEncoding); i >= 0; i = field.Next(l, i, field.TransferEncoding, "") {
		te.add(l.Value(i))
	}
	return te
}

// add adds the meaning of another line. It is as strict as possible: it refuses empty members and parameters, which
// RFC 9110 §5.6.1 would allow, because the next hop may interpret them differently.
func (te *teState) add(value []byte) {
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
		case *te == teChunked || *te == teBad || !ascii.IsToken(member):
			*te = teBad
		case chunked && *te == teNone:
			*te = teChunked
		case !chunked:
			*te = teUnknown
		}
	}
}
