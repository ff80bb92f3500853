package http1

import (
	"bytes"
	"math/bits"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/target"
)

const (
	maxMethod  = 64 // bytes; the longest registered one has 17
	versionLen = len("HTTP/1.1\r\n")

	// maxEmptyLines may stand before a request: what clients have put behind the body of the one before.
	maxEmptyLines = 8
)

// ParseRequest parses the request head at the beginning of b into h and returns
// its length. Empty lines before it, eight at most, are skipped (RFC 9112 §2.2) and counted.
//
// h must be fresh (zero or Reset) at the first call for a message. While the
// result is 0 with a nil error the head is incomplete; call again with the same
// bytes and more behind them. h.Fields borrows b, which therefore must outlive h
// and not change.
//
// The value of Host is not looked into, nor the form of the target, unless h.TargetChecked
// says so.
func ParseRequest(h *Head, b []byte, lim *Limits) (n int, err error) {
	// What nearly every request is comes first: all there, a GET or a POST of HTTP/1.1 for a path
	// without escapes, and perhaps a query. Of its target each byte is looked at once, for
	// what parseRequestLine and target.Check are after, one behind the other. All else, right or
	// wrong, is for parse to tell.
	const shortest, version = len("GET / HTTP/1.1\r\n"), " HTTP/1.1\r\n"
	if h.scanned > 0 || len(b) >= lim.Head || len(b) < shortest {
		return parse(h, b, lim, true)
	}
	id, start := Get, len("GET ")
	if string(b[:len("GET ")]) != "GET " {
		if string(b[:len("POST ")]) != "POST " {
			return parse(h, b, lim, true)
		}
		id, start = Post, len("POST ")
	}
	end := target.Usual(b, start)
	if end == 0 || end-start > lim.Target || len(b)-end < len(version) || string(b[end:end+len(version)]) != version {
		return parse(h, b, lim, true)
	}
	h.Fields.Borrow(b)
	h.Method, h.MethodID = field.Span{Len: uint32(start - 1)}, id
	h.Target, h.TargetChecked = field.Span{Off: uint32(start), Len: uint32(end - start)}, true
	h.Minor, h.Length = 1, -1
	if n, err = parseFields(h, b, end+len(version), lim, true); n == 0 {
		h.scanned = len(b)
		return 0, err
	}
	return frameRequest(h, n)
}

// ParseResponse parses the response head at the beginning of b into h, as
// ParseRequest does. Folded lines are unfolded in place, in b (RFC 9112 §5.2).
// Call FrameResponse next.
func ParseResponse(h *Head, b []byte, lim *Limits) (n int, err error) {
	return parse(h, b, lim, false)
}

func parse(h *Head, b []byte, lim *Limits, request bool) (n int, err error) {
	whole := len(b)
	if whole > lim.Head {
		b = b[:lim.Head]
	}
	if h.scanned == 0 {
		h.Fields.Borrow(b)
		h.Length = -1
	} else {
		if whole < lim.Head && h.unfinished(b) {
			h.scanned = len(b)
			return 0, nil
		}
		h.Fields.Rebase(b)
	}
	end := h.at
	if end == 0 {
		end, err = parseFirstLine(h, b, lim, request)
	}
	if end > 0 {
		n, err = parseFields(h, b, end, lim, request)
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
	h.scanned = len(b)
	return 0, nil
}

// shortLine is how much of an unfinished field line is looked at again and again as
// it grows. Of what is longer only the new bytes are looked at, until one of them
// matters, so that a head that arrives byte by byte costs linear time.
const shortLine = 256

// unfinished reports whether the line that was not finished at the last call is
// certain not to be finished, or found wrong, at this one. A request line is always
// looked at: it is bounded by the limit of its target.
func (h *Head) unfinished(b []byte) bool {
	if h.at == 0 || len(b)-h.at < shortLine {
		return false
	}
	from := max(h.scanned-1, h.at) // a CR may have been the last byte
	if !h.inValue {
		h.inValue = bytes.IndexByte(b[max(h.at, h.scanned-shortLine):], ':') >= 0
		return !h.inValue && ascii.IsToken(b[from:])
	}
	return ascii.IndexControl(b[from:]) == len(b)-from
}

// parseFirstLine parses the first line and returns where it ends: 0 if it is not finished, or wrong.
func parseFirstLine(h *Head, b []byte, lim *Limits, request bool) (int, error) {
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

// EmptyLines reports whether b holds empty lines alone, or nothing: no request begins with it,
// as yet.
func EmptyLines(b []byte) bool { return len(bytes.Trim(b, "\r\n")) == 0 }

// parseRequestLine parses the request line at b[i:] and returns where it ends.
func parseRequestLine(h *Head, b []byte, i int, lim *Limits) (int, error) {
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

// parseMethod parses the method at b[i:] and the blank behind it, and returns where
// that ends.
func parseMethod(h *Head, b []byte, i int) (int, error) {
	start := i
	if len(b)-i > 4 && string(b[i:i+4]) == "GET " {
		h.Method, h.MethodID = field.Span{Off: uint32(i), Len: 3}, Get
		return i + 4, nil
	}
	for i < len(b) && ascii.IsTokenByte(b[i]) {
		i++
	}
	if i-start > maxMethod {
		return 0, ErrMethodTooLong
	}
	if i == len(b) {
		return 0, nil
	}
	if b[i] != ' ' || i == start {
		return 0, ErrMethod
	}
	h.Method = field.Span{Off: uint32(start), Len: uint32(i - start)}
	h.MethodID = MethodOf(b[start:i])
	return i + 1, nil
}

// parseVersion parses "HTTP/1.x" CRLF at b[i:] and returns where it ends.
func parseVersion(h *Head, b []byte, i int) (int, error) {
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
		return 0, ErrVersion
	}
	h.Minor = v[7] - '0'
	return i + versionLen, nil
}

// parseStatusLine parses the status line at b[i:] and returns where it ends. The
// reason phrase may be missing, and the blank before it as well.
func parseStatusLine(h *Head, b []byte, i int) (int, error) {
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

// parseFields parses field lines from b[i:] on, up to the empty line behind
// them, and returns the end of that. h.at is left at the first unfinished line.
func parseFields(h *Head, b []byte, i int, lim *Limits, request bool) (int, error) {
	l := &h.Fields
	if h.at == 0 {
		h.at, h.Lines.Off = i, uint32(i)
	}
	for i < len(b) && b[i] != '\r' {
		n, id := l.AddUsual(b, i)
		if n == 0 {
			end, err := parseField(l, b, i)
			if end == 0 && err == ErrFold && !request && l.Len() > 0 {
				if end, err = h.unfold(b, i); end > 0 {
					i = end
					continue
				}
			}
			if end == 0 {
				h.stopAt(i)
				return 0, err
			}
			n, id = end-i, l.ID(l.Len()-1)
		}
		i += n
		if l.Len() > lim.Fields {
			return 0, ErrTooManyFields
		}
		if id <= lastNoted && id != field.Unknown {
			if err := h.note(id, l.Len()-1); err != nil {
				return 0, err
			}
		}
	}
	if i+1 >= len(b) {
		h.stopAt(i)
		return 0, nil
	}
	if b[i+1] != '\n' {
		return 0, ErrLineEnd
	}
	i += 2
	h.Lines.Len = uint32(i) - h.Lines.Off
	l.Shorten(i) // a list that copies what it borrowed copies no body
	return i, nil
}

// stopAt leaves the parser at b[i], where a line begins that is not finished.
func (h *Head) stopAt(i int) {
	if h.at != i {
		h.at, h.inValue = i, false
	}
}

// parseField parses the field line that begins at b[i], adds the field to l, which
// borrows b, and returns where the line ends: 0 if it is not finished, or wrong.
//
// It is for what List.AddUsual passes over. Many of those lines have a value of visible ASCII,
// too, which is found here without another look; parseName and parseValue do the rest.
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

// parseValue finds where the value that goes on at b[i] ends, and where its line
// does: end is 0 if the line is not finished, or wrong. Blanks behind the value are
// part of it.
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

// trimBlanks returns the end of b[start:stop] without the blanks at its end.
func trimBlanks(b []byte, start, stop int) int {
	for stop > start && (b[stop-1] == ' ' || b[stop-1] == '\t') {
		stop--
	}
	return stop
}

// parseName returns where the colon of a line is whose name is none of the known
// ones, or -1 if it is not there yet or the name is no token.
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

// unfold adds the line that begins with a blank at b[i] to the value of the field
// before it, by turning the CRLF between them into blanks (RFC 9112 §5.2), and
// returns where the line ends. Framing is not guessed from folded lines.
func (h *Head) unfold(b []byte, i int) (end int, err error) {
	last := h.Fields.Len() - 1
	switch h.Fields.ID(last) {
	case field.ContentLength, field.TransferEncoding, field.Connection:
		return 0, ErrFold
	}
	start := skipBlanks(b, i)
	stop, end, err := parseValue(b, start)
	if end == 0 {
		return 0, err
	}
	b[i-2], b[i-1] = ' ', ' ' // also before a line of blanks: the next one may go on with the value
	if stop = trimBlanks(b, start, stop); stop > start {
		h.Fields.Extend(last, uint32(start), uint32(stop))
	}
	return end, nil
}

// The words below hold one constant in each of their eight bytes.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// indexBlank returns the index of the first byte of b that is SP, a control
// character or DEL, or len(b): where a request target ends. Eight bytes a step.
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
