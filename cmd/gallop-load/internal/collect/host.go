package collect

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop/internal/load/result"
)

// Host describes this machine. Fields are empty if the system has no /proc.
func Host() result.Host {
	h := result.Host{OS: runtime.GOOS, CPUs: runtime.NumCPU()}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		h.Kernel = strings.TrimSpace(string(release))
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		h.CPU = cpuModel(string(info))
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(load), " ")
		h.LoadBefore, _ = strconv.ParseFloat(first, 64)
	}
	return h
}

func cpuModel(info string) string {
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
