// Package cli is the command line of gallop-load: its commands, their flags and their help texts.
//
//	cli.go       the entry point, and exit statuses
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
	"os"
	"strings"

	"github.com/gallop-http/gallop/cmd/internal/commandline"
)

// Exit statuses. They are those of k6.
const (
	exitOK          = 0
	exitThresholds  = 99  // thresholds were violated, or iterations were dropped
	exitInvalid     = 104 // the command line or the scenario file is wrong
	exitInterrupted = 105 // the run was interrupted by a signal
	exitFailed      = 107 // the run could not start or could not end properly
)

// program is the program with its commands.
var program = &commandline.Program{
	Name:  "gallop-load",
	Intro: `A load generator for HTTP servers. To begin, run "gallop-load URL".`,
	Usage: []string{"gallop-load [flags] URL", "gallop-load COMMAND [flags]"},
	Examples: [][2]string{
		{"10 users for 10 seconds", "gallop-load -c 10 http://localhost:8080/"},
		{"Show all flags", "gallop-load help load"},
	},
	Statuses: []string{
		"  0  the run ended, and all thresholds hold",
		" 99  a threshold was violated, or iterations were dropped",
		"104  the command line or the scenario file is wrong",
		"105  the run was interrupted",
		"107  the run failed",
	},
	Unknown: "%q is neither a command nor a URL",
}

func init() {
	program.Commands = func() []*commandline.Command {
		return []*commandline.Command{newLoad(), newRun(), newMerge(), newCompare(), program.Version()}
	}
}

// statusError ends the program with a status, without a message if err is nil.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return fmt.Sprint(e.err) }
func (e *statusError) Unwrap() error { return e.err }

// Main runs the command line args, which does not include the program's name, and returns the exit status.
func Main(args []string, env commandline.Env) int {
	err := run(args, env)
	var usage *commandline.UsageError
	var status *statusError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(env.Stderr, "gallop-load: %s\n%s\n", usage.Wrong, usage.Next)
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

func run(args []string, env commandline.Env) error {
	if done, err := program.Special(args, env); done {
		return err
	}
	first := args[0]
	switch {
	case strings.HasPrefix(first, "-") || isTarget(first):
		return program.Run("load", args, env)
	case isScenarioFile(first):
		return program.Run("run", args, env)
	}
	return program.Run(first, args[1:], env)
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
