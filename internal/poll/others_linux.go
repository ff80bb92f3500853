package poll

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A loop asks whether any other goroutine of the program waits for the network. The comment in wait_linux.go says
// why.
//
// On Linux there is a way to find out. For an epoll instance, /proc/self/fdinfo lists the descriptors that it
// watches, and the runtime watches the descriptors of all goroutines in one epoll instance. If all of these belong to
// the loops, no other goroutine waits.

// others knows whether anything but the loops waits for the network through the runtime. All groups share one others,
// since there is only one runtime. It is safe for concurrent use.
type others struct {
	mu   sync.Mutex
	own  map[file]struct{} // descriptors of the loops in the runtime's epoll
	info int               // /proc/self/fdinfo of the runtime's epoll, or -1 if it is unknown
	buf  []byte

	there      atomic.Bool
	next       atomic.Int64 // until when the last result is valid, as a Moment
	goroutines atomic.Int64 // number of goroutines at the time of the last result
}

// theOthers is shared by all loops of the process.
var theOthers = others{own: map[file]struct{}{}, info: -1}

// file identifies an open file. The inode distinguishes a socket from earlier ones with the same descriptor.
type file struct {
	fd  int
	ino uint64
}

const (
	// lookForOthers is how long a result is valid. A goroutine that has just begun to use the network may wait up to
	// pollWithin for its events until then.
	lookForOthers = 50 * time.Millisecond

	// lookAgain is how long "nothing waits" stays valid if the number of goroutines has changed.
	lookAgain = time.Millisecond

	// lookShare limits the cost of looking, if there is a lot to read, to 1/lookShare of the time.
	lookShare = 100
)

func fileOf(fd int) (file, error) {
	var st syscall.Stat_t
	err := syscall.Fstat(fd, &st)
	return file{fd, st.Ino}, err
}

// add records that fd, which is in the runtime's epoll, belongs to the loops. It returns the argument for remove.
func (o *others) add(fd int) file {
	f, err := fileOf(fd)
	if err != nil {
		return file{fd: -1}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.own[f] = struct{}{}
	if o.info < 0 {
		o.info = openRuntimeEpoll(f)
	}
	o.next.Store(0)
	return f
}

// remove undoes add.
func (o *others) remove(f file) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.own, f)
	if len(o.own) == 0 && o.info >= 0 {
		_ = syscall.Close(o.info)
		o.info = -1
	}
	o.next.Store(0)
}

// openRuntimeEpoll opens the fdinfo of the runtime's epoll, which is the one that watches f. It returns -1 if there
// is no /proc, and on systems that resemble Linux but do not list what an epoll watches.
func openRuntimeEpoll(f file) int {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if target, _ := os.Readlink("/proc/self/fd/" + e.Name()); target != "anon_inode:[eventpoll]" {
			continue
		}
		info, err := syscall.Open(filepath.Join("/proc/self/fdinfo", e.Name()), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		buf := make([]byte, 64<<10)
		n, _ := syscall.Pread(info, buf, 0)
		for w := range watchedFiles(buf[:max(n, 0)]) {
			if w == f {
				return info
			}
		}
		_ = syscall.Close(info)
	}
	return -1
}

// wait reports whether anything but the loops waits for the network. It also returns true if that is unknown.
func (o *others) wait(now Moment, goroutines int) bool {
	if there := o.there.Load(); int64(now) < o.next.Load() {
		if there || int64(goroutines) == o.goroutines.Load() || now < Moment(o.next.Load()).Add(lookAgain)-Moment(lookForOthers) {
			return there
		}
	}
	if !o.mu.TryLock() {
		return o.there.Load()
	}
	defer o.mu.Unlock()
	there := o.look()
	o.there.Store(there)
	o.goroutines.Store(int64(goroutines))
	o.next.Store(int64(now.Add(max(lookForOthers, lookShare*time.Duration(Now()-now)))))
	return there
}

// look reads what the runtime's epoll watches. The caller holds o.mu.
func (o *others) look() bool {
	if o.info < 0 {
		return true
	}
	if room := 4096 + 128*len(o.own); len(o.buf) < room { // a line takes less than 128 bytes
		o.buf = make([]byte, room)
	}
	n, err := syscall.Pread(o.info, o.buf, 0)
	if err != nil || n == len(o.buf) {
		return true
	}
	for f := range watchedFiles(o.buf[:n]) {
		if _, own := o.own[f]; !own {
			return true
		}
	}
	return false
}

// watchedFiles iterates over the files that an epoll instance watches, as listed in its fdinfo. It skips files that
// are not edge-triggered: the runtime watches everything edge-triggered except the eventfd that wakes it. A line that
// cannot be parsed yields a file that does not exist.
func watchedFiles(info []byte) func(yield func(file) bool) {
	return func(yield func(file) bool) {
		for line := range bytes.Lines(info) {
			if !bytes.HasPrefix(line, []byte("tfd:")) {
				continue
			}
			f, edge, ok := parseWatched(line)
			if !ok {
				f = file{fd: -1}
			}
			if (edge || !ok) && !yield(f) {
				return
			}
		}
	}
}

// parseWatched parses a line such as
//
//	tfd:        6 events: 8000201d data: 3f9720db6e000001  pos:0 ino:40e sdev:10
func parseWatched(line []byte) (f file, edge, ok bool) {
	fd, err := strconv.Atoi(string(valueIn(line, "tfd:")))
	events, err2 := strconv.ParseUint(string(valueIn(line, "events:")), 16, 32)
	ino, err3 := strconv.ParseUint(string(valueIn(line, "ino:")), 16, 64)
	return file{fd, ino}, events&edgeTriggered != 0, err == nil && err2 == nil && err3 == nil
}

// valueIn returns the word that follows name.
func valueIn(line []byte, name string) []byte {
	_, rest, _ := bytes.Cut(line, []byte(name))
	rest = bytes.TrimLeft(rest, " \t")
	if i := bytes.IndexAny(rest, " \t\n"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}
