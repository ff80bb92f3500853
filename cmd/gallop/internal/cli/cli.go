// Package cli is the command line of gallop: its commands, their flags and their help texts.
//
// cli.go is the entry point, and units.go defines types of flags. Each command has a file of its own. Package commandline parses
// flags and writes help texts.
package cli

import (
	"errors"
	"fmt"

	"github.com/gallop-http/gallop/cmd/internal/commandline"
)

// The exit statuses of gallop.
const (
	exitOK     = 0
	exitFailed = 1 // the command failed or was cut short
	exitUsage  = 2 // the command line is wrong
)

// program is the program with its commands.
var program = &commandline.Program{
	Name:  "gallop",
	Intro: `The command of gallop, an HTTP stack for Go. To begin, run "gallop serve".`,
	Usage: []string{"gallop COMMAND [flags]"},
	Examples: [][2]string{
		{"Serve the working directory", "gallop serve"},
		{"Show what serve can do", "gallop help serve"},
	},
	Unknown: "there is no command %q",
}

func init() {
	program.Commands = func() []*commandline.Command {
		return []*commandline.Command{newServe(), newLoad(), program.Version()}
	}
}

// Main runs the command line args, which does not include the program's name, and returns
// the exit status.
func Main(args []string, env commandline.Env) int {
	err := run(args, env)
	var usage *commandline.UsageError
	var other exitStatus
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &other):
		return int(other)
	case errors.As(err, &usage):
		fmt.Fprintf(env.Stderr, "gallop: %s\n%s\n", usage.Wrong, usage.Next)
		return exitUsage
	}
	fmt.Fprintf(env.Stderr, "gallop: %v\n", err)
	return exitFailed
}

func run(args []string, env commandline.Env) error {
	if done, err := program.Special(args, env); done {
		return err
	}
	return program.Run(args[0], args[1:], env)
}
