package web

import "reflect"

// Params returns the value of a parameter of the route as a T, which is what a field may be that Binder fills with one value.
// The error is a BindError's, with the status 400.
func Params[T any](c *Ctx, name string) (T, error) {
	return valueOf[T](pathSource, name, c.ParamsBytes(name), nil)
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
