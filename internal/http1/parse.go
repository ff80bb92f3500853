package http1

import (
	"bytes"
	"math/bits"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/target"
)

const (
	versionLen = len("HTTP/1.1\r\n")

	// tlsHandshake is the first byte of a client that uses TLS (RFC 8446 §5.1).
	tlsHandshake = 0x16

	// maxEmptyLines is how many empty lines may precede a request. Some clients send them after the previous body.
	maxEmptyLines = 8
)

// ParseRequest parses the request head at the start of b into h and returns its length. It skips and counts up to
// eight empty lines before the head (RFC 9112 §2.2).
//
// At the first call, p must be zero, and h zero or Reset. A result of 0 without an error means that the head is
// incomplete; call again with the same bytes and more after them. h.Fields borrows b, which must therefore outlive h
// and not change.
//
// ParseRequest does not check the value of Host. It does not check the form of the target either, unless it sets
// h.TargetChecked.
func (p *Parser) ParseRequest(h *message.Head, b []byte, lim *Limits) (n int, err error) {
	// The fast path handles nearly every request: a complete GET or POST of HTTP/1.1 for a path without escapes,
	// perhaps with a query. It looks at each byte of the target once, for everything that parseRequestLine and
	// target.Check would look for one after the other. parse handles all other requests, valid or not.
	const shortest, version = len("GET / HTTP/1.1\r\n"), " HTTP/1.1\r\n"
	if p.scanned > 0 || len(b) >= lim.Head || len(b) < shortest {
		return p.parse(h, b, lim, true)
	}
	id, start := message.Get, len("GET ")
	if string(b[:len("GET ")]) != "GET " {
		if string(b[:len("POST ")]) != "POST " {
			return p.parse(h, b, lim, true)
		}
		id, start = message.Post, len("POST ")
	}
	end := target.Usual(b, start)
	if end == 0 || end-start > lim.Target || len(b)-end < len(version) || string(b[end:end+len(version)]) != version {
		return p.parse(h, b, lim, true)
	}
	h.Fields.Borrow(b)
	h.Method, h.MethodID = field.Span{Len: uint32(start - 1)}, id
	h.Target, h.TargetChecked = field.Span{Off: uint32(start), Len: uint32(end - start)}, true
	h.Minor, h.Length = 1, -1
	at := end + len(version)
	h.Lines.Off = uint32(at)
	if n, at, err = parseFields(h, b, at, lim, true); n == 0 {
		p.at, p.scanned = at, len(b)
		return 0, err
	}
	return frameRequest(h, n)
}

// ParseResponse parses the response head at the start of b into h. See [ParseRequest]. It unfolds folded lines in
// place, in b (RFC 9112 §5.2). Call FrameResponse next.
func (p *Parser) ParseResponse(h *message.Head, b []byte, lim *Limits) (n int, err error) {
	if p.scanned > 0 || len(b) >= lim.Head || len(b) > 0 && b[0] == '\r' {
		return p.parse(h, b, lim, false)
	}
	h.Fields.Borrow(b)
	h.Length = -1
	at, err := parseStatusLine(h, b, 0)
	if at > 0 {
		h.Lines.Off = uint32(at)
		if n, at, err = parseFields(h, b, at, lim, false); n > 0 {
			return n, nil
		}
	}
	p.at, p.scanned = at, len(b)
	return 0, err
}

func (p *Parser) parse(h *message.Head, b []byte, lim *Limits, request bool) (n int, err error) {
	whole := len(b)
	if whole > lim.Head {
		b = b[:lim.Head]
	}
	if p.scanned == 0 {
		h.Fields.Borrow(b)
		h.Length = -1
	} else {
		if whole < lim.Head && p.unfinished(b) {
			p.scanned = len(b)
			return 0, nil
		}
		h.Fields.Rebase(b)
	}
	end := p.at
	if end == 0 {
		end, err = parseFirstLine(h, b, lim, request)
	}
	if end > 0 {
		if p.at == 0 {
			h.Lines.Off = uint32(end)
		}
		var at int
		if n, at, err = parseFields(h, b, end, lim, request); n == 0 {
			p.stopAt(at)
		}
	}
	switch {
	case err != nil:
		return 0, err
	case n > 0 && request:
		return frameRequest(h, n)
	case n > 0:
		return n, nil
	case whole >= lim.Head:
		return 0, ErrHeadTooLarge
	}
	p.scanned = len(b)
	return 0, nil
}

// shortLine is the maximum length of an unfinished field line that is parsed again whenever it grows. For longer
// lines only the new bytes are examined until one of them matters. A head that arrives byte by byte thus takes linear
// time.
const shortLine = 256

// unfinished reports whether the line that was unfinished at the last call certainly stays unfinished and valid at
// this one. A request line is always parsed again, because the limit of its target bounds it.
func (p *Parser) unfinished(b []byte) bool {
	if p.at == 0 || len(b)-p.at < shortLine {
		return false
	}
	from := max(p.scanned-1, p.at) // a CR may have been the last byte
	if !p.inValue {
		p.inValue = bytes.IndexByte(b[max(p.at, p.scanned-shortLine):], ':') >= 0
		return !p.inValue && ascii.IsToken(b[from:])
	}
	return ascii.IndexControl(b[from:]) == len(b)-from
}

// parseFirstLine parses the first line and returns the index after it. The index is 0 if the line is unfinished or
// invalid.
func parseFirstLine(h *message.Head, b []byte, lim *Limits, request bool) (int, error) {
	skipped := 1
	if request {
		skipped = maxEmptyLines
	}
	i := 0
	for ; i < 2*skipped && i < len(b) && b[i] == '\r'; i += 2 {
		if i+1 == len(b) {
			return 0, nil
		}
		if b[i+1] != '\n' {
			break
		}
	}
	if request {
		return parseRequestLine(h, b, i, lim)
	}
	return parseStatusLine(h, b, i)
}

// EmptyLines reports whether b is empty or contains only empty lines, so that no request has begun yet.
func EmptyLines(b []byte) bool { return len(bytes.Trim(b, "\r\n")) == 0 }

// parseRequestLine parses the request line at b[i:] and returns the index after it.
func parseRequestLine(h *message.Head, b []byte, i int, lim *Limits) (int, error) {
	end, err := parseMethod(h, b, i)
	if end == 0 {
		return 0, err
	}
	i = end
	n := indexBlank(b[i:])
	if n > lim.Target {
		return 0, ErrTargetTooLong
	}
	end = i + n
	if end == len(b) {
		return 0, nil
	}
	if b[end] != ' ' || n == 0 {
		return 0, ErrTarget
	}
	h.Target = field.Span{Off: uint32(i), Len: uint32(n)}
	return parseVersion(h, b, end+1)
}

// parseMethod parses the method at b[i:] and the blank after it, and returns the index after the blank.
func parseMethod(h *message.Head, b []byte, i int) (int, error) {
	start := i
	if len(b)-i > 4 && string(b[i:i+4]) == "GET " {
		h.Method, h.MethodID = field.Span{Off: uint32(i), Len: 3}, message.Get
		return i + 4, nil
	}
	for i < len(b) && ascii.IsTokenByte(b[i]) {
		i++
	}
	if i-start > message.MaxMethod {
		return 0, ErrMethodTooLong
	}
	if i == len(b) {
		return 0, nil
	}
	if b[i] != ' ' || i == start {
		if b[start] == tlsHandshake {
			return 0, ErrTLS
		}
		return 0, ErrMethod
	}
	h.Method = field.Span{Off: uint32(start), Len: uint32(i - start)}
	h.MethodID = message.MethodOf(b[start:i])
	return i + 1, nil
}

// parseVersion parses "HTTP/1.x" CRLF at b[i:] and returns the index after it.
func parseVersion(h *message.Head, b []byte, i int) (int, error) {
	v := b[i:]
	if len(v) >= versionLen && string(v[:versionLen]) == "HTTP/1.1\r\n" {
		h.Minor = 1
		return i + versionLen, nil
	}
	if len(v) < versionLen {
		for j, c := range v {
			if want := "HTTP/0.0\r\n"[j]; c != want && !(want == '0' && ascii.IsDigit(c)) {
				return 0, ErrRequestLine
			}
		}
		return 0, nil
	}
	if string(v[:5]) != "HTTP/" || v[6] != '.' || v[8] != '\r' || v[9] != '\n' ||
		!ascii.IsDigit(v[5]) || !ascii.IsDigit(v[7]) {
		return 0, ErrRequestLine
	}
	if v[5] != '1' {
		if v[5] == '2' && string(b[h.Method.Off:h.Method.Off+h.Method.Len]) == "PRI" {
			return 0, ErrHTTP2
		}
		return 0, ErrVersion
	}
	h.Minor = v[7] - '0'
	return i + versionLen, nil
}

// parseStatusLine parses the status line at b[i:] and returns the index after it. The reason phrase may be missing,
// and the blank before it, too.
func parseStatusLine(h *message.Head, b []byte, i int) (int, error) {
	const minLen, usual = len("HTTP/1.1 200"), "HTTP/1.1 200 OK\r\n"
	v := b[i:]
	if len(v) >= len(usual) && string(v[:len(usual)]) == usual {
		h.Minor, h.Status = 1, 200
		h.Reason = field.Span{Off: uint32(i + minLen + 1), Len: 2}
		return i + len(usual), nil
	}
	for j := 0; j < min(len(v), minLen); j++ {
		want := "HTTP/0.0 000"[j]
		if v[j] != want && !(want == '0' && ascii.IsDigit(v[j])) {
			return 0, ErrStatusLine
		}
	}
	if len(v) > minLen && v[minLen] != ' ' && v[minLen] != '\r' {
		return 0, ErrStatusLine
	}
	end := minLen
	if len(v) > minLen && v[minLen] == ' ' {
		end = minLen + 1 + ascii.IndexControl(v[minLen+1:])
	}
	if len(v) < end+1 || len(v) == end+1 && v[end] == '\r' {
		return 0, nil
	}
	if v[end] != '\r' || v[end+1] != '\n' {
		return 0, ErrStatusLine
	}
	h.Minor = v[7] - '0'
	h.Status = int(v[9]-'0')*100 + int(v[10]-'0')*10 + int(v[11]-'0')
	if v[5] != '1' {
		return 0, ErrVersion
	}
	if h.Status < 100 {
		return 0, ErrStatusLine
	}
	if off := min(minLen+1, end); end > off {
		h.Reason = field.Span{Off: uint32(i + off), Len: uint32(end - off)}
	}
	return i + end + 2, nil
}

// parseFields parses field lines from b[i:] on, up to and including the empty line after them. It returns the length of
// the head, or 0 and the index of the first unfinished line.
func parseFields(h *message.Head, b []byte, i int, lim *Limits, request bool) (n, at int, err error) {
	l := &h.Fields
	for i < len(b) && b[i] != '\r' {
		n, id := l.AddUsual(b, i)
		if n == 0 {
			if n, err = parseUnusual(l, b, i, request); n == 0 {
				return 0, i, err
			}
			id = l.ID(l.Len() - 1)
		}
		i += n
		if l.Len() > lim.Fields {
			return 0, i, ErrTooManyFields
		}
		if id <= lastNoted && id != field.Unknown {
			if err := note(h, id, l.Len()-1); err != nil {
				return 0, i, err
			}
		}
	}
	if i+1 >= len(b) {
		return 0, i, nil
	}
	if b[i+1] != '\n' {
		return 0, i, ErrLineEnd
	}
	i += 2
	h.Lines.Len = uint32(i) - h.Lines.Off
	h.Received = true
	l.Shorten(i) // a list that copies what it borrowed must not copy the body
	return i, i, nil
}

// parseUnusual parses a line that List.AddUsual ignores and returns its length, or 0 if the line is unfinished or
// invalid. In responses, the line may continue the previous field.
func parseUnusual(l *field.List, b []byte, i int, request bool) (int, error) {
	end, err := parseField(l, b, i)
	if end == 0 && err == ErrFold && !request && l.Len() > 0 {
		end, err = unfold(l, b, i)
	}
	return max(end-i, 0), err
}

// stopAt leaves the parser at b[i], where an unfinished line begins.
func (p *Parser) stopAt(i int) {
	if p.at != i {
		p.at, p.inValue = i, false
	}
}

// parseField parses the field line at b[i] and adds the field to l, which borrows b. It returns the index after the
// line, or 0 if the line is unfinished or invalid.
//
// It handles the lines that List.AddUsual ignores. Many of them also have a value of visible ASCII, which is found
// here without a second pass. parseName and parseValue do the rest.
func parseField(l *field.List, b []byte, i int) (end int, err error) {
	line := b[i:]
	id, colon := field.LookupHead(line)
	if id == field.Unknown {
		if colon, err = parseName(line); colon < 0 {
			return 0, err
		}
	}
	colon += i
	start := skipBlanks(b, colon+1)
	stop := start
	for ; stop+8 <= len(b); stop += 8 {
		if m := ascii.Odd(ascii.Word(b, stop)); m != 0 {
			stop += bits.TrailingZeros64(m) >> 3
			break
		}
	}
	if stop+1 >= len(b) || b[stop] != '\r' || b[stop+1] != '\n' {
		if stop, end, err = parseValue(b, stop); end == 0 {
			return 0, err
		}
	} else {
		end = stop + 2
	}
	l.AppendSpan(id, i, colon, start, trimBlanks(b, start, stop))
	return end, nil
}

// parseValue finds the end of the value that continues at b[i], and the end of its line. end is 0 if the line is
// unfinished or invalid. Blanks after the value are included.
func parseValue(b []byte, i int) (stop, end int, err error) {
	stop = i + ascii.IndexControl(b[i:])
	if stop+1 >= len(b) {
		if stop < len(b) && b[stop] != '\r' {
			return 0, 0, ErrLineEnd
		}
		return 0, 0, nil
	}
	if b[stop] != '\r' || b[stop+1] != '\n' {
		return 0, 0, ErrLineEnd
	}
	return stop, stop + 2, nil
}

// trimBlanks returns the end of b[start:stop] without trailing blanks.
func trimBlanks(b []byte, start, stop int) int {
	for stop > start && (b[stop-1] == ' ' || b[stop-1] == '\t') {
		stop--
	}
	return stop
}

// parseName returns the index of the colon in a line whose name is not a known one. It returns -1 if the colon has
// not arrived yet or the name is not a token.
func parseName(line []byte) (colon int, err error) {
	n := 0
	for n < len(line) && ascii.IsTokenByte(line[n]) {
		n++
	}
	switch {
	case n > field.MaxNameLen:
		return -1, ErrHeadTooLarge
	case n == len(line):
		return -1, nil
	case line[n] == ':' && n > 0:
		return n, nil
	case n == 0 && (line[0] == ' ' || line[0] == '\t'):
		return -1, ErrFold
	}
	return -1, ErrName
}

// unfold appends the line at b[i], which begins with a blank, to the value of the previous field. It replaces the
// CRLF in between with blanks (RFC 9112 §5.2) and returns the index after the line. It refuses folded lines in fields
// that control framing.
func unfold(l *field.List, b []byte, i int) (end int, err error) {
	last := l.Len() - 1
	switch l.ID(last) {
	case field.ContentLength, field.TransferEncoding, field.Connection:
		return 0, ErrFold
	}
	start := skipBlanks(b, i)
	stop, end, err := parseValue(b, start)
	if end == 0 {
		return 0, err
	}
	b[i-2], b[i-1] = ' ', ' ' // also before a line of blanks, because the next line may continue the value
	if stop = trimBlanks(b, start, stop); stop > start {
		l.Extend(last, uint32(start), uint32(stop))
	}
	return end, nil
}

// Words with the same constant in each of their eight bytes.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// indexBlank returns the index of the first SP, control character or DEL in b, or len(b). That is where a request
// target ends. It processes eight bytes at a time.
func indexBlank(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := ascii.Word(b, i)
		del := w ^ ones*0x7f
		if m := ((w-ones*0x21)&^w | (del-ones)&^del) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b); i++ {
		if b[i] <= ' ' || b[i] == 0x7f {
			return i
		}
	}
	return len(b)
}
