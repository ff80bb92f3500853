//go:build linux

package load

import (
	"bytes"
	"errors"
	"strconv"
)

// answer describes the first response in the bytes that were read.
type answer struct {
	size   int // length of the whole response; 0 if it is incomplete
	status int
	closes bool // the server announces that it closes the connection afterwards
	toEnd  bool // the body ends when the connection is closed
}

var (
	errNotHTTP  = errors.New("not a response")
	errNoLength = errors.New("response without Content-Length")
)

var (
	headEnd     = []byte("\r\n\r\n")
	lengthField = []byte("\r\ncontent-length: ")
	closeField  = []byte("\r\nconnection: close\r\n")
)

// parseAnswer finds the end of a response. The response must have a Content-Length, a status without a body, or a
// body that ends when the connection is closed. In the last case size covers only the head.
func parseAnswer(b []byte) (a answer, err error) {
	end := bytes.Index(b, headEnd)
	if end < 0 {
		if len(b) > 64<<10 {
			return a, errNotHTTP
		}
		return a, nil
	}
	head := b[:end+2]
	if len(head) < 14 || string(head[:7]) != "HTTP/1." {
		return a, errNotHTTP
	}
	if a.status, err = strconv.Atoi(string(head[9:12])); err != nil {
		return a, errNotHTTP
	}
	a.closes = indexField(head, closeField) >= 0
	size := end + len(headEnd)
	if a.status != 204 && a.status != 304 {
		n, err := contentLength(head)
		if a.toEnd = err == errNoLength && a.closes; err != nil && !a.toEnd {
			return a, err
		}
		size += n
	}
	if len(b) >= size {
		a.size = size
	}
	return a, nil
}

func contentLength(head []byte) (n int, err error) {
	i := indexField(head, lengthField)
	if i < 0 {
		return 0, errNoLength
	}
	digits := head[i+len(lengthField):]
	digits = digits[:bytes.IndexByte(digits, '\r')]
	if len(digits) > 15 {
		return 0, errNotHTTP
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, errNotHTTP
		}
		n = n*10 + int(c-'0')
	}
	return n, nil
}

// indexField finds a field, given in lower case, in the head, regardless of case.
func indexField(head, field []byte) int {
	for i := 0; ; {
		j := bytes.Index(head[i:], field[:2])
		if j < 0 || len(head)-i-j < len(field) {
			return -1
		}
		if i += j; bytes.EqualFold(head[i:i+len(field)], field) {
			return i
		}
		i += 2
	}
}
