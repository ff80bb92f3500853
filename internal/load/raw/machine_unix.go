//go:build unix

package raw

import (
	"syscall"
	"time"
)

// raiseDescriptors raises the limit on open files, and returns it.
func raiseDescriptors(need int) int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return need
	}
	if uint64(limit.Cur) < uint64(need) {
		limit.Cur = limit.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
		_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	}
	return int(min(uint64(limit.Cur), 1<<30))
}

// processCPU returns the CPU time of this process.
func processCPU() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
