package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop/rest/internal/plainjson"
)

// listDecoder decodes a list element by element, of a text of which only some is in memory: a window. As long as all is
// plain that is done here; from the first element that is not, a json.Decoder does it.
type listDecoder struct {
	JSON
	src  io.Reader
	buf  *buffer
	from int   // where in buf the window begins
	at   int64 // and where in the text
	list reflect.Value
}

const (
	firstWindow = 64 << 10
	maxWindow   = maxPooled // an element that is larger is no plain one
)

// decodeList decodes the list that src has into an empty slice.
func (j JSON) decodeList(src io.Reader, slice reflect.Value) error {
	l := &listDecoder{JSON: j, src: src, list: reflect.New(slice.Type()).Elem()}
	if j.RefuseUnknown || !plainjson.IsPlain(slice.Type().Elem()) {
		return l.rest(src, slice)
	}
	l.buf = getBuffer(firstWindow)
	defer func() { l.buf.release() }()
	for {
		n, ended, ok := l.element()
		switch {
		case ok:
			l.from += n
			l.at += int64(n)
		case l.more():
			continue
		default:
			return l.rest(io.MultiReader(bytes.NewReader(l.buf.b[l.from:]), src), slice)
		}
		if ended {
			l.finish(slice)
			return l.end(l.decoder(io.MultiReader(bytes.NewReader(l.buf.b[l.from:]), src)), l.at)
		}
	}
}

// element decodes what the window begins with: a bracket or comma, and an element, or the bracket that ends it all.
func (l *listDecoder) element() (n int, ended, ok bool) {
	window := l.buf.b[l.from:]
	rest := bytes.TrimLeft(window, " \t\r\n")
	count := l.list.Len()
	if len(rest) > 0 && count > 0 && rest[0] == ']' {
		return len(window) - len(rest) + 1, true, true
	}
	if len(rest) == 0 || rest[0] != "[,"[min(count, 1)] {
		return 0, false, false
	}
	rest = rest[1:]
	if empty := bytes.TrimLeft(rest, " \t\r\n"); count == 0 && len(empty) > 0 && empty[0] == ']' {
		return len(window) - len(empty) + 1, true, true
	}
	l.list.Grow(1)
	l.list.SetLen(count + 1)
	n, ok = plainjson.Element(rest, l.list.Index(count))
	if !ok {
		l.list.SetLen(count)
		return 0, false, false
	}
	return len(window) - len(rest) + n, false, true
}

// more makes the window larger, and reports whether it could.
func (l *listDecoder) more() bool {
	l.buf.b = l.buf.b[:copy(l.buf.b, l.buf.b[l.from:])]
	l.from = 0
	before := len(l.buf.b)
	if before >= maxWindow {
		return false
	}
	_ = l.buf.fill(l.src, min(max(firstWindow, 2*before), maxWindow)) // an error is there again when it is read again
	return len(l.buf.b) > before
}

func (l *listDecoder) finish(slice reflect.Value) {
	if l.list.IsNil() {
		l.list.Set(reflect.MakeSlice(slice.Type(), 0, 0))
	}
	slice.Set(l.list)
}

// rest decodes the elements that are left in src. As in encoding/json, a value of the wrong type does not end
// it; the first such error is returned.
func (l *listDecoder) rest(src io.Reader, slice reflect.Value) error {
	count := l.list.Len()
	prefix := ""
	if count > 0 {
		prefix = "[0" // what is there already
	}
	d := l.decoder(io.MultiReader(strings.NewReader(prefix), src))
	base := l.at - int64(len(prefix))
	first, err := d.Token()
	switch {
	case err != nil:
		return decodeError(err, d.InputOffset(), base)
	case first == nil:
		return l.end(d, base)
	case first != json.Delim('['):
		return &DecodeError{Offset: d.InputOffset() + base, Err: errors.New("want a list, as the value is a slice")}
	}
	if count > 0 {
		if err := d.Decode(new(int)); err != nil {
			return decodeError(err, d.InputOffset(), base)
		}
	}
	wrong, err := l.elements(d, base)
	l.finish(slice)
	if err != nil {
		return err
	}
	if _, err := d.Token(); err != nil {
		return decodeError(err, d.InputOffset(), base)
	}
	if wrong != nil {
		return wrong
	}
	return l.end(d, base)
}

// elements decodes all that d has. wrong is the first error of one whose type does not fit, err what ended it.
func (l *listDecoder) elements(d *json.Decoder, base int64) (wrong, err error) {
	for d.More() {
		i := l.list.Len()
		l.list.Grow(1)
		l.list.SetLen(i + 1)
		at := d.InputOffset()
		err := d.Decode(l.list.Index(i).Addr().Interface())
		var mistyped *json.UnmarshalTypeError
		switch {
		case err == nil:
		case errors.As(err, &mistyped) && d.InputOffset() > at:
			if wrong == nil {
				wrong = inElement(decodeError(err, at, base), i, at+base)
			}
		default:
			return nil, inElement(decodeError(err, d.InputOffset(), base), i, 0)
		}
	}
	return wrong, nil
}

// inElement says of an error that it is in the element i, which begins at the offset.
func inElement(err error, i int, at int64) error {
	var d *DecodeError
	if errors.As(err, &d) {
		path := "[" + strconv.Itoa(i) + "]"
		if d.Path != "" {
			path += "." + d.Path
		}
		d.Path = path
		d.Offset = max(d.Offset, at)
	}
	return err
}
