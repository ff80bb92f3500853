//go:build !unix

package serve

import "os/exec"

// detach does nothing: only on Unix does a Ctrl-C reach the programs that were started.
func detach(*exec.Cmd) {}
