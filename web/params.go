package web

import "reflect"

// Params returns the value of a path or host parameter as a T. T can be any type that [Binder] reads from a single value, such as
// int, bool or time.Time. If the value is missing or cannot be converted, the error is an [*Error] with status 400 whose cause is a
// [*BindError]. If T is not supported, the error is not an [*Error] and has no status.
func Params[T any](c *Ctx, name string) (T, error) {
	return valueOf[T](pathSource, name, c.ParamsBytes(name), nil)
}

// Query returns the first value of a query parameter as a T. If the parameter is missing or empty, Query returns the default. If no
// default was given, Query returns an error with status 400. [Params] describes which types T can be and which other errors Query
// returns.
func Query[T any](c *Ctx, name string, otherwise ...T) (T, error) {
	return valueOf(querySource, name, c.QueryBytes(name), otherwise)
}

// valueOf converts text to a T.
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
