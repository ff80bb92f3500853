package measure

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"
)

// TestProcess compares /proc's view of this process with what the process does.
func TestProcess(t *testing.T) {
	self := Process(os.Getpid())
	if !self.Alive() {
		t.Error("this process is said to have ended")
	}

	user, system := self.CPU()
	before := user + system
	for start := time.Now(); time.Since(start) < 10*time.Second; {
		if user, system = self.CPU(); user+system >= before+3*tick {
			break
		}
	}
	if user+system < before+3*tick {
		t.Errorf("%v of processor time after working for 10 s, %v before", user+system, before)
	}

	open, resident := self.Descriptors(), self.Resident()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	const size = 64 << 20
	memory := make([]byte, size)
	for i := range memory {
		memory[i] = 1
	}
	if n := self.Descriptors(); n != open+1 {
		t.Errorf("%d descriptors, one more than %d", n, open)
	}
	if n := self.Resident(); n < resident+size*3/4 {
		t.Errorf("%d bytes resident with %d more than at %d", n, size, resident)
	}
	runtime.KeepAlive(memory)
	f.Close()
}

func TestProcessThatHasEnded(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := Process(cmd.Process.Pid)
	for start := time.Now(); p.Alive() && time.Since(start) < 10*time.Second; {
		time.Sleep(time.Millisecond)
	}
	if children := Process(os.Getpid()).Children(); !slices.Contains(children, p) {
		t.Errorf("%v are said to be the children, %v is one", children, p)
	}
	if p.Alive() { // a zombie until it is waited for
		t.Error("a zombie is said to run")
	}
	cmd.Wait()
	user, system := p.CPU()
	if p.Alive() || p.Resident() != 0 || p.Descriptors() != 0 || user+system != 0 {
		t.Errorf("there is something left of a process that has ended")
	}
}
