package measure

import (
	"os"
	"strconv"
	"strings"
)

// Slab returns the memory of the kernel's caches of objects in bytes, or 0 if the kernel does not say. Sockets, files and directory
// entries are such objects.
func Slab() int {
	text, _ := os.ReadFile("/proc/meminfo")
	_, rest, _ := strings.Cut(string(text), "\nSlab:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kilobytes, _ := strconv.Atoi(fields[0])
	return kilobytes << 10
}
