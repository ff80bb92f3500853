package files

import (
	"bytes"
	"errors"

	"github.com/gallop-http/gallop/internal/ascii"
)

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
