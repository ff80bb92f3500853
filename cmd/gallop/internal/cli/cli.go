// Package cli is the command line of gallop: its commands, their flags and help.
//
// cli.go has the entry, command.go what a command is, how its flags are parsed and
// what mistakes are answered, help.go the help texts, units.go the values with units, and
// each command a file.
package cli

import (
	"errors"
	"fmt"
	"io"
)

// Env is what a command has of the process.
type Env struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
}

// What gallop exits with.
const (
	exitOK     = 0
	exitFailed = 1 // it could not be done, or was interrupted
	exitUsage  = 2 // the command line is wrong
)

// commands returns all commands, in the order in which help has them.
func commands() []*command {
	return []*command{newServe(), newVersion()}
}

// Main runs the command line args, which is without the program's name, and returns
// what to exit with.
func Main(args []string, env Env) int {
	err := run(args, env)
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(env.Stderr, "gallop: %s\n%s\n", usage.wrong, usage.next)
		return exitUsage
	}
	fmt.Fprintf(env.Stderr, "gallop: %v\n", err)
	return exitFailed
}

func run(args []string, env Env) error {
	if len(args) == 0 {
		return writeHelp(env, nil)
	}
	if isHelp(args[0]) {
		return help(args[1:], env)
	}
	switch args[0] {
	case "-v", "-version", "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	c, err := find(args[0])
	if err != nil {
		return err
	}
	return c.main(args[1:], env)
}

func isHelp(word string) bool {
	return word == "help" || word == "-h" || word == "-help" || word == "--help"
}

func help(args []string, env Env) error {
	if len(args) == 0 || isHelp(args[0]) {
		return writeHelp(env, nil)
	}
	c, err := find(args[0])
	if err != nil {
		return err
	}
	return writeHelp(env, c)
}

func find(name string) (*command, error) {
	var names []string
	for _, c := range commands() {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	next := `Run "gallop help" for the commands there are.`
	if near := nearest(name, names); near != "" {
		next = fmt.Sprintf("Did you mean %q? %s", near, next)
	}
	return nil, &usageError{fmt.Sprintf("there is no command %q", name), next}
}
