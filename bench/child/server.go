package child

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strings"
	"time"
)

// Run runs a program and waits for it. If the program fails, the error contains its output.
func Run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(append([]string{name}, args...), " "), err, out)
	}
	return nil
}

// End kills a program and waits for it.
func End(cmd *exec.Cmd) {
	cmd.Process.Kill()
	cmd.Wait()
}

// FreeAddress returns a loopback address on which nothing listens. The port is below those that Linux gives to outgoing
// connections, so that none of a load generator's takes it before the program listens.
func FreeAddress() (string, error) {
	var err error
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000))
		var l net.Listener
		if l, err = net.Listen("tcp4", addr); err == nil {
			l.Close()
			return addr, nil
		}
	}
	return "", err
}

// AwaitListener waits until a process listens on the address.
func AwaitListener(address string) error {
	for range 200 {
		c, err := net.Dial("tcp4", address)
		if err == nil {
			c.Close()
			return nil
		}
		time.Sleep(25 * time.Millisecond)
	}
	return errors.New("nothing listens on " + address)
}
