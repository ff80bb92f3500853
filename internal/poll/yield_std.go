//go:build !linux

package poll

import "runtime"

// Yield lets other goroutines run.
func Yield() { runtime.Gosched() }
