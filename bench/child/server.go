package child

import (
	"errors"
	"fmt"
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

// FreeAddress returns a loopback address on which nothing listens.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
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
