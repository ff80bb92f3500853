// Package validate checks the structs that web.Binder has filled, with github.com/go-playground/validator:
//
//	app := web.New(web.Config{Validator: validate.New()})
//
//	type Signup struct {
//		Email string `json:"email" validate:"required,email"`
//		Age   int    `json:"age" validate:"gte=18"`
//	}
//
// If a value is not valid, the client gets status 422 and a message such as "email: must match email; age: must match gte=18".
package validate

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop/web"
	"github.com/go-playground/validator/v10"
)

// Validator is a [web.Validator]. Make one with [New].
type Validator struct {
	// Engine is the validator of go-playground/validator. Register your own tags and types on it before the App serves requests.
	Engine *validator.Validate
}

var _ web.Validator = (*Validator)(nil)

// names are the tags in which a field has the name that clients know, in the order of their precedence.
var names = []string{"json", "form", "query", "path", "uri", "header", "cookie", "xml"}

// New returns a Validator. In messages, a field has the name
// that clients know, from its struct tags.
func New() *Validator {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(field reflect.StructField) string {
		for _, tag := range names {
			if name, _, _ := strings.Cut(field.Tag.Get(tag), ","); name != "" && name != "-" {
				return name
			}
		}
		return field.Name
	})
	return &Validator{Engine: v}
}

// Validate implements [web.Validator]. It checks structs and slices of structs, and pointers to them. Values of other kinds are always valid. The error is an Errors.
func (v *Validator) Validate(ctx context.Context, value any) error {
	return v.check(ctx, reflect.ValueOf(value), "")
}

// check checks a value. The prefix is its place in the value that was passed to Validate.
func (v *Validator) check(ctx context.Context, value reflect.Value, prefix string) error {
	for value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface {
		if value.IsNil() {
			return nil
		}
		value = value.Elem()
	}
	switch value.Kind() {
	case reflect.Struct:
		return v.checkStruct(ctx, value, prefix)
	case reflect.Slice, reflect.Array:
		return v.checkAll(ctx, value, prefix)
	}
	return nil
}

// checkStruct checks a struct.
func (v *Validator) checkStruct(ctx context.Context, value reflect.Value, prefix string) error {
	err := v.Engine.StructCtx(ctx, value.Interface())
	var found validator.ValidationErrors
	if !errors.As(err, &found) {
		return err
	}
	result := make(Errors, 0, len(found))
	for _, e := range found {
		place := strings.TrimPrefix(e.Namespace(), value.Type().Name()+".") // the name of an unnamed struct is empty
		result = append(result, Error{Field: prefix + place, Tag: e.Tag(), Param: e.Param()})
	}
	return result
}

// checkAll checks the elements of a slice or an array.
func (v *Validator) checkAll(ctx context.Context, value reflect.Value, prefix string) error {
	var all Errors
	for i := range value.Len() {
		err := v.check(ctx, value.Index(i), prefix+"["+strconv.Itoa(i)+"].")
		var found Errors
		if err != nil && !errors.As(err, &found) {
			return err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// Errors lists the fields that are not valid.
type Errors []Error

// Error is a field that is not valid.
type Error struct {
	Field string // Field is the place of the field, with the names that clients know, such as "items[0].price".
	Tag   string // Tag is the rule that the field breaks, such as "gte".
	Param string // Param is the parameter of the rule, such as "18". It may be empty.
}

// Error implements error. The text is meant for clients and contains no values.
func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i := range e {
		texts[i] = e[i].Error()
	}
	return strings.Join(texts, "; ")
}

// Error implements error.
func (e Error) Error() string {
	switch {
	case e.Tag == "required":
		return e.Field + ": is required"
	case e.Param == "":
		return e.Field + ": must match " + e.Tag
	}
	return e.Field + ": must match " + e.Tag + "=" + e.Param
}
