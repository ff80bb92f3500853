package serve

import (
	"bufio"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop"
)

// echo returns the request as JSON:
//
//	{"method","uri","path","host","headers":[[name,value],…],"body_b64"}
//
// uri is the request target as it was received, path is percent-decoded. A byte from 0x80 to 0xff
// becomes the code point of the same value, so that no byte is lost.
func echo(ctx *gallop.RequestCtx) { writeEcho(ctx, ctx.PostBody()) }

func writeEcho(ctx *gallop.RequestCtx, body []byte) {
	if ctx.Request.BodyErr() != nil {
		ctx.Error(gallop.StatusMessage(gallop.StatusBadRequest), gallop.StatusBadRequest)
		ctx.SetConnectionClose()
		return
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(appendEcho(nil, ctx, body))
}

func appendEcho(dst []byte, ctx *gallop.RequestCtx, body []byte) []byte {
	dst = appendLatin1(append(dst, `{"method":`...), ctx.Method())
	dst = appendLatin1(append(dst, `,"uri":`...), ctx.RequestURI())
	dst = appendLatin1(append(dst, `,"path":`...), ctx.Path())
	dst = appendLatin1(append(dst, `,"host":`...), ctx.Host())
	dst = append(dst, `,"headers":[`...)
	first := true
	for name, value := range ctx.Request.Header.All() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendLatin1(append(dst, '['), name)
		dst = append(appendLatin1(append(dst, ','), value), ']')
	}
	dst = append(dst, `],"body_b64":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, body)
	return append(dst, "\"}\n"...)
}

// appendLatin1 appends b as a JSON string with one code point for each byte.
func appendLatin1(dst, b []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range b {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ' || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		case c < 0x80:
			dst = append(dst, c)
		default:
			dst = append(dst, 0xc0|c>>6, 0x80|c&0x3f)
		}
	}
	return append(dst, '"')
}

// echoAll returns an echo for every path, except for three that help to test clients and proxies:
//
//   - /_/status/NNN returns that status and tries to send a body.
//   - /_/nobody does not read the body.
//   - /_/stream sends two pieces without a Content-Length.
func echoAll(ctx *gallop.RequestCtx) {
	path := string(ctx.Path())
	if status, ok := strings.CutPrefix(path, "/_/status/"); ok {
		if code, err := strconv.Atoi(status); err == nil && code >= 100 && code <= 999 {
			ctx.SetStatusCode(code)
			ctx.SetBodyString("xbody")
			return
		}
	}
	switch path {
	case "/_/nobody":
		writeEcho(ctx, nil)
	case "/_/stream":
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			w.WriteString("part1,")
			if w.Flush() == nil {
				w.WriteString("part2")
			}
		})
	default:
		echo(ctx)
	}
}
