package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

func newVersion() *command {
	return &command{
		name:     "version",
		short:    "Show the version of gallop and of Go",
		long:     "Shows one line: the version of gallop, that of Go, and what it was built for.",
		examples: []example{{"Show it", "gallop version"}},
		run: func(env Env, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Sprintf("version takes no argument, not %q", args[0]), `Run "gallop version".`}
			}
			_, err := fmt.Fprintf(env.Stdout, "gallop %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// version returns what the module was built as: a tag, a pseudo-version, or "devel".
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
