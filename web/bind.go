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

// Validator checks the structs that Binder has filled. ctx is the [*Ctx] of the request. An *Error that Validate returns
// goes to the error handler unchanged. Any other error becomes the cause of an *Error with the status 422, and its text becomes the
// Message: clients read it. Validate may be called by any number of goroutines at once.
type Validator interface {
	Validate(ctx context.Context, v any) error
}

// Bind fills a struct from all that the request has, as Binder.All does, and returns it.
func Bind[T any](c *Ctx) (v T, err error) {
	err = c.Bind().All(&v)
	return v, err
}

// Bind returns what fills structs from the request.
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
// The tag "uri" means the same as "path". Fields can be strings, []byte, bools, numbers, time.Time, time.Duration, types
// with an UnmarshalText method, pointers to all of these, and slices of them. A slice takes all values of a name; from a
// header it takes the members of the list. The fields of an embedded struct belong to the struct around it. In queries and
// forms, fields can also be structs, maps, and slices of these. Their names are spelled address.city, address[city],
// items[0].price or ids[]; elements are ordered by their numbers and leave no gaps.
//
// Options follow the name, as in "tag,comma". They hold for all sources of the field:
//
//   - required: a missing or empty value is an error, unless the field is set already.
//   - comma: each value is a list with commas between its members.
//   - unix: a time.Time is sent in seconds since 1970. Without it, times are in RFC 3339 or in the form of the tag layout.
//
// Other options are ignored, so that rest's SetQueryFrom and its relatives can send the same struct type.
//
// An empty value counts as missing, except for a string. A field that is not a slice takes the first of several values. A
// field without a value keeps its contents; if they are zero, it gets the value of the tag default.
//
// Path, Query, Header, Cookie and Form return an error if no field has a tag for their source. It has no status, because the mistake
// is in the program.
//
// A request that does not fit is an *Error with the status 400 whose cause is a *BindError. Its message names the field and
// is meant for clients. Binder looks at 10,000 values at most, and at names of at most 16 parts.
type Binder struct{ c *Ctx }

// Path fills the fields tagged "path" or "uri" from the parameters of the route.
func (b Binder) Path(v any) error { return b.bind(v, pathSource) }

// Query fills the fields tagged "query" from the query.
func (b Binder) Query(v any) error { return b.bind(v, querySource) }

// Header fills the fields tagged "header" from the fields of the header.
func (b Binder) Header(v any) error { return b.bind(v, headerSource) }

// Cookie fills the fields tagged "cookie" from the cookies.
func (b Binder) Cookie(v any) error { return b.bind(v, cookieSource) }

// Form fills the fields tagged "form" from a form in the body, with its files. Another type of body is
// answered 415.
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

// Body is JSON, XML or Form, or decodes by one of Config.Codecs, as Content-Type says. A type for
// which there is none is answered 415.
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

// All fills v from the parameters of the route, the query, the header, the cookies and, if there is one, the
// body. For a field with several tags the first of these in this order counts. A field with a
// tag of them gets nothing from a JSON body unless it has the tag "json", nothing from XML
// without "xml", and nothing from formats of Config.Codecs.
func (b Binder) All(v any) error {
	if b.c.hasForm() { // which need not fit into memory
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

// bind fills v from sources, the first of which counts most.
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

// decodeApart is decode that leaves the fields alone which come from elsewhere.
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

// validated calls Config.Validator unless there is an error already.
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

// clientError makes an answer of a BindError.
func clientError(err error) error {
	var e *BindError
	if !errors.As(err, &e) {
		return err
	}
	return &Error{Status: gallop.StatusBadRequest, Message: e.message(), Err: e}
}

// decodeFailure tells what of an error of a codec can be told.
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
	if errors.As(err, &missing) { // the program's fault
		return err
	}
	return e
}
