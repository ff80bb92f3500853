package raw

import (
	"fmt"
	"os"
)

// ephemeralPorts returns how many ports connections from one address to one target have, or 0 if that is unknown.
func ephemeralPorts() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0
	}
	var low, high int
	if n, _ := fmt.Sscan(string(text), &low, &high); n != 2 || high < low {
		return 0
	}
	return high - low + 1
}
