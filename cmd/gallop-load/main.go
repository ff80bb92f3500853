// Gallop-load puts HTTP servers under load and measures how they respond. Run "gallop-load help" to see its commands.
package main

import (
	"os"

	"github.com/gallop-http/gallop/cmd/internal/commandline"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], commandline.Env{Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Terminal: cli.IsTerminal(os.Stderr)}))
}
