package web

import (
	"mime"
	"reflect"
	"strings"

	"github.com/gallop-http/gallop"
)

// BodyUncompressed returns the body without its content coding, which is a view if it has none. It may have as many bytes
// as one that came without. Errors have a status: 413, 415 for an unknown coding, or 400.
func (c *Ctx) BodyUncompressed() ([]byte, error) { return c.decodedBody() }

// MediaType returns the type of the request's body, in lower case and without parameters, "" if there is none.
func (c *Ctx) MediaType() string { return c.mediaType() }

// Charset returns the charset that the type of the request's body names, in lower case, "" if it names none.
func (c *Ctx) Charset() string {
	_, params, err := mime.ParseMediaType(c.Get(gallop.HeaderContentType))
	if err != nil {
		return ""
	}
	return strings.ToLower(params["charset"])
}

// Is reports whether the request's body is of a type: a media type, a short name for one, as "json", or
// all of a kind, as "image/*". JSON and XML are also what has them as a suffix, as application/problem+json.
func (c *Ctx) Is(mediaType string) bool {
	have, want := c.mediaType(), fullType(mediaType)
	want, _, _ = strings.Cut(strings.ToLower(want), ";")
	if kind, ok := strings.CutSuffix(want, "/*"); ok {
		first, _, _ := strings.Cut(have, "/")
		return first == kind
	}
	format := strings.TrimPrefix(want, "application/")
	return have == want || (format == "json" || format == "xml") && strings.HasSuffix(have, "+"+format)
}

// Queries returns all parameters of the query, of each the first value.
func (c *Ctx) Queries() map[string]string {
	args := c.request.QueryArgs()
	all := make(map[string]string, args.Len())
	for name, value := range args.All() {
		if _, there := all[string(name)]; !there {
			all[string(name)] = string(value)
		}
	}
	return all
}

// Params returns the value of a parameter of the route as a T, which is what a field may be that Binder fills with one value.
// The error is a BindError's, with the status 400.
func Params[T any](c *Ctx, name string) (T, error) {
	return valueOf[T](uriSource, name, c.ParamsBytes(name), nil)
}

// Query returns the first value of a parameter of the query as a T, as Params does. If there is no such parameter or it is empty it
// is the default, or, without one, an error.
func Query[T any](c *Ctx, name string, otherwise ...T) (T, error) {
	return valueOf(querySource, name, c.QueryBytes(name), otherwise)
}

// valueOf makes a T of text.
func valueOf[T any](s source, name string, text []byte, otherwise []T) (v T, err error) {
	if len(text) == 0 && len(otherwise) > 0 {
		return otherwise[0], nil
	}
	target := reflect.ValueOf(&v).Elem()
	leaf := shape{}
	if leaf.set, leaf.empty = setterOf(target.Type(), ""); leaf.set == nil {
		return v, errShape(target.Type())
	}
	if len(text) == 0 {
		err = &BindError{Err: errMissing, reason: "is missing"}
	} else {
		err = leaf.setTo(target, text)
	}
	if err != nil {
		var zero T
		return zero, clientError(within(err, s, name))
	}
	return v, nil
}
