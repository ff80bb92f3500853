package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// command is what follows "gallop" on the command line.
type command struct {
	name     string
	args     string // in its usage line, such as "[DIR]"
	short    string // in the list of commands
	long     string // what it does, and with no flag at all
	flags    []option
	examples []example

	// run does it. args are what is left without the flags.
	run func(env Env, args []string) error
}

// option is a flag. Its default is what its value is before flags are parsed.
type option struct {
	name  string
	value string // what stands for its value in help, "" for a switch
	help  string
	into  flag.Value
}

type example struct{ what, line string }

// usageError is a mistake on the command line: what is wrong, and what to do.
type usageError struct{ wrong, next string }

func (e *usageError) Error() string { return e.wrong }

// main parses the flags and runs the command.
func (c *command) main(args []string, env Env) error {
	rest, err := c.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return help([]string{c.name}, env) // with the defaults, not with what was parsed
	}
	if err != nil {
		return err
	}
	return c.run(env, rest)
}

// parse takes the flags out of args, wherever they stand; "--" ends them. It returns
// what is left.
func (c *command) parse(args []string) (rest []string, err error) {
	set := flag.NewFlagSet(c.name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, o := range c.flags {
		set.Var(o.into, o.name, o.help)
	}
	for len(args) > 0 {
		if err := set.Parse(args); err != nil {
			return nil, c.flagError(err)
		}
		left := set.Args()
		if parsed := len(args) - len(left); parsed > 0 && args[parsed-1] == "--" {
			return append(rest, left...), nil
		}
		if len(left) == 0 {
			break
		}
		rest, args = append(rest, left[0]), left[1:]
	}
	return rest, nil
}

// flagError says in our words what package flag says in its own.
func (c *command) flagError(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	next := fmt.Sprintf(`Run "gallop help %s" for the flags there are.`, c.name)
	text := err.Error()
	if name, unknown := strings.CutPrefix(text, "flag provided but not defined: -"); unknown {
		var names []string
		for _, o := range c.flags {
			names = append(names, o.name)
		}
		if near := nearest(name, names); near != "" {
			next = fmt.Sprintf("Did you mean --%s? %s", near, next)
		}
		return &usageError{fmt.Sprintf("there is no flag --%s for %s", strings.TrimLeft(name, "-"), c.name), next}
	}
	if name, lacks := strings.CutPrefix(text, "flag needs an argument: -"); lacks {
		return &usageError{fmt.Sprintf("--%s needs a value", name), next}
	}
	for _, o := range c.flags {
		if _, reason, ok := strings.Cut(text, " for flag -"+o.name+": "); ok {
			return &usageError{fmt.Sprintf("--%s: %s", o.name, reason), next}
		}
		if _, reason, ok := strings.Cut(text, "invalid boolean value "); ok && strings.Contains(reason, "for -"+o.name+":") {
			return &usageError{fmt.Sprintf("--%s is on or off, and takes true or false", o.name), next}
		}
	}
	return &usageError{text, next}
}

// nearest returns the name that the one that was typed is likely to be meant for,
// "" if there is none.
func nearest(typed string, names []string) string {
	best, limit := "", 1+len(typed)/3
	for _, name := range names {
		if d := distance(typed, name); d <= limit {
			best, limit = name, d-1
		}
	}
	return best
}

// distance returns how many bytes have to be added, left out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
