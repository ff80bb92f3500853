package http1

import "github.com/gallop-http/gallop/internal/field"

// frameRequest decides where the body of a request ends and whether the connection may carry another request (RFC
// 9112 §6.3 and §9.3). No other code decides that. frameRequest refuses everything that two parsers could read
// differently. Finally it joins several Cookie fields. n is the length of the head, which the parser returns.
func frameRequest(h *Head, n int) (int, error) {
	if h.Minor > 0 && !h.Fields.Has(field.Host) {
		return 0, ErrNoHost
	}
	h.Body = NoBody
	switch {
	case h.te != teNone:
		if err := frameEncoded(h); err != nil {
			return 0, err
		}
	case h.Length > 0:
		h.Body = Fixed
	}
	h.noteLongConnection()
	if h.Fields.MayRepeat() {
		h.Fields.JoinCookies()
	}
	return n, nil
}

// frameEncoded checks a head with Transfer-Encoding (RFC 9112 §6.1).
func frameEncoded(h *Head) error {
	switch {
	case h.Minor == 0:
		return ErrTransferEncoding10
	case h.Length >= 0:
		return ErrLengthAndEncoding
	case h.te == teUnknown:
		return ErrUnknownCoding
	case h.te == teBad:
		return ErrTransferEncoding
	}
	h.Body = Chunked
	return nil
}

// noteLongConnection sets LongConnection according to RFC 9112 §9.3: "close" wins, HTTP/1.1 connections stay open,
// and HTTP/1.0 connections stay open on request.
func (h *Head) noteLongConnection() {
	if h.Flags&ConnectionClose == 0 && (h.Minor > 0 || h.Flags&ConnectionKeepAlive != 0) {
		h.Flags |= LongConnection
	}
}

// FrameResponse decides where the body of a response ends, given the method of the request (RFC 9112 §6.3), and
// whether the connection may carry another message.
func FrameResponse(h *Head, request Method) error {
	h.Body = NoBody
	switch {
	case h.Status < 200 || h.Status == 204 || h.Status == 304 || request == HeadMethod:
		// No body, regardless of the fields.
	case request == Connect && h.Status < 300:
		// A tunnel.
	case h.te != teNone:
		if err := frameEncoded(h); err != nil {
			return err
		}
	case h.Length > 0:
		h.Body = Fixed
	case h.Length < 0:
		h.Body = UntilClose
		h.Flags |= ConnectionClose
	}
	h.noteLongConnection()
	return nil
}

// MayHaveBody reports whether a response with this status to a request with this method has a body on the wire (RFC
// 9110 §6.4.1).
func MayHaveBody(status int, request Method) bool {
	return status >= 200 && status != 204 && status != 304 && request != HeadMethod &&
		!(request == Connect && status < 300)
}
