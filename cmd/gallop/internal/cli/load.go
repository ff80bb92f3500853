package cli

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/gallop-http/gallop/cmd/internal/commandline"
)

// loader is the program behind "gallop load". It is a module of its own, so that its libraries are no dependencies of gallop.
const loader = "gallop-load"

func newLoad() *commandline.Command {
	return &commandline.Command{
		Name:  "load",
		Args:  "[ARGUMENTS]",
		Short: "Put an HTTP server under load, with gallop-load",
		Long: `
Runs the program gallop-load with the same arguments. Gallop looks for it in its own
directory, then in PATH. Run "gallop load help" to see what gallop-load can do.

To install gallop-load:
  git clone https://github.com/gallop-http/gallop
  cd gallop/cmd/gallop-load && go install .`,
		Examples: [][2]string{
			{"10 users for 10 seconds", "gallop load -c 10 http://localhost:8080/"},
			{"500 requests per second", "gallop load --rate 500/s http://localhost:8080/"},
			{"Run a scenario file", "gallop load run load.yml"},
		},
		Passes: true,
		Run:    load,
	}
}

// exitStatus is the exit status of another program, which has already said what is wrong.
type exitStatus int

func (exitStatus) Error() string { return "the program failed" }

// load runs gallop-load.
func load(env commandline.Env, args []string) error {
	program, err := findLoader()
	if err != nil {
		return err
	}
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, env.Stdout, env.Stderr
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer close(signals)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return err
	}
	go forward(signals, cmd.Process)
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exitStatus(exit.ExitCode())
	}
	return err
}

// forward passes signals on. A terminal sends Ctrl-C to both programs, so it is not passed on then: a second one would end the run
// at once.
func forward(signals <-chan os.Signal, process *os.Process) {
	for s := range signals {
		if s != os.Interrupt || !onTerminal() {
			// An error means that the program has ended, which Wait reports.
			_ = process.Signal(s)
		}
	}
}

func onTerminal() bool {
	info, err := os.Stdin.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Stdin.Name() != os.DevNull
}

// findLoader returns the path of gallop-load.
func findLoader() (string, error) {
	name := loader
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	if found, err := exec.LookPath(loader); err == nil {
		return found, nil
	}
	return "", errors.New("load needs the program gallop-load, which is neither in the directory of gallop nor in PATH\n" +
		`"gallop help load" says how to install it`)
}
