package fasthttp

import (
	"io"
	"net"
	"time"

	"github.com/gallop-http/gallop"
)

func AppendHTMLEscape(dst []byte, s string) []byte { return gallop.AppendHTMLEscape(dst, s) }

func AppendHTMLEscapeBytes(dst, s []byte) []byte { return gallop.AppendHTMLEscapeBytes(dst, s) }

func AppendIPv4(dst []byte, ip net.IP) []byte { return gallop.AppendIPv4(dst, ip) }

func ParseIPv4(dst net.IP, ipStr []byte) (net.IP, error) { return gallop.ParseIPv4(dst, ipStr) }

func AppendHTTPDate(dst []byte, date time.Time) []byte { return gallop.AppendHTTPDate(dst, date) }

var gmt = time.FixedZone("GMT", 0)

// ParseHTTPDate parses an HTTP date. The zone of the result is named GMT, so time.RFC1123 formats it like fasthttp's.
func ParseHTTPDate(date []byte) (time.Time, error) {
	t, err := gallop.ParseHTTPDate(date)
	if err != nil {
		return t, err
	}
	return t.In(gmt), nil
}

func AppendUint(dst []byte, n int) []byte { return gallop.AppendUint(dst, n) }

func ParseUint(buf []byte) (int, error) { return gallop.ParseUint(buf) }

func ParseUfloat(buf []byte) (float64, error) { return gallop.ParseUfloat(buf) }

func AppendUnquotedArg(dst, src []byte) []byte { return gallop.AppendUnquotedArg(dst, src) }

func AppendQuotedArg(dst, src []byte) []byte { return gallop.AppendQuotedArg(dst, src) }

func CoarseTimeNow() time.Time { return gallop.CoarseTimeNow() }

func VisitHeaderParams(b []byte, f func(key, value []byte) bool) { gallop.VisitHeaderParams(b, f) }

func AppendNormalizedHeaderKey(dst []byte, key string) []byte {
	return gallop.AppendNormalizedHeaderKey(dst, key)
}

func AppendNormalizedHeaderKeyBytes(dst, key []byte) []byte {
	return gallop.AppendNormalizedHeaderKeyBytes(dst, key)
}

func NewStreamReader(sw StreamWriter) io.ReadCloser { return gallop.NewStreamReader(sw) }

func WriteUnzstd(w io.Writer, p []byte) (int, error) { return gallop.WriteUnzstd(w, p) }

func AppendUnzstdBytes(dst, src []byte) ([]byte, error) { return gallop.AppendUnzstdBytes(dst, src) }
