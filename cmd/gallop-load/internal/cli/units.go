package cli

import (
	"errors"
	"strconv"
)

// The types below are flag.Values, beside those of packages plan and commandline. The text of their errors follows the flag as it was typed:
// "--repeat must be …".

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
