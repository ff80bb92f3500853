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

// Validator checks the structs that Binder has filled. Set it as Config.Validator.
type Validator interface {
	// Validate checks v, the pointer that Binder got. ctx is the [*Ctx] of the request. An *Error goes to the error handler
	// unchanged. Any other error becomes the cause of an *Error with status 422, and its text becomes the Message, which
	// clients read. Validate may be called concurrently.
	Validate(ctx context.Context, v any) error
}

// Bind fills a struct of type T from all parts of the request and returns it. See [Binder.All].
func Bind[T any](c *Ctx) (v T, err error) {
	err = c.Bind().All(&v)
	return v, err
}

// Bind returns a Binder, which fills structs from the request. To fill a struct from all parts of the request, call the function
// [Bind].
func (c *Ctx) Bind() Binder { return Binder{c} }

// Binder fills structs from a request. It sets only fields that have a tag for the source:
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
// The tag "uri" means the same as "path". A field can be a string, []byte, bool, number, time.Time, time.Duration or a type with an
// UnmarshalText method, a pointer to one of these types, or a slice of them. A slice gets all values of the name, or all list
// members of a header. The fields of an embedded struct count as fields of the outer struct.
//
// In queries and forms, a field can also be a struct, a map with string keys, or a slice of structs or maps. Names in the request
// are then spelled address.city, address[city], items[0].price or ids[]. Elements are sorted by their numbers, and missing numbers
// are skipped. In a multipart form, a *multipart.FileHeader or a slice of them gets the uploaded files.
//
// Options follow the name, as in "tag,comma". They apply to all sources of the field:
//
//   - required: a missing or empty value is an error, unless the field is already set.
//   - comma: each value is a comma-separated list.
//   - unix: a time.Time is sent in seconds since 1970. Without this option, times are in the format of RFC 3339 or of the tag
//     layout.
//
// Other options are ignored, so that package rest can send the same struct type.
//
// An empty value counts as missing, except for a string. If several values are sent, a field that is not a slice gets the first
// one. If no value is sent, the field keeps its contents, or gets the value of its default tag if it is zero.
//
// Every method takes a pointer to a struct, except JSON, XML and Body, which take a pointer to anything that the codec can decode.
// Config.Validator checks the result.
//
// If a request value cannot be bound, the error is an [*Error] with status 400 whose cause is a [*BindError]. The Error's Message
// names the field and is meant for clients. The server's MaxFormArgs, 10,000 by default, also limits how many values Binder reads.
// Names may have at most 16 parts.
//
// If the program itself is wrong, for example because a field has an unsupported type, the error has no status. Path, Query,
// Header, Cookie and Form also return such an error if no field has a tag for the method's source.
type Binder struct{ c *Ctx }

// Path fills the fields tagged "path" or "uri" from the parameters of the route.
func (b Binder) Path(v any) error { return b.bind(v, pathSource) }

// Query fills the fields tagged "query" from the query.
func (b Binder) Query(v any) error { return b.bind(v, querySource) }

// Header fills the fields tagged "header" from the request headers.
func (b Binder) Header(v any) error { return b.bind(v, headerSource) }

// Cookie fills the fields tagged "cookie" from the cookies of the request.
func (b Binder) Cookie(v any) error { return b.bind(v, cookieSource) }

// Form fills the fields tagged "form" from a URL-encoded or multipart form in the body, including its files. For a body of another
// type, the error has status 415.
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

// Body decodes the body by its Content-Type: as JSON, as XML, as a form, or with a codec from Config.Codecs. For a body of another
// type, the error has status 415.
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

// All fills v from the path parameters, the query, the headers, the cookies and, if there is one, the body. If a field has tags for
// several of these sources, the first source in this order that has a value wins.
//
// The body cannot set a field that has a tag for another source. A "json" tag on the field lifts this rule for JSON bodies, and an
// "xml" tag for XML bodies. Other formats of Config.Codecs never set such a field.
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
