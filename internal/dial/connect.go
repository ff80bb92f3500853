package dial

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// connectLimits limits the head of the response to a CONNECT.
var connectLimits = http1.Limits{Target: 1, Head: 16 << 10, Fields: 128}

// AppendConnect appends a CONNECT request (RFC 9110 §9.3.6).
func AppendConnect(dst []byte, to Target, authorization string) []byte {
	authority := to.String()
	dst = append(dst, "CONNECT "...)
	dst = append(dst, authority...)
	dst = append(dst, " HTTP/1.1\r\n"...)
	dst = http1.AppendField(dst, "Host", authority)
	if authorization != "" {
		dst = http1.AppendField(dst, "Proxy-Authorization", authorization)
	}
	return append(dst, "\r\n"...)
}

// IsOfConnect reports whether callers must not add a header with this name to a CONNECT: Host is always the target, and
// a CONNECT has no content (RFC 9110 §9.3.6).
func IsOfConnect(name []byte) bool {
	for _, own := range []string{"Host", "Content-Length", "Transfer-Encoding"} {
		if ascii.EqualFold(name, own) {
			return true
		}
	}
	return false
}

// ReadHead reads the head of the response to a CONNECT, and removes it from the buffer. The bytes after the head of a
// 2xx belong to the tunnel, even if the headers announce a body (RFC 9110 §9.3.6).
func (t *Tunnel) ReadHead(head *message.Head) error {
	var parser http1.Parser
	for {
		n, err := parser.ParseResponse(head, t.buf, &connectLimits)
		switch {
		case err != nil:
			return err
		case n > 0:
			t.buf = t.buf[n:]
			return nil
		}
		if err := t.fill(); err != nil {
			return err
		}
	}
}
