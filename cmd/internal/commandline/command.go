package commandline

import (
	"errors"
	"flag"
	"fmt"
	"strings"
)

// Command is one of the words that may follow the name of a program on the command line.
type Command struct {
	Name     string
	Args     string // in its usage line, such as "[DIR]"
	Short    string // its line in the list of commands
	Long     string // what it does, and its behaviour without flags
	Flags    []Option
	Examples [][2]string // what they show, and the command lines
	Passes   bool        // all arguments go to Run as they are, flags included

	// Run runs the command. args are the arguments that are not flags.
	Run func(env Env, args []string) error

	program *Program
}

// Option is a flag. Its default is the value that Into holds before the command line is parsed.
type Option struct {
	Name  string
	Value string // the placeholder for its value in the help text, "" for a switch
	Help  string
	Into  flag.Value
	Short string // a second name of one letter, or ""
	Group string // the heading of the help text under which it and the flags after it stand, or "" for that of the flag before
}

// UsageError is a mistake on the command line: what is wrong, and what to do about it.
type UsageError struct{ Wrong, Next string }

// Error implements error.
func (e *UsageError) Error() string { return e.Wrong }

// Usage returns a UsageError.
func Usage(wrong, next string) error { return &UsageError{wrong, next} }

var errHelp = errors.New("help requested")

// run parses the flags and runs the command.
func (c *Command) run(args []string, env Env) error {
	if c.Passes {
		return c.Run(env, args)
	}
	rest, err := c.Parse(args)
	if errors.Is(err, errHelp) {
		return c.program.help([]string{c.Name}, env) // a new command, whose flags still have their defaults
	}
	if err != nil {
		return err
	}
	return c.Run(env, rest)
}

// Parse sets the flags that args contain, in any position up to "--", and returns the other arguments.
func (c *Command) Parse(args []string) (rest []string, err error) {
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

// isHelp reports whether a flag asks for help.
func isHelp(typed string) bool {
	return typed == "-h" || typed == "-help" || typed == "--help"
}

// parseFlag sets the flag arg, one of -name, --name, -name=value and --name=value. It takes the
// value from the arguments that follow if arg has none, and returns the arguments that are left.
func (c *Command) parseFlag(arg string, following []string) ([]string, error) {
	typed, value, hasValue := strings.Cut(arg, "=")
	name := strings.TrimPrefix(strings.TrimPrefix(typed, "-"), "-")
	if isHelp(typed) {
		return nil, errHelp
	}
	o := c.option(name)
	switch {
	case o == nil:
		return nil, Usage(fmt.Sprintf("%s has no flag %s", c.Name, typed), c.suggest(name))
	case hasValue:
	case o.isSwitch():
		value = "true"
	case len(following) == 0:
		return nil, Usage(fmt.Sprintf("%s needs a value: %s %s", typed, typed, o.Value), c.SeeHelp())
	default:
		value, following = following[0], following[1:]
	}
	if err := o.Into.Set(value); err != nil {
		return nil, Usage(fmt.Sprintf("%s %v", typed, err), c.SeeHelp())
	}
	return following, nil
}

// option returns the flag with that name, or nil.
func (c *Command) option(name string) *Option {
	for i := range c.Flags {
		if o := &c.Flags[i]; name != "" && (name == o.Name || name == o.Short) {
			return o
		}
	}
	return nil
}

func (o *Option) isSwitch() bool { return o.Value == "" }

// SeeHelp is the advice to read the help text of the command.
func (c *Command) SeeHelp() string {
	return fmt.Sprintf(`Run "%s help %s" to see its flags.`, c.program.Name, c.Name)
}

// suggest returns the advice for an unknown flag.
func (c *Command) suggest(name string) string {
	var names []string
	for _, o := range c.Flags {
		names = append(names, o.Name)
	}
	if near := nearest(name, names); near != "" {
		return fmt.Sprintf("Did you mean --%s? %s", near, c.SeeHelp())
	}
	return c.SeeHelp()
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
