package web

import (
	"encoding"
	"errors"
	"reflect"
	"strconv"
	"time"
)

// setter sets a value from text, which is a view.
type setter func(v reflect.Value, text []byte) error

// layoutUnix is the layout for a time in seconds since 1970.
const layoutUnix = "unix"

// setterOf returns the setter of a type that can be read from one text, or nil. empty reports whether an empty text is a value.
func setterOf(t reflect.Type, layout string) (set setter, empty bool) {
	switch {
	case t == timeType && layout == layoutUnix:
		return setUnix, false
	case t == timeType && layout != "":
		return timeSetter(layout), false
	case reflect.PointerTo(t).Implements(textType):
		return setText, false
	case t == reflect.TypeFor[time.Duration]():
		return setDuration, false
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return func(v reflect.Value, text []byte) error { v.SetBytes(append([]byte{}, text...)); return nil }, true
	}
	switch t.Kind() {
	case reflect.String:
		return func(v reflect.Value, text []byte) error { v.SetString(string(text)); return nil }, true
	case reflect.Bool:
		return setBool, false
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return setInt, false
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return setUint, false
	case reflect.Float32, reflect.Float64:
		return setFloat, false
	}
	return nil, false
}

func setInt(v reflect.Value, text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, v.Type().Bits())
	if err != nil {
		return numberError(err, "is not a whole number")
	}
	v.SetInt(n)
	return nil
}

func setUint(v reflect.Value, text []byte) error {
	n, err := strconv.ParseUint(string(text), 10, v.Type().Bits())
	if err != nil {
		return numberError(err, "is not a whole number of at least 0")
	}
	v.SetUint(n)
	return nil
}

func setFloat(v reflect.Value, text []byte) error {
	n, err := parseFloat(text, v.Type().Bits())
	if err != nil {
		return numberError(err, "is not a number")
	}
	v.SetFloat(n)
	return nil
}

// setBool also accepts "on", which browsers send for a checked checkbox.
func setBool(v reflect.Value, text []byte) error {
	switch string(text) {
	case "true", "1", "on", "yes", "True", "TRUE":
		v.SetBool(true)
	case "false", "0", "off", "no", "False", "FALSE":
		v.SetBool(false)
	default:
		return &valueError{"is neither true nor false", strconv.ErrSyntax}
	}
	return nil
}

func setDuration(v reflect.Value, text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return &valueError{"is not a duration such as 1m30s", strconv.ErrSyntax}
	}
	v.SetInt(int64(d))
	return nil
}

func timeSetter(layout string) setter {
	return func(v reflect.Value, text []byte) error {
		t, err := time.Parse(layout, string(text))
		if err != nil {
			return &valueError{"is not a time of the form " + layout, err}
		}
		v.Set(reflect.ValueOf(t))
		return nil
	}
}

func setUnix(v reflect.Value, text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return numberError(err, "is not a time in seconds")
	}
	v.Set(reflect.ValueOf(time.Unix(n, 0).UTC()))
	return nil
}

func setText(v reflect.Value, text []byte) error {
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text); err != nil {
		return &valueError{"has a value that is not valid", err}
	}
	return nil
}

// valueError says why a text is not a value of a type.
type valueError struct {
	reason string // for clients, without the text
	err    error
}

func (e *valueError) Error() string { return e.reason }
func (e *valueError) Unwrap() error { return e.err }

// numberError returns an error for a failed conversion by strconv. It does not include the text.
func numberError(err error, reason string) error {
	cause := strconv.ErrSyntax
	if errors.Is(err, strconv.ErrRange) {
		cause, reason = strconv.ErrRange, "is too large or too small"
	}
	return &valueError{reason, cause}
}
