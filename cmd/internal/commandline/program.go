// Package commandline is what the command lines of gallop and gallop-load share: commands with their flags, help texts, and advice
// after mistakes.
//
//	program.go   a program: finding commands, and the command version
//	command.go   parsing flags, and reporting mistakes
//	help.go      help texts
//	flags.go     types of flags that several commands need
package commandline

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// Env is the part of the process that a command uses.
type Env struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Terminal       bool // Stderr is a terminal that a person looks at
}

// Program describes a program.
type Program struct {
	Name     string
	Intro    string            // what the program is, and how to begin
	Usage    []string          // its usage lines
	Examples [][2]string       // what they show, and the command lines
	Statuses []string          // lines about exit statuses, if they are more than success and failure
	Commands func() []*Command // new commands, whose flags have their defaults, in the order of the help text
	Unknown  string            // a message about a word that is no command, with a verb like %q for the word
}

// Find returns the command with a name.
func (p *Program) Find(name string) (*Command, error) {
	var names []string
	for _, c := range p.Commands() {
		if c.Name == name {
			c.program = p
			return c, nil
		}
		names = append(names, c.Name)
	}
	next := fmt.Sprintf(`Run "%s help" to see the commands.`, p.Name)
	if near := nearest(name, names); near != "" {
		next = fmt.Sprintf("Did you mean %q? %s", near, next)
	}
	return nil, Usage(fmt.Sprintf(p.Unknown, name), next)
}

// Run runs the command with a name.
func (p *Program) Run(name string, args []string, env Env) error {
	c, err := p.Find(name)
	if err != nil {
		return err
	}
	return c.run(args, env)
}

// Special runs what has the same form in every program: no arguments at all, help, -h and --version. It reports false for other
// arguments.
func (p *Program) Special(args []string, env Env) (done bool, err error) {
	switch {
	case len(args) == 0:
		return true, p.writeOverview(env)
	case args[0] == "help" || isHelp(args[0]):
		return true, p.help(args[1:], env)
	}
	switch args[0] {
	case "-v", "-version", "--version":
		return true, p.Run("version", args[1:], env)
	}
	return false, nil
}

// Version returns the command version.
func (p *Program) Version() *Command {
	return &Command{
		Name:     "version",
		Short:    fmt.Sprintf("Show the versions of %s and Go", p.Name),
		Long:     fmt.Sprintf("Prints one line: the versions of %s and Go, and the platform it was built for.", p.Name),
		Examples: [][2]string{{"Show the version", p.Name + " version"}},
		Run: func(env Env, args []string) error {
			if len(args) > 0 {
				return Usage(fmt.Sprintf("version takes no arguments, but %q is one", args[0]), fmt.Sprintf(`Run "%s version".`, p.Name))
			}
			_, err := fmt.Fprintf(env.Stdout, "%s %s %s %s/%s\n", p.Name, Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// Version returns the version of the module: a tag, a pseudo-version, or "devel".
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
