package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Process is the id of a process, this one or another. What its methods return of a process that has ended is 0.
type Process int

// tick is the unit of processor times in /proc on all architectures that Go runs on.
const tick = 10 * time.Millisecond

// CPU returns the processor time that the process has used since it began, all threads together: its own and the
// kernel's for it.
func (p Process) CPU() (user, system time.Duration) {
	fields := p.stat()
	if len(fields) < 13 {
		return 0, 0
	}
	u, _ := strconv.Atoi(fields[11])
	s, _ := strconv.Atoi(fields[12])
	return time.Duration(u) * tick, time.Duration(s) * tick
}

// Resident returns how many bytes of memory the process holds. Buffers of its sockets are not among them.
func (p Process) Resident() int {
	fields := strings.Fields(p.read("statm"))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(fields[1])
	return pages * os.Getpagesize()
}

// Descriptors returns how many open files the process has.
func (p Process) Descriptors() int {
	entries, _ := os.ReadDir(p.path("fd"))
	return len(entries)
}

// Alive reports whether the process runs.
func (p Process) Alive() bool {
	fields := p.stat()
	return len(fields) > 0 && fields[0] != "Z"
}

// Children returns the processes that the process has started and that have not been waited for.
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

// stat returns the fields of /proc/PID/stat behind the program's name, which is in parentheses and may hold anything.
func (p Process) stat() []string {
	text := p.read("stat")
	return strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
}

func (p Process) read(name string) string {
	data, _ := os.ReadFile(p.path(name))
	return string(data)
}

func (p Process) path(name string) string { return fmt.Sprintf("/proc/%d/%s", int(p), name) }
