package commandline

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// The types below are flag.Values. The text of their errors follows the flag as it was typed: "--log must be …".

// String is any text.
type String string

// String implements flag.Value.
func (f *String) String() string { return string(*f) }

// Set implements flag.Value.
func (f *String) Set(s string) error { *f = String(s); return nil }

// Bool is a switch.
type Bool bool

// String implements flag.Value.
func (f *Bool) String() string { return strconv.FormatBool(bool(*f)) }

// Set implements flag.Value.
func (f *Bool) Set(s string) error {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return errors.New("must be true or false, not " + strconv.Quote(s))
	}
	*f = Bool(b)
	return nil
}

// Choice is one of a list of words. Word holds the default before the command line is parsed.
type Choice struct {
	Word  string
	Words []string
}

// String implements flag.Value.
func (f *Choice) String() string { return f.Word }

// Set implements flag.Value.
func (f *Choice) Set(s string) error {
	if !slices.Contains(f.Words, s) {
		return errors.New("must be one of " + strings.Join(f.Words, ", ") + ", not " + strconv.Quote(s))
	}
	f.Word = s
	return nil
}
