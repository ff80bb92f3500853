package gallopgrpc

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/gallop-http/gallop"
)

// statusOf returns the status that a handler's error stands for.
func statusOf(err error) *status.Status {
	if st, ok := status.FromError(err); ok {
		return st
	}
	return status.FromContextError(err)
}

// eachStatusField calls f for each field that sends a status.
func eachStatusField(st *status.Status, f func(name, value string)) {
	if st.Code() == codes.OK {
		f("Grpc-Status", "0")
		return
	}
	f("Grpc-Status", strconv.Itoa(int(st.Code())))
	if text := st.Message(); text != "" {
		f("Grpc-Message", encodeMessage(text))
	}
	if p := st.Proto(); len(p.GetDetails()) > 0 {
		if b, err := proto.Marshal(p); err == nil {
			f("Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(b))
		}
	}
}

// encodeMessage percent-encodes the message of a status. Bytes that are not UTF-8 become U+FFFD.
func encodeMessage(text string) string {
	i := 0
	for i < len(text) && isPlain(text[i]) {
		i++
	}
	if i == len(text) {
		return text
	}
	dst := append(make([]byte, 0, len(text)+16), text[:i]...)
	for _, r := range text[i:] {
		if r < utf8.RuneSelf && isPlain(byte(r)) {
			dst = append(dst, byte(r))
			continue
		}
		var b [utf8.UTFMax]byte
		for _, c := range b[:utf8.EncodeRune(b[:], r)] {
			const hex = "0123456789ABCDEF"
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(dst)
}

// isPlain reports whether c is sent as it is in a message.
func isPlain(c byte) bool { return ' ' <= c && c <= '~' && c != '%' }

// codeOfHTTP returns the code for a call that was refused with an HTTP status.
func codeOfHTTP(httpStatus int) codes.Code {
	switch httpStatus {
	case gallop.StatusBadRequest, gallop.StatusRequestHeaderFieldsTooLarge:
		return codes.Internal
	case gallop.StatusUnauthorized:
		return codes.Unauthenticated
	case gallop.StatusForbidden:
		return codes.PermissionDenied
	case gallop.StatusNotFound:
		return codes.Unimplemented
	case gallop.StatusRequestEntityTooLarge:
		return codes.ResourceExhausted
	case gallop.StatusRequestTimeout, gallop.StatusTooManyRequests, gallop.StatusBadGateway, gallop.StatusServiceUnavailable,
		gallop.StatusGatewayTimeout:
		return codes.Unavailable
	}
	return codes.Unknown
}
