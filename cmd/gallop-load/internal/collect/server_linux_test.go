package collect

import (
	"net"
	"os"
	"testing"
)

func TestListening(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	if found := listeners(port); len(found) == 0 {
		t.Error("the socket that listens is not found")
	}
	if pids := Listening(ln.Addr().String()); len(pids) != 0 {
		t.Errorf("this process counts as its own server: %v", pids)
	}
	if pids := Listening("192.0.2.1:" + port); pids != nil {
		t.Errorf("%v for an address that is not of this machine", pids)
	}
	if serverMemory([]int{os.Getpid()}) < 1<<20 {
		t.Error("this process has no memory")
	}
	if h := Host(); h.CPUs < 1 || h.Kernel == "" {
		t.Errorf("%+v", h)
	}
}
