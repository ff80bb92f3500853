// Gallop serves files over HTTP, and puts servers under load. Run "gallop help" to see its commands.
package main

import (
	"os"

	"github.com/gallop-http/gallop/cmd/internal/commandline"

	"github.com/gallop-http/gallop/cmd/gallop/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], commandline.Env{Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}))
}
