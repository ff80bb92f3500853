package serve

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gallop-http/gallop"
)

// accessLog writes a line for each request. It buffers lines and writes them when the buffer is full,
// or after logDelay. A request is exactly one line, whatever a client sends: unprintable bytes are escaped.
//
// A line shows the size of the response body and how long the handler took.
type accessLog struct {
	line func(dst []byte, e *entry) []byte // nil if the log is off

	mu     sync.Mutex
	out    io.Writer
	errors io.Writer
	buf    []byte
	armed  bool // a flush is scheduled
	closed bool
	lossy  bool // the last Write failed
}

const (
	logBuffer = 32 << 10
	logDelay  = 100 * time.Millisecond
)

// entry has the data of a line. Its slices are views of the request.
type entry struct {
	at                time.Time
	took              time.Duration
	method, host, uri []byte
	agent, referer    []byte
	addr, ip          string
	status            int
	bytes             int64 // negative if unknown
}

func newAccessLog(c *Config) *accessLog {
	l := &accessLog{out: c.Stdout, errors: c.Stderr}
	switch c.Log {
	case "text":
		l.line = textLine(hasColour(c.Stdout, c.Getenv))
	case "json":
		l.line = appendJSONLine
	}
	return l
}

// write logs the request and the response of ctx.
func (l *accessLog) write(ctx *gallop.RequestCtx, began time.Time) {
	if l.line == nil {
		return
	}
	h := &ctx.Request.Header
	e := entry{
		at: began, took: time.Since(began),
		method: h.Method(), uri: h.RequestURI(), host: h.Host(), agent: h.UserAgent(), referer: h.Referer(),
		addr: ctx.RemoteAddr().String(), ip: ctx.RemoteIP().String(),
		status: ctx.Response.StatusCode(), bytes: bodySize(ctx),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = l.line(l.buf, &e)
	switch {
	case len(l.buf) >= logBuffer || l.closed:
		l.flushLocked()
	case !l.armed:
		l.armed = true
		time.AfterFunc(logDelay, l.flush)
	}
}

// bodySize returns the size of the response body, or a negative number if it is unknown.
func bodySize(ctx *gallop.RequestCtx) int64 {
	resp := &ctx.Response
	switch status := resp.StatusCode(); {
	case ctx.IsHead(), status == gallop.StatusNoContent, status == gallop.StatusResetContent, status == gallop.StatusNotModified:
		return 0
	case resp.IsBodyStream():
		return int64(resp.Header.ContentLength())
	}
	return int64(len(resp.Body()))
}

func (l *accessLog) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flushLocked()
}

func (l *accessLog) flushLocked() {
	l.armed = false
	if len(l.buf) > 0 {
		_, err := l.out.Write(l.buf)
		if err != nil && !l.lossy {
			fmt.Fprintf(l.errors, "gallop: lines of the access log are lost: %v\n", err)
		}
		l.lossy = err != nil
		l.buf = l.buf[:0]
	}
}

// close writes the buffer. Lines that are logged later are written at once.
func (l *accessLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.flushLocked()
}

// textLine returns a function that appends lines for people. Their columns are time, status, method, size,
// duration, client and target.
func textLine(colour bool) func(dst []byte, e *entry) []byte {
	return func(dst []byte, e *entry) []byte {
		dst = e.at.AppendFormat(dst, "2006-01-02 15:04:05 ")
		if colour {
			dst = append(dst, "\x1b["+statusColour(e.status)+"m"...)
		}
		dst = strconv.AppendInt(dst, int64(e.status), 10)
		if colour {
			dst = append(dst, "\x1b[0m"...)
		}
		dst = append(dst, ' ')
		dst = padded(dst, 7, false, func(dst []byte) []byte { return appendVisible(dst, orDash(e.method)) })
		dst = padded(dst, 9, true, func(dst []byte) []byte {
			if e.bytes < 0 {
				return append(dst, '-')
			}
			return appendSize(dst, e.bytes)
		})
		dst = padded(dst, 8, true, func(dst []byte) []byte { return append(dst, roughly(e.took).String()...) })
		dst = append(dst, ' ')
		dst = padded(dst, 15, false, func(dst []byte) []byte { return append(dst, e.ip...) })
		return append(appendVisible(dst, orDash(e.uri)), '\n')
	}
}

func statusColour(status int) string {
	switch status / 100 {
	case 2:
		return "32"
	case 3:
		return "36"
	case 4:
		return "33"
	}
	return "31"
}

// padded appends the text that f appends in a column of that width, and a blank.
func padded(dst []byte, width int, right bool, f func([]byte) []byte) []byte {
	start := len(dst)
	dst = f(dst)
	fill := width - utf8.RuneCount(dst[start:])
	for range fill {
		dst = append(dst, ' ')
	}
	if right && fill > 0 {
		text := len(dst) - start - fill
		copy(dst[start+fill:], dst[start:start+text])
		for i := range fill {
			dst[start+i] = ' '
		}
	}
	return append(dst, ' ')
}

// roughly returns d truncated to three digits.
func roughly(d time.Duration) time.Duration {
	for unit := time.Duration(1); unit < time.Hour; unit *= 10 {
		if d < 1000*unit {
			return d.Truncate(unit)
		}
	}
	return d.Truncate(time.Second)
}

func orDash(b []byte) []byte {
	if len(b) == 0 {
		return []byte{'-'}
	}
	return b
}

// appendVisible appends b and percent-encodes every byte that is not visible ASCII.
func appendVisible(dst, b []byte) []byte {
	const digits = "0123456789ABCDEF"
	for _, c := range b {
		if c > ' ' && c < 0x7f {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', digits[c>>4], digits[c&15])
		}
	}
	return dst
}

// appendSize appends a number of bytes with its unit, a power of 1024.
func appendSize(dst []byte, n int64) []byte {
	if n < 1024 {
		return append(strconv.AppendInt(dst, n, 10), " B"...)
	}
	value, unit := float64(n)/1024, 0
	for value >= 1000 && unit < 4 {
		value /= 1024
		unit++
	}
	dst = strconv.AppendFloat(dst, value, 'f', 1, 64)
	return append(dst, ' ', "KMGTP"[unit], 'i', 'B')
}

// appendJSONLine appends a line with a JSON object.
func appendJSONLine(dst []byte, e *entry) []byte {
	dst = append(dst, `{"time":"`...)
	dst = e.at.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
	dst = appendJSON(append(dst, `","remote":`...), []byte(e.addr))
	dst = appendJSON(append(dst, `,"method":`...), e.method)
	dst = appendJSON(append(dst, `,"host":`...), e.host)
	dst = appendJSON(append(dst, `,"uri":`...), e.uri)
	dst = strconv.AppendInt(append(dst, `,"status":`...), int64(e.status), 10)
	dst = append(dst, `,"bytes":`...)
	if e.bytes < 0 {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendInt(dst, e.bytes, 10)
	}
	dst = strconv.AppendFloat(append(dst, `,"duration_ms":`...), float64(e.took.Microseconds())/1000, 'f', 3, 64)
	dst = appendJSON(append(dst, `,"user_agent":`...), e.agent)
	dst = appendJSON(append(dst, `,"referer":`...), e.referer)
	return append(dst, "}\n"...)
}

// appendJSON appends b as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendJSON(dst, b []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ' || r >= 0x7f && r < 0xa0:
			dst = append(dst, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		case r == '\u2028' || r == '\u2029': // some parsers treat them as line ends
			dst = append(dst, '\\', 'u', '2', '0', '2', digits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
		b = b[n:]
	}
	return append(dst, '"')
}
