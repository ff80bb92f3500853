// Package cli is the command line of gallop: its commands, their flags and their help texts.
//
// cli.go is the entry point. command.go parses flags and reports mistakes. help.go writes the
// help texts, and units.go defines the types of flags. Each command has a file of its own.
package cli

import (
	"errors"
	"fmt"
	"io"
)

// Env is the part of the process that a command uses.
type Env struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
}

// The exit statuses of gallop.
const (
	exitOK     = 0
	exitFailed = 1 // the command failed or was cut short
	exitUsage  = 2 // the command line is wrong
)

// commands returns all commands, in the order in which the help lists them.
func commands() []*command {
	return []*command{newServe(), newLoad(), newVersion()}
}

// Main runs the command line args, which does not include the program's name, and returns
// the exit status.
func Main(args []string, env Env) int {
	err := run(args, env)
	var usage *usageError
	var other exitStatus
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &other):
		return int(other)
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
	if args[0] == "help" || isHelp(args[0]) {
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

// isHelp reports whether a flag asks for help.
func isHelp(typed string) bool {
	return typed == "-h" || typed == "-help" || typed == "--help"
}

func help(args []string, env Env) error {
	if len(args) == 0 || args[0] == "help" || isHelp(args[0]) {
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
	next := `Run "gallop help" to see the commands.`
	if near := nearest(name, names); near != "" {
		next = fmt.Sprintf("Did you mean %q? %s", near, next)
	}
	return nil, &usageError{fmt.Sprintf("there is no command %q", name), next}
}
