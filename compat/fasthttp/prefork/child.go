package prefork

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// inherited is the descriptor of the first file in a command's ExtraFiles.
const inherited = 3

// parentInterval is how often a child checks whether its parent still runs.
const parentInterval = 500 * time.Millisecond

// errNoListener means that a process has the variables of a child, but was not started by a parent.
var errNoListener = errors.New("prefork: the listener of the parent: descriptor 3 is not a listening socket")

// childListener returns the listener of a child, and limits the child to one processor.
func (p *Prefork) childListener(addr string) (net.Listener, error) {
	runtime.GOMAXPROCS(1)
	ln, err := p.listenInChild(addr)
	if err == nil {
		go p.watchParent(parentID())
	}
	return ln, err
}

// parentID returns the process id of the parent, which may have ended already.
var parentID = sync.OnceValue(func() int {
	said := os.Getenv(parentVariable)
	os.Unsetenv(parentVariable) // not meant for processes that this process starts
	if pid, err := strconv.Atoi(said); err == nil && pid > 0 {
		return pid
	}
	return os.Getppid()
})

func (p *Prefork) listenInChild(addr string) (net.Listener, error) {
	if p.Reuseport {
		return reusePort.Listen(context.Background(), p.network(), addr)
	}
	if !isListening(inherited) { // nor may this package close it
		return nil, errNoListener
	}
	file := os.NewFile(inherited, "listener")
	defer file.Close()
	ln, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("prefork: the listener of the parent: %w", err)
	}
	return ln, nil
}

// watchParent ends this process, or calls OnMasterDeath, when the parent has ended. The system then gives the orphan
// to another process, which watchParent notices.
func (p *Prefork) watchParent(parent int) {
	if runtime.GOOS == "windows" { // orphans keep their parent's id there, but a process can be waited for
		if process, err := os.FindProcess(parent); err == nil {
			process.Wait()
		}
	} else {
		for os.Getppid() == parent {
			time.Sleep(parentInterval)
		}
	}
	p.printf("prefork: the parent, process %d, has ended", parent)
	if p.OnMasterDeath != nil {
		p.OnMasterDeath()
		return
	}
	p.endOrphan()
}

// endOrphan ends this process like the parent would have.
func (p *Prefork) endOrphan() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil && self.Signal(syscall.SIGTERM) == nil {
		time.Sleep(p.grace())
	}
	os.Exit(1)
}
