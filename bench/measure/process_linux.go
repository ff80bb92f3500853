package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Process is the id of a process. If the process has ended, its methods return zero values.
type Process int

// tick is the unit of processor times in /proc on all architectures that Go runs on.
const tick = 10 * time.Millisecond

// CPU returns the CPU time of all threads since the process started: in user space and in the kernel.
func (p Process) CPU() (user, system time.Duration) {
	fields := p.stat()
	if len(fields) < 13 {
		return 0, 0
	}
	u, _ := strconv.Atoi(fields[11])
	s, _ := strconv.Atoi(fields[12])
	return time.Duration(u) * tick, time.Duration(s) * tick
}

// Resident returns the resident memory of the process in bytes, without socket buffers.
func (p Process) Resident() int {
	fields := strings.Fields(p.read("statm"))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(fields[1])
	return pages * os.Getpagesize()
}

// Descriptors returns the number of open files of the process.
func (p Process) Descriptors() int {
	if info, err := os.Stat(p.path("fd")); err == nil && info.Size() > 0 {
		return int(info.Size()) // since Linux 6.2; listing thousands takes milliseconds
	}
	entries, _ := os.ReadDir(p.path("fd"))
	return len(entries)
}

// Alive reports whether the process is running.
func (p Process) Alive() bool {
	fields := p.stat()
	return len(fields) > 0 && fields[0] != "Z"
}

// Children returns the child processes that were not waited for yet.
func (p Process) Children() (children []Process) {
	names, _ := filepath.Glob(p.path("task/*/children"))
	for _, name := range names {
		data, _ := os.ReadFile(name)
		for _, field := range strings.Fields(string(data)) {
			if n, err := strconv.Atoi(field); err == nil {
				children = append(children, Process(n))
			}
		}
	}
	return children
}

// stat returns the fields of /proc/PID/stat after the program's name, which is in parentheses and may contain
// anything.
func (p Process) stat() []string {
	text := p.read("stat")
	return strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
}

func (p Process) read(name string) string {
	data, _ := os.ReadFile(p.path(name))
	return string(data)
}

func (p Process) path(name string) string { return fmt.Sprintf("/proc/%d/%s", int(p), name) }
