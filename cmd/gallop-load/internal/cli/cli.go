// Package cli is the command line of gallop-load: its commands, their flags and their help texts.
//
//	cli.go       the entry point, and exit statuses
//	command.go   parsing flags, and reporting mistakes
//	help.go      help texts
//	units.go     types of flags
//	flags.go     the flags of a load
//	load.go      the commands that run a load
//	execute.go   running a plan
//	probe.go     looking at the target before the run
//	view.go      the state of a run for views
//	versus.go    two targets in turn
//	prometheus.go  sending figures to Prometheus
//	outputs.go   where results go
//	text.go      the compact summary
//	merge.go     the command merge
//	compare.go   the command compare
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Env is the part of the process that a command uses.
type Env struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Terminal       bool // Stderr is a terminal that a person looks at
}

// Exit statuses. They are those of k6.
const (
	exitOK          = 0
	exitThresholds  = 99  // thresholds were violated, or iterations were dropped
	exitInvalid     = 104 // the command line or the scenario file is wrong
	exitInterrupted = 105 // the run was interrupted by a signal
	exitFailed      = 107 // the run could not start or could not end properly
)

// commands returns all commands, in the order in which the help lists them. The first is the one that needs no name.
func commands() []*command {
	return []*command{newLoad(), newRun(), newMerge(), newCompare(), newVersion()}
}

// statusError ends the program with a status, without a message if err is nil.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return fmt.Sprint(e.err) }
func (e *statusError) Unwrap() error { return e.err }

// Main runs the command line args, which does not include the program's name, and returns the exit status.
func Main(args []string, env Env) int {
	err := run(args, env)
	var usage *usageError
	var status *statusError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(env.Stderr, "gallop-load: %s\n%s\n", usage.wrong, usage.next)
		return exitInvalid
	case errors.As(err, &status):
		if status.err != nil {
			fmt.Fprintf(env.Stderr, "gallop-load: %v\n", status.err)
		}
		return status.status
	}
	fmt.Fprintf(env.Stderr, "gallop-load: %v\n", err)
	return exitFailed
}

func run(args []string, env Env) error {
	if len(args) == 0 {
		return writeHelp(env, nil)
	}
	switch first := args[0]; {
	case first == "help" || isHelp(first):
		return help(args[1:], env)
	case first == "-v" || first == "-version" || first == "--version":
		return newVersion().main(args[1:], env)
	case strings.HasPrefix(first, "-") || isTarget(first):
		return newLoad().main(args, env)
	}
	if isScenarioFile(args[0]) {
		return newRun().main(args, env)
	}
	c, err := find(args[0])
	if err != nil {
		return err
	}
	return c.main(args[1:], env)
}

// isTarget reports whether a word is a URL and not the name of a command.
func isTarget(word string) bool {
	if isScenarioFile(word) && !strings.Contains(word, "://") {
		return false
	}
	return strings.ContainsAny(word, ":/.") || word == "localhost"
}

// isScenarioFile reports whether a word names a scenario file.
func isScenarioFile(word string) bool {
	for _, ending := range []string{".yml", ".yaml", ".json"} {
		if strings.HasSuffix(word, ending) {
			info, err := os.Stat(word)
			return err == nil && !info.IsDir() || !strings.Contains(word, "/")
		}
	}
	return false
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
	next := `Run "gallop-load help" to see the commands.`
	if near := nearest(name, names); near != "" {
		next = fmt.Sprintf("Did you mean %q? %s", near, next)
	}
	return nil, &usageError{fmt.Sprintf("%q is neither a command nor a URL", name), next}
}
