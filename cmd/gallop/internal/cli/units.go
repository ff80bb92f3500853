package cli

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The types below are flag.Values. Their errors follow the name of the flag.

type stringFlag string

func (f *stringFlag) String() string     { return string(*f) }
func (f *stringFlag) Set(s string) error { *f = stringFlag(s); return nil }

type boolFlag bool

func (f *boolFlag) String() string   { return strconv.FormatBool(bool(*f)) }
func (f *boolFlag) IsBoolFlag() bool { return true }
func (f *boolFlag) Set(s string) (err error) {
	b, err := strconv.ParseBool(s)
	*f = boolFlag(b)
	return err
}

// choiceFlag is one of some words.
type choiceFlag struct {
	word  string
	words []string
}

func (f *choiceFlag) String() string { return f.word }
func (f *choiceFlag) Set(s string) error {
	if !slices.Contains(f.words, s) {
		return errors.New("is one of " + strings.Join(f.words, ", ") + ", not " + strconv.Quote(s))
	}
	f.word = s
	return nil
}

// durationFlag is a time above zero with its unit, such as 500ms or 1m30s. A number
// alone is seconds.
type durationFlag time.Duration

func (f *durationFlag) String() string {
	s := time.Duration(*f).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	return s
}

func (f *durationFlag) Set(s string) error {
	text := s
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("is a time such as 30s, 1m30s or 500ms, not " + strconv.Quote(s))
	}
	*f = durationFlag(d)
	return nil
}

// sizeFlag is a number of bytes above zero with its unit: k, M and G are powers of
// 1000, Ki, Mi and Gi of 1024, with or without B.
type sizeFlag int

func (f *sizeFlag) String() string {
	for _, u := range sizeUnits {
		if u.bytes > 1 && int64(*f)%u.bytes == 0 && *f > 0 {
			return strconv.FormatInt(int64(*f)/u.bytes, 10) + u.name + "B"
		}
	}
	return strconv.Itoa(int(*f))
}

// sizeUnits are the units, those first in which a size is shown.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10},
	{"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"", 1},
}

func (f *sizeFlag) Set(s string) error {
	text := strings.TrimSuffix(strings.TrimSuffix(strings.ReplaceAll(s, " ", ""), "b"), "B")
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(strings.ToLower(text), strings.ToLower(u.name))
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		if size := n * float64(u.bytes); err == nil && size >= 1 && size <= math.MaxInt32 {
			*f = sizeFlag(size)
			return nil
		}
		break
	}
	return errors.New("is a size below 2 GiB such as 500k, 4MiB or 1G, not " + strconv.Quote(s))
}
