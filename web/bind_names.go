package web

import (
	"bytes"
	"maps"
	"mime/multipart"
	"slices"

	"github.com/gallop-http/gallop"
)

// Limits of Binder.
const (
	defaultMaxArgs = 10_000 // the default of Server.MaxFormArgs
	maxParts       = 16     // of a name
)

// entry is a name and a value. Each level of a struct cuts its part off the front of the name: "items.0.price" is "0.price" within
// items, and "price" within the first element.
type entry struct {
	name  []byte // dots separate its parts
	value []byte
	file  *multipart.FileHeader // instead of a value
}

// scope is the entries of one source from which a value is set.
type scope struct {
	source  source
	entries []entry
}

// gather returns the entries of a query or a form. For other sources, gatherField returns the entries of each field.
func (f *filler) gather(s source) ([]entry, error) {
	switch s {
	case querySource:
		return f.gatherArgs(s, f.c.request.QueryArgs())
	case formSource:
		return f.gatherForm()
	}
	return nil, nil
}

// gatherArgs returns entries for the arguments of a query or a form.
func (f *filler) gatherArgs(s source, args *gallop.Args) ([]entry, error) {
	if args.Err() != nil {
		return nil, tooManyEntries(s)
	}
	start := len(f.entries)
	for name, value := range args.All() {
		if err := f.add(s, start, entry{name: name, value: value}); err != nil {
			return nil, err
		}
	}
	return f.entries[start:], nil
}

// add adds an entry with the name as the client wrote it. The entries of its source begin at start.
func (f *filler) add(s source, start int, e entry) (err error) {
	e.name, err = f.dotted(e.name)
	if limit := f.c.maxArgs(); err == nil && limit > 0 && len(f.entries)-start >= limit {
		return tooManyEntries(s)
	}
	if err != nil {
		return clientError(&BindError{Source: sourceNames[s], Err: err, reason: err.Error()})
	}
	f.entries = append(f.entries, e)
	return nil
}

func tooManyEntries(s source) error {
	return clientError(&BindError{Source: sourceNames[s], Err: errTooManyEntries, reason: "has too many values"})
}

// dotted returns a name with dots instead of brackets: "a[b][0]" becomes "a.b.0". A name with unmatched brackets is not changed.
func (f *filler) dotted(name []byte) ([]byte, error) {
	if bytes.Count(name, []byte("."))+bytes.Count(name, []byte("[")) >= maxParts {
		return nil, errTooManyParts
	}
	open := bytes.IndexByte(name, '[')
	if open <= 0 {
		return name, nil
	}
	start := len(f.names)
	f.names = append(f.names, name[:open]...)
	for rest := name[open:]; len(rest) > 0; {
		if rest[0] == '.' && len(rest) > 1 { // a[0].b
			end := bytes.IndexByte(rest, '[')
			if end < 0 {
				end = len(rest)
			}
			f.names = append(f.names, rest[:end]...)
			rest = rest[end:]
			continue
		}
		part, behind, closed := bytes.Cut(rest[1:], []byte("]"))
		if rest[0] != '[' || !closed || bytes.IndexByte(part, '[') >= 0 {
			f.names = f.names[:start]
			return name, nil
		}
		f.names = append(append(f.names, '.'), part...)
		rest = behind
	}
	return f.names[start:len(f.names):len(f.names)], nil
}

// gatherForm returns the entries of the form in the body.
func (f *filler) gatherForm() ([]entry, error) {
	if f.c.mediaType() == typeMultipart {
		form, err := f.c.MultipartForm()
		if err != nil {
			return nil, err
		}
		return f.gatherMultipart(form)
	}
	args, err := f.c.postArgs()
	if err != nil {
		return nil, err
	}
	return f.gatherArgs(formSource, args)
}

// gatherMultipart returns the values and the files of a form, sorted by name. The parsed form has lost the original order, and
// sorting makes the result the same each time.
func (f *filler) gatherMultipart(form *multipart.Form) ([]entry, error) {
	start := len(f.entries)
	for _, name := range slices.Sorted(maps.Keys(form.Value)) {
		for _, value := range form.Value[name] {
			if err := f.add(formSource, start, entry{name: []byte(name), value: []byte(value)}); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(form.File)) {
		for _, file := range form.File[name] {
			if err := f.add(formSource, start, entry{name: []byte(name), file: file}); err != nil {
				return nil, err
			}
		}
	}
	return f.entries[start:], nil
}

// gatherField returns the entries of a field from a source whose names have no parts. If the field is a list, it returns an entry for
// each member of a header.
func (f *filler) gatherField(fd *field, s source, name string) []entry {
	start := len(f.entries)
	var value []byte
	switch s {
	case pathSource:
		value = f.c.ParamsBytes(name)
	case cookieSource:
		value = f.c.CookiesBytes(name)
	case headerSource:
		if fd.shape.isList() {
			f.entries = appendMembers(f.entries, name, f.c.request.Request.Header.PeekAll(name))
			return f.entries[start:]
		}
		value = f.c.ReqHeaderBytes(name)
	}
	if value != nil {
		f.entries = append(f.entries, entry{name: gallop.UnsafeBytes(name), value: value})
	}
	return f.entries[start:]
}

// appendMembers appends an entry for each member of the lists in the lines of a header (RFC 9110 §5.6.1).
func appendMembers(list []entry, name string, lines [][]byte) []entry {
	for _, line := range lines {
		for len(line) > 0 {
			end := memberEnd(line)
			if member := bytes.Trim(line[:end], " \t"); len(member) > 0 {
				list = append(list, entry{name: gallop.UnsafeBytes(name), value: member})
			}
			line = line[min(end+1, len(line)):]
		}
	}
	return list
}

// memberEnd returns the position of the comma that ends the first member, or the length of line. It skips quoted strings.
func memberEnd(line []byte) int {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch {
		case quoted && line[i] == '\\':
			i++
		case line[i] == '"':
			quoted = !quoted
		case line[i] == ',' && !quoted:
			return i
		}
	}
	return len(line)
}
