package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

func newVersion() *command {
	return &command{
		name:     "version",
		short:    "Show the versions of gallop-load and Go",
		long:     "Prints one line: the versions of gallop-load and Go, and the platform it was built for.",
		examples: []example{{"Show the version", "gallop-load version"}},
		run: func(env Env, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Sprintf("version takes no arguments, but %q is one", args[0]), `Run "gallop-load version".`}
			}
			_, err := fmt.Fprintf(env.Stdout, "gallop-load %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// version returns the version of the module: a tag, a pseudo-version, or "devel".
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
