package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/codec"
)

// Validator checks the structs that Binder has filled. Set a Validator as Config.Validator.
type Validator interface {
	// Validate checks v, the pointer that was passed to a Binder method. The argument ctx is the [*Ctx] of the request. If Validate
	// returns an *Error, Binder returns that error unchanged. If Validate returns an error of another type, Binder wraps the error in
	// an *Error with status 422. The text of Validate's error becomes the Message, which clients can read. Validate may be called
	// concurrently.
	Validate(ctx context.Context, v any) error
}

// Bind fills a struct of type T from all parts of the request and returns the struct. See [Binder.All].
func Bind[T any](c *Ctx) (v T, err error) {
	err = c.Bind().All(&v)
	return v, err
}

// Bind returns a Binder, which fills structs from the request. To fill a struct from all parts of the request, call the function
// [Bind].
func (c *Ctx) Bind() Binder { return Binder{c} }

// Binder fills structs from a request. Each Binder method reads one or more sources, such as the query. The method sets only
// fields that have a tag for one of its sources:
//
//	type Page struct {
//		Author int       `path:"author"`
//		Number int       `query:"page" default:"1"`
//		Tags   []string  `query:"tag"`
//		Fields []string  `query:"fields,comma"`
//		Since  time.Time `query:"since" layout:"2006-01-02"`
//		Until  time.Time `query:"until,unix"`
//		Trace  string    `header:"X-Trace" cookie:"trace"`
//		Title  string    `form:"title,required"`
//		File   *multipart.FileHeader `form:"file"`
//	}
//
// The tag "uri" means the same as "path". A field can be a string, []byte, bool, number, time.Time, time.Duration, or a type with
// an UnmarshalText method. Pointers and slices, such as *time.Time and []int, are supported, too. A slice field gets all values
// that the request has for its name. For a header, the slice gets all members of the header's comma-separated list. The fields of
// an embedded struct count as fields of the outer struct.
//
// For queries and forms, fields can also be structs, maps with string keys, or slices of structs or maps. Nested values have names
// such as address.city, address[city], items[0].price or ids[] in the request. Binder sorts the elements of a slice by index:
// items[0] comes before items[2]. Missing indexes leave no gaps: items[0] and items[2] fill a slice of two elements. In a
// multipart form, a field of type *multipart.FileHeader gets an uploaded file. A slice of *multipart.FileHeader gets all files
// with the field's name.
//
// In a struct tag, options follow the name: `query:"id,comma"` has the name id and the option comma. Each option applies to
// all sources of the field:
//
//   - required: a missing or empty value is an error, unless the field is already set.
//   - comma: each value is a comma-separated list.
//   - unix: a time.Time is read from a number of seconds since 1970. Without the option unix, times have the format of RFC 3339, or
//     the layout in the field's "layout" tag.
//
// Binder ignores unknown options, so you can use the same struct type with package rest and its options.
//
// An empty value counts as missing, unless the field is a string. If the request has several values, a field that is not a slice
// gets the first value. If the request has no value, the field keeps its contents. The exception is a zero field with a "default"
// tag, which gets the value of the tag.
//
// The methods JSON, XML and Body take a pointer to any value that the codec can decode. All other Binder methods take a pointer
// to a struct. After a Binder method has filled the value, Config.Validator checks it.
//
// If a request value cannot be bound, the error is an [*Error] with status 400 whose cause is a [*BindError]. The Error's Message
// names the field and is meant for clients. The server's MaxFormArgs limits how many values Binder reads. The default is 10,000. A
// name may have at most 16 parts; items[0].price has three.
//
// A mistake in the program, such as a field of an unsupported type, causes an error that is not an [*Error]. The methods Path,
// Query, Header, Cookie and Form fail if no field has the tag of the method. Query, for example, needs a field with a "query" tag.
type Binder struct{ c *Ctx }

// Path fills the fields tagged "path" or "uri" from the parameters of the route.
func (b Binder) Path(v any) error { return b.bind(v, pathSource) }

// Query fills the fields tagged "query" from the query.
func (b Binder) Query(v any) error { return b.bind(v, querySource) }

// Header fills the fields tagged "header" from the request headers.
func (b Binder) Header(v any) error { return b.bind(v, headerSource) }

// Cookie fills the fields tagged "cookie" from the cookies of the request.
func (b Binder) Cookie(v any) error { return b.bind(v, cookieSource) }

// Form fills the fields tagged "form" from a URL-encoded or multipart form in the body, including its files. If the body has a
// different type, the error has status 415.
func (b Binder) Form(v any) error {
	if b.c.hasForm() {
		return b.bind(v, formSource)
	}
	return b.c.unsupported()
}

// JSON decodes the body as JSON, regardless of its Content-Type.
func (b Binder) JSON(v any) error {
	return b.validated(v, b.decode(b.c.app.codecs.json, SourceJSON, v))
}

// XML decodes the body as XML, regardless of its Content-Type.
func (b Binder) XML(v any) error { return b.validated(v, b.decode(b.c.app.codecs.xml, SourceXML, v)) }

// Body decodes the body by its Content-Type: as JSON, as XML, as a form, or with a codec from Config.Codecs. If the body has a
// different type, the error has status 415.
func (b Binder) Body(v any) error {
	if b.c.hasForm() {
		return b.Form(v)
	}
	codec, source := b.c.app.codecs.find(b.c.mediaType())
	if codec == nil {
		return b.c.unsupported()
	}
	return b.validated(v, b.decode(codec, source, v))
}

// All fills v from the path parameters, the query, the headers, the cookies and the body. If several sources have a
// value for a field, the path wins, then the query, the header, the cookie and the body.
//
// A JSON body sets a field with a Binder tag, such as "query", only if the field also has a "json" tag. An XML body sets a field
// with a Binder tag only if the field also has an "xml" tag. Bodies in other formats of Config.Codecs never set a field with a
// Binder tag.
//
// If the body has a type that no codec decodes, the error has status 415.
func (b Binder) All(v any) error {
	if b.c.hasForm() { // may be larger than memory, so it is not read here
		return b.bind(v, pathSource, querySource, headerSource, cookieSource, formSource)
	}
	switch body := b.c.request.PostBody(); {
	case len(body) > 0:
		codec, source := b.c.app.codecs.find(b.c.mediaType())
		if codec == nil {
			return b.c.unsupported()
		}
		if err := b.decodeApart(codec, source, v); err != nil {
			return err
		}
	case b.c.request.Request.BodyErr() != nil:
		return bodyError(b.c.request.Request.BodyErr())
	}
	return b.bind(v, pathSource, querySource, headerSource, cookieSource)
}

// bind fills v from sources. The first source that has a value for a field wins.
func (b Binder) bind(v any, sources ...source) error {
	target, p, err := planOf(v)
	if err != nil {
		return err
	}
	if len(sources) == 1 {
		if err := p.wants(sources[0], target.Type()); err != nil {
			return err
		}
	}
	f := fillers.Get().(*filler)
	f.c = b.c
	defer f.release()
	scopes := f.scopes[:0]
	for _, s := range sources {
		entries, err := f.gather(s)
		if err != nil {
			return err
		}
		scopes = append(scopes, scope{s, entries})
	}
	if _, err = f.fillStruct(p, target, scopes, false); err != nil {
		return clientError(err)
	}
	return b.validated(v, nil)
}

// decode decodes the body.
func (b Binder) decode(codec codec.Codec, source Source, v any) error {
	body, err := b.c.BodyUncompressed()
	if err != nil {
		return err
	}
	if err := codec.Decode(body, v); err != nil {
		return clientError(decodeFailure(source, err))
	}
	return nil
}

// decodeApart decodes the body without changing the fields that come from other sources.
func (b Binder) decodeApart(codec codec.Codec, source Source, v any) error {
	target, p, err := planOf(v)
	if err != nil {
		return err
	}
	before := p.keep(target, source)
	if err := b.decode(codec, source, v); err != nil {
		return err
	}
	p.restore(target, source, before)
	return nil
}

// validated calls Config.Validator, unless err is not nil.
func (b Binder) validated(v any, err error) error {
	validator := b.c.app.config.Validator
	if err != nil || validator == nil {
		return err
	}
	err = validator.Validate(b.c, v)
	var own *Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	return &Error{Status: gallop.StatusUnprocessableEntity, Message: cmp.Or(err.Error(), gallop.StatusMessage(gallop.StatusUnprocessableEntity)), Err: err}
}

// clientError wraps a BindError in an Error with status 400. It returns other errors unchanged.
func clientError(err error) error {
	var e *BindError
	if !errors.As(err, &e) {
		return err
	}
	return &Error{Status: gallop.StatusBadRequest, Message: e.message(), Err: e}
}

// decodeFailure returns a BindError for an error of a codec, with the details that a client may see.
func decodeFailure(source Source, err error) error {
	e := &BindError{Source: source, Err: err, reason: "the body is malformed"}
	var malformed *json.SyntaxError
	if errors.As(err, &malformed) {
		e.reason += " at byte " + strconv.FormatInt(malformed.Offset, 10)
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		e.Field, e.Value, e.reason = wrong.Field, wrong.Value, "has a value of another type"
	}
	var missing *json.InvalidUnmarshalError
	if errors.As(err, &missing) { // a mistake in the program
		return err
	}
	return e
}
