package nethttp

import (
	"io"
	"net/http"
	"net/textproto"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop"
)

// copyHeader copies the handler's header into the response.
func (w *response) copyHeader() {
	h := &w.ctx.Response.Header
	w.untyped = h.ContentType() == nil
	h.SetNoDefaultContentType(true)
	var room [16]string
	for _, name := range sortedNames(room[:0], w.header) {
		values := w.header[name]
		key := textproto.CanonicalMIMEHeaderKey(name)
		switch key {
		case "Content-Length":
			w.copyLength(values)
			continue
		case "Content-Type", "Content-Encoding":
			w.copyTyped(key, values)
			continue
		case "Transfer-Encoding":
			if w.http2 {
				continue
			}
			w.typed = true
			if slices.Equal(values, identity) && !w.ctx.IsHead() {
				h.SetContentLength(-2)
			}
			continue
		case "Trailer":
			w.announce(values)
			continue
		case "Date":
			if len(values) == 0 {
				h.SetNoDefaultDate(true)
			}
		}
		if strings.HasPrefix(name, http.TrailerPrefix) {
			continue
		}
		if name != key { // assigned to the map, so it is to be spelled like that
			h.DisableNormalizing()
		}
		for _, value := range values {
			h.Add(name, oneLine(value))
		}
	}
}

var identity = []string{"identity"}

// sortedNames appends the sorted names of the fields to dst, so that the order in a response does not vary.
func sortedNames(dst []string, h http.Header) []string {
	for name := range h {
		dst = append(dst, name)
	}
	slices.Sort(dst)
	return dst
}

// copyLength takes over a Content-Length, if it is one. An empty list means that the response is to have none.
func (w *response) copyLength(values []string) {
	if len(values) == 0 {
		w.noLength = true
		return
	}
	n, err := strconv.ParseUint(strings.TrimSpace(values[0]), 10, 63)
	if err != nil {
		w.logf("invalid Content-Length")
		return
	}
	if w.mayHaveBody() {
		w.length = int64(n)
		w.ctx.Response.Header.SetContentLength(int(n))
	}
}

// copyTyped takes over fields of which each is a reason not to guess the type.
func (w *response) copyTyped(name string, values []string) {
	if name == "Content-Type" || len(values) > 0 && values[0] != "" {
		w.typed = true
	}
	if name == "Content-Type" && w.status == http.StatusNotModified && !w.http2 {
		return // over HTTP/2, net/http sends it
	}
	for _, value := range values {
		w.ctx.Response.Header.Add(name, oneLine(value))
	}
}

// oneLine makes blanks of line ends.
func oneLine(value string) string {
	if strings.IndexByte(value, '\n') < 0 && strings.IndexByte(value, '\r') < 0 {
		return value
	}
	return lineEnds.Replace(value)
}

var lineEnds = strings.NewReplacer("\n", " ", "\r", " ")

// announcement is what the lists in the field Trailer of a handler's header mean. It is not changed, because many responses use it.
type announcement struct {
	lists   []string
	all     string   // lists, in one line
	names   []string // canonical names in lists
	allowed []string // those of the names that may be trailers
}

// announce takes over the names of trailers, if there will be some.
func (w *response) announce(lists []string) {
	if w.length >= 0 && !w.http2 { // without chunks there are none
		return
	}
	if !w.ctx.Request.Header.IsHTTP11() { // to which net/http sends no length then
		w.trailers = true
		return
	}
	h := &w.ctx.Response.Header
	w.foreign = len(h.Peek("Trailer")) > 0
	last := w.how.announced.Load()
	if last == nil || !slices.Equal(last.lists, lists) {
		last = newAnnouncement(lists)
		w.how.announced.Store(last)
	}
	w.announced = last
	w.trailers = len(last.allowed) > 0
	h.AddTrailer(last.all) // skips names that must not be trailers
}

// newAnnouncement reads lists of names.
func newAnnouncement(lists []string) *announcement {
	a := &announcement{lists: slices.Clone(lists), all: strings.Join(lists, ",")}
	for name := range strings.SplitSeq(a.all, ",") {
		a.names = append(a.names, http.CanonicalHeaderKey(strings.TrimSpace(name)))
	}
	var probe gallop.ResponseHeader
	probe.AddTrailer(a.all)
	for name := range probe.Trailers() {
		a.allowed = append(a.allowed, http.CanonicalHeaderKey(string(name)))
	}
	return a
}

// has reports whether the handler has announced a trailer.
func (a *announcement) has(name string) bool { return a != nil && slices.Contains(a.names, name) }

func hasTrailerPrefix(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}

// copyTrailers sets the trailers that were announced, and those whose names say that
// they are some.
func (w *response) copyTrailers() {
	h := &w.ctx.Response.Header
	early := false // some were set before the head was written
	for range h.AllTrailers() {
		early = true
		break
	}
	if w.foreign || w.announced == nil {
		var room [16]string
		names := room[:0]
		for name := range h.Trailers() {
			names = append(names, http.CanonicalHeaderKey(string(name)))
		}
		for _, name := range names {
			if _, set := w.header[name]; set || w.announced.has(name) { // and not by somebody else
				w.setTrailer(name)
			}
		}
	} else {
		for _, name := range w.announced.allowed {
			if early || len(w.header[name]) > 0 {
				w.setTrailer(name)
			}
		}
	}
	if !hasTrailerPrefix(w.header) {
		return
	}
	var room [16]string
	for _, prefixed := range sortedNames(room[:0], w.header) {
		name, ok := strings.CutPrefix(prefixed, http.TrailerPrefix)
		if !ok {
			continue
		}
		if w.stream != nil {
			h.Del(name) // which the head has brought
		}
		if h.AddTrailer(name) != nil {
			continue
		}
		for _, value := range w.header[prefixed] {
			h.Add(name, oneLine(value))
		}
	}
}

// setTrailer sets a trailer that was announced.
func (w *response) setTrailer(name string) {
	h := &w.ctx.Response.Header
	h.Del(name) // the value from when the head was written
	for _, value := range w.header[name] {
		if value = oneLine(value); h.AppendTrailer(name, value) != nil {
			h.Add(name, value) // which replaces control characters
		}
	}
}

// isFile reports whether r reads a file, or a part of one.
func isFile(r io.Reader) bool {
	if limited, ok := r.(*io.LimitedReader); ok {
		r = limited.R
	}
	_, ok := r.(*os.File)
	return ok
}
