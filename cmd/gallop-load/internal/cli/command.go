package cli

import (
	"errors"
	"flag"
	"fmt"
	"strings"
)

// command is one of the words that may follow "gallop-load" on the command line.
type command struct {
	name     string
	args     string // in its usage line, such as "[DIR]"
	short    string // its line in the list of commands
	long     string // what it does, and its behaviour without flags
	flags    []option
	examples []example

	// run runs the command. args are the arguments that are not flags.
	run func(env Env, args []string) error
}

// option is a flag. Its default is the value that into holds before the command line is parsed.
type option struct {
	name  string
	value string // the placeholder for its value in the help text, "" for a switch
	help  string
	into  flag.Value
	short string // a second name of one letter, or ""
	group string // the heading of the help text under which it and the flags after it stand, or "" for that of the flag before
}

type example struct{ what, line string }

// usageError is a mistake on the command line: what is wrong, and what to do about it.
type usageError struct{ wrong, next string }

func (e *usageError) Error() string { return e.wrong }

var errHelp = errors.New("help requested")

// main parses the flags and runs the command.
func (c *command) main(args []string, env Env) error {
	rest, err := c.parse(args)
	if errors.Is(err, errHelp) {
		return help([]string{c.name}, env) // a new command, whose flags still have their defaults
	}
	if err != nil {
		return err
	}
	return c.run(env, rest)
}

// parse sets the flags that args contain, in any position up to "--", and returns the other arguments.
func (c *command) parse(args []string) (rest []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			return append(rest, args...), nil
		case len(arg) < 2 || arg[0] != '-':
			rest = append(rest, arg)
		default:
			if args, err = c.parseFlag(arg, args); err != nil {
				return nil, err
			}
		}
	}
	return rest, nil
}

// parseFlag sets the flag arg, one of -name, --name, -name=value and --name=value. It takes the
// value from the arguments that follow if arg has none, and returns the arguments that are left.
func (c *command) parseFlag(arg string, following []string) ([]string, error) {
	typed, value, hasValue := strings.Cut(arg, "=")
	name := strings.TrimPrefix(strings.TrimPrefix(typed, "-"), "-")
	if isHelp(typed) {
		return nil, errHelp
	}
	o := c.option(name)
	switch {
	case o == nil:
		return nil, &usageError{fmt.Sprintf("%s has no flag %s", c.name, typed), c.suggest(name)}
	case hasValue:
	case o.isSwitch():
		value = "true"
	case len(following) == 0:
		return nil, &usageError{fmt.Sprintf("%s needs a value: %s %s", typed, typed, o.value), c.seeHelp()}
	default:
		value, following = following[0], following[1:]
	}
	if err := o.into.Set(value); err != nil {
		return nil, &usageError{fmt.Sprintf("%s %v", typed, err), c.seeHelp()}
	}
	return following, nil
}

// option returns the flag with that name, or nil.
func (c *command) option(name string) *option {
	for i := range c.flags {
		if o := &c.flags[i]; name != "" && (name == o.name || name == o.short) {
			return o
		}
	}
	return nil
}

func (o *option) isSwitch() bool { return o.value == "" }

func (c *command) seeHelp() string {
	return fmt.Sprintf(`Run "gallop-load help %s" to see its flags.`, c.name)
}

// suggest returns the advice for an unknown flag.
func (c *command) suggest(name string) string {
	var names []string
	for _, o := range c.flags {
		names = append(names, o.name)
	}
	if near := nearest(name, names); near != "" {
		return fmt.Sprintf("Did you mean --%s? %s", near, c.seeHelp())
	}
	return c.seeHelp()
}

// nearest returns the name that is most similar to the one that was typed, "" if none is
// similar enough.
func nearest(typed string, names []string) string {
	best, limit := "", 1+len(typed)/3
	for _, name := range names {
		if d := distance(typed, name); d <= limit {
			best, limit = name, d-1
		}
	}
	return best
}

// distance returns how many bytes have to be inserted, deleted or replaced to turn a into b.
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
