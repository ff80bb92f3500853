package prefork

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// inherited is the descriptor of the first of a command's ExtraFiles.
const inherited = 3

// parentInterval is how often a child looks whether its parent is there.
const parentInterval = 500 * time.Millisecond

// childListener returns what a child serves on, and leaves the other processors to the others.
func (p *Prefork) childListener(addr string) (net.Listener, error) {
	runtime.GOMAXPROCS(1)
	ln, err := p.listenInChild(addr)
	if err == nil && p.OnMasterDeath != nil {
		go p.watchParent(parentID())
	}
	return ln, err
}

// parentID returns the process id of the parent, which need not be there any more.
var parentID = sync.OnceValue(func() int {
	said := os.Getenv(parentVariable)
	os.Unsetenv(parentVariable) // it is nobody's whom this process starts
	if pid, err := strconv.Atoi(said); err == nil {
		return pid
	}
	return os.Getppid()
})

func (p *Prefork) listenInChild(addr string) (net.Listener, error) {
	if p.Reuseport {
		return reusePort.NewListener(p.network(), addr)
	}
	file := os.NewFile(inherited, "listener")
	defer file.Close()
	ln, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("prefork: the listener of the parent: %w", err)
	}
	return ln, nil
}

// watchParent calls OnMasterDeath when the parent is no longer that: the system gives orphans to another.
func (p *Prefork) watchParent(parent int) {
	if runtime.GOOS == "windows" { // where they keep their parent, and a process can be waited for
		if process, err := os.FindProcess(parent); err == nil {
			process.Wait()
		}
	} else {
		for os.Getppid() == parent {
			time.Sleep(parentInterval)
		}
	}
	p.printf("prefork: the parent, process %d, has ended", parent)
	p.OnMasterDeath()
}
