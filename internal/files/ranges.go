package files

import (
	"bytes"
	"errors"
	"math"

	"github.com/gallop-http/gallop/internal/ascii"
)

// Span is a part of a content: 0 ≤ Start, 0 < Length, Start+Length ≤ its size.
type Span struct{ Start, Length int64 }

// maxSpans is how many ranges one request may ask for. More ranges, or ranges that overlap, can be an attempt to
// overload the server (RFC 9110 §17.15).
const maxSpans = 32

// ParseSpans returns the spans that the value of a Range field selects from a content of size bytes.
//
// ignore says that the field has to be ignored. It has another unit, wrong syntax, too many ranges, or ranges that
// overlap (RFC 9110 §14.2). If ignore is false and there are no spans, the field cannot be satisfied. It selects no
// byte of the content, or one of its ranges ends before it starts (RFC 9110 §15.5.17).
func ParseSpans(value []byte, size int64) (spans []Span, ignore bool) {
	unit, set := ascii.Cut(value, '=')
	if !ascii.EqualFold(unit, "bytes") || len(unit) == len(value) || size == 0 {
		return nil, true
	}
	specs := 0
	for more := true; more; {
		spec := set
		comma := bytes.IndexByte(set, ',')
		if more = comma >= 0; more {
			spec, set = set[:comma], set[comma+1:]
		}
		if spec = ascii.TrimOWS(spec); len(spec) == 0 {
			continue // empty members of a list count for nothing: RFC 9110 §5.6.1.2
		}
		if specs++; specs > maxSpans {
			return nil, true
		}
		span, ok := parseSpan(spec, size)
		if !ok {
			return nil, true
		}
		if span.Length < 0 {
			return nil, false
		}
		if span.Length > 0 {
			spans = append(spans, span)
		}
	}
	if specs == 0 || overlap(spans) {
		return nil, true
	}
	return spans, false
}

// parseSpan parses one range (RFC 9110 §14.1.2). A range outside the content has length 0. A range that ends before it
// starts has length -1.
func parseSpan(spec []byte, size int64) (span Span, ok bool) {
	first, last, dash := bytes.Cut(spec, []byte("-"))
	if !dash || len(first)+len(last) == 0 || !isDigits(first) || !isDigits(last) {
		return span, false
	}
	if len(first) == 0 {
		n := min(parsePosition(last), size)
		return Span{size - n, n}, true
	}
	start, end := parsePosition(first), size-1
	if len(last) > 0 {
		if end = parsePosition(last); end < start {
			return Span{Length: -1}, true
		}
	}
	if start >= size {
		return span, true
	}
	return Span{start, min(end, size-1) - start + 1}, true
}

// parsePosition returns the value of digits, or math.MaxInt64 if the value is larger.
func parsePosition(digits []byte) int64 {
	n, ok := ascii.ParseUint(digits)
	if !ok || n > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(n)
}

func overlap(spans []Span) bool {
	for i, a := range spans {
		for _, b := range spans[:i] {
			if a.Start < b.Start+b.Length && b.Start < a.Start+a.Length {
				return true
			}
		}
	}
	return false
}

var (
	errRangeUnit           = errors.New("gallop: range unit is not bytes")
	errRangeSyntax         = errors.New("gallop: not a single byte range")
	errRangeNotSatisfiable = errors.New("gallop: byte range lies outside the content")
)

// ParseByteRange parses the value of a Range header with a single range against a content of contentLength bytes. It
// returns the first and the last position.
func ParseByteRange(byteRange []byte, contentLength int) (startPos, endPos int, err error) {
	unit, spec := ascii.Cut(byteRange, '=')
	if !ascii.EqualFold(unit, "bytes") || len(unit) == len(byteRange) {
		return 0, 0, errRangeUnit
	}
	first, last, found := bytes.Cut(ascii.TrimOWS(spec), []byte("-"))
	if !found || len(first)+len(last) == 0 || !isDigits(first) || !isDigits(last) {
		return 0, 0, errRangeSyntax
	}
	if len(first) == 0 {
		suffix := clippedUint(last, contentLength)
		if suffix == 0 {
			return 0, 0, errRangeNotSatisfiable
		}
		return contentLength - suffix, contentLength - 1, nil
	}
	startPos, endPos = clippedUint(first, contentLength), contentLength-1
	if startPos >= contentLength {
		return 0, 0, errRangeNotSatisfiable
	}
	if len(last) > 0 {
		endPos = clippedUint(last, contentLength-1)
	}
	if endPos < startPos {
		return 0, 0, errRangeSyntax
	}
	return startPos, endPos, nil
}

func isDigits(b []byte) bool {
	for _, c := range b {
		if !ascii.IsDigit(c) {
			return false
		}
	}
	return true
}

// clippedUint returns the value of digits, or limit if the value is larger.
func clippedUint(digits []byte, limit int) int {
	n, ok := ascii.ParseUint(digits)
	if !ok || n > uint64(max(limit, 0)) {
		return max(limit, 0)
	}
	return int(n)
}
