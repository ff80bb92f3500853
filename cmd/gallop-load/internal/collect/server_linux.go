package collect

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clockTicks is the unit of times in /proc/PID/stat. It is 100 per second on all systems that Go supports.
const clockTicks = time.Second / 100

// serverTime returns the processor time of processes.
func serverTime(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		// The name of the program, in parentheses, may contain spaces.
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(fields) < 13 {
			continue
		}
		user, _ := strconv.ParseInt(fields[11], 10, 64)
		system, _ := strconv.ParseInt(fields[12], 10, 64)
		sum += time.Duration(user+system) * clockTicks
	}
	return sum
}

// serverMemory returns the resident memory of processes in bytes.
func serverMemory(pids []int) (sum int64) {
	for _, pid := range pids {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			continue
		}
		if fields := strings.Fields(string(data)); len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			sum += pages * int64(os.Getpagesize())
		}
	}
	return sum
}

// Listening returns the processes that listen on the port of a local address, such as 127.0.0.1:8080. It returns nil if the
// address is not of this machine, or if the processes belong to another user.
func Listening(address string) (pids []int) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || !isLocal(host) {
		return nil
	}
	inodes := listeners(port)
	if len(inodes) == 0 {
		return nil
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, file := range files {
		link, err := os.Readlink(file)
		if err != nil || !inodes[link] {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
		if pid != os.Getpid() && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// isLocal reports whether a host is an address of this machine.
func isLocal(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	if ip == nil {
		return false
	}
	if ip.IsLoopback() {
		return true
	}
	all, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(all, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}

// listeners returns the sockets that listen on a port, as the links in /proc/PID/fd name them.
func listeners(port string) map[string]bool {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil
	}
	suffix := fmt.Sprintf(":%04X", n)
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
			const listen = "0A"
			if f := strings.Fields(s.Text()); len(f) > 9 && f[3] == listen && strings.HasSuffix(f[1], suffix) {
				inodes["socket:["+f[9]+"]"] = true
			}
		}
	}
	return inodes
}
