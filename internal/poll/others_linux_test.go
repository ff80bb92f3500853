package poll

import (
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestWatchedFiles(t *testing.T) {
	const info = `pos:	0
flags:	02000002
mnt_id:	17
ino:	1038
tfd:        6 events: 8000201d data: 3f9720db6e000001  pos:0 ino:40e sdev:10
tfd:    12345 events: 8000201d data: 3f9720db6f000002  pos:0 ino:ffffffffffff sdev:9
tfd:        8 events:       19 data:           651260  pos:0 ino:40e sdev:10
`
	unknown := file{fd: -1}
	known := []file{{6, 0x40e}, {12345, 0xffffffffffff}}
	for name, tt := range map[string]struct {
		info string
		want []file
	}{
		"nothing":       {"", nil},
		"no epoll":      {"pos:\t0\nflags:\t02100000\n", nil},
		"the runtime's": {info, known},
		"no inodes":     {"tfd:        6 events: 8000201d data: 3f9720db6e000001\n", []file{unknown}},
		"no number":     {"tfd:       6x events: 8000201d data: 1 pos:0 ino:40e sdev:10\n", []file{unknown}},
		"no events":     {"tfd:        6 events: data: 1 pos:0 ino:40e sdev:10\n", []file{unknown}},
		"cut":           {info[:strings.Index(info, " data: 3f9720db6f")], []file{known[0], unknown}},
		"blanks":        {"tfd:\n", []file{unknown}},
		"no newline":    {"tfd: 6 events: 80000000 data: 0 ino:1", []file{{6, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := slices.Collect(watchedFiles([]byte(tt.info))); !slices.Equal(got, tt.want) {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

func FuzzWatchedFiles(f *testing.F) {
	f.Add([]byte("tfd:        6 events: 8000201d data: 3f9720db6e000001  pos:0 ino:40e sdev:10\n"))
	f.Fuzz(func(t *testing.T, info []byte) {
		n := 0
		for range watchedFiles(info) {
			n++
		}
		if most := strings.Count(string(info), "tfd:"); n > most {
			t.Errorf("%d files, of %d lines", n, most)
		}
	})
}

// pollable returns a file that the runtime watches.
func pollable(t *testing.T) *os.File {
	t.Helper()
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err == nil {
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "epoll")
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func descriptor(t *testing.T, c syscall.Conn) (fd int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err == nil {
		err = raw.Control(func(n uintptr) { fd = int(n) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// knowing returns an others that knows all files in the runtime's epoll.
func knowing(t *testing.T) *others {
	t.Helper()
	o := &others{own: map[file]struct{}{}, info: -1}
	if !o.wait(Now(), 0) {
		t.Fatal("who cannot see anything believes that nobody waits")
	}
	self := o.add(descriptor(t, pollable(t)))
	t.Cleanup(func() { o.remove(self) })
	if o.info < 0 {
		t.Skip("this system does not say what the runtime watches")
	}
	buf := make([]byte, 64<<10)
	n, err := syscall.Pread(o.info, buf, 0)
	if err != nil {
		t.Fatal(err)
	}
	for f := range watchedFiles(buf[:n]) { // of earlier tests
		o.own[f] = struct{}{}
	}
	return o
}

func TestOthers(t *testing.T) {
	o := knowing(t)
	now := Now()
	want := func(what string, want bool) {
		t.Helper()
		now = now.Add(lookForOthers)
		if got := o.wait(now, 7); got != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	want("alone", false)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	want("with a listener", true)
	own := o.add(descriptor(t, ln.(*net.TCPListener)))
	want("with a listener of our own", false)
	_ = ln.Close()
	want("with a listener of our own, which is closed", false)
	var same *net.TCPListener
	for range 100 { // until it has the same descriptor
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		if same = ln.(*net.TCPListener); descriptor(t, same) == own.fd {
			break
		}
	}
	want("with a listener that has its descriptor", true)
}

// "Nothing waits" stays valid for a while, and only briefly once the number of goroutines changes.
func TestOthersAreLookedForRarely(t *testing.T) {
	o := knowing(t)
	now := Now()
	if o.wait(now, 7) {
		t.Fatal("somebody waits")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, tt := range []struct {
		after      Moment
		goroutines int
		want       bool
	}{
		{1, 7, false}, {Moment(lookAgain) - 1, 8, false}, {Moment(lookForOthers) - 1, 7, false}, {Moment(lookAgain), 8, true},
		{Moment(lookAgain) * 2, 9, true},
	} {
		if got := o.wait(now+tt.after, tt.goroutines); got != tt.want {
			t.Errorf("after %d ns, with %d goroutines: %v", tt.after, tt.goroutines, got)
		}
	}
	_ = ln.Close()
	if now += Moment(lookForOthers); !o.wait(now, 7) {
		t.Error("that somebody waits is not believed for as long")
	}
	if now += Moment(lookForOthers); o.wait(now, 7) {
		t.Error("somebody waits still")
	}
}

// The descriptor of others is closed together with the last loop.
func TestOthersLeaveNothing(t *testing.T) {
	o := &others{own: map[file]struct{}{}, info: -1}
	one, two := o.add(descriptor(t, pollable(t))), o.add(descriptor(t, pollable(t)))
	info := o.info
	if info < 0 {
		t.Skip("this system does not say what the runtime watches")
	}
	o.remove(one)
	if _, err := fileOf(info); err != nil {
		t.Errorf("closed too early: %v", err)
	}
	o.remove(two)
	if _, err := fileOf(info); err == nil || o.info >= 0 {
		t.Error("not closed")
	}
}

func BenchmarkOthers(b *testing.B) {
	o := &others{own: map[file]struct{}{}, info: -1}
	b.Run("believed", func(b *testing.B) {
		o.next.Store(1 << 62)
		for b.Loop() {
			o.wait(1, 7)
		}
	})
}
