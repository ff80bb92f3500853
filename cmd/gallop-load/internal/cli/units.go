package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// The types below are flag.Values, beside those of package plan. The text of their errors follows the flag as it was typed:
// "--summary must be …".

type stringFlag string

func (f *stringFlag) String() string     { return string(*f) }
func (f *stringFlag) Set(s string) error { *f = stringFlag(s); return nil }

type boolFlag bool

func (f *boolFlag) String() string { return strconv.FormatBool(bool(*f)) }
func (f *boolFlag) Set(s string) error {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return errors.New("must be true or false, not " + strconv.Quote(s))
	}
	*f = boolFlag(b)
	return nil
}

// choiceFlag is one of a list of words. The variable that word points to has the default and gets the value.
type choiceFlag struct {
	word  *string
	words []string
}

func (f *choiceFlag) String() string { return *f.word }
func (f *choiceFlag) Set(s string) error {
	if !slices.Contains(f.words, s) {
		return errors.New("must be one of " + strings.Join(f.words, ", ") + ", not " + strconv.Quote(s))
	}
	*f.word = s
	return nil
}

// intFlag is a positive whole number.
type intFlag int

func (f *intFlag) String() string { return strconv.Itoa(int(*f)) }
func (f *intFlag) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n == 0 {
		return errors.New("must be a whole number from 1 on, not " + strconv.Quote(s))
	}
	*f = intFlag(n)
	return nil
}
