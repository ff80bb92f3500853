package memnet

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type halfCloser interface{ CloseWrite() error }

func closeWrite(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.(halfCloser).CloseWrite(); err != nil {
		t.Errorf("CloseWrite: %v", err)
	}
}

// wantRead reads exactly want.
func wantRead(t *testing.T, c net.Conn, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if n, err := io.ReadFull(c, b); err != nil || string(b) != want {
		t.Errorf("read %q, %v; want %q", b[:n], err, want)
	}
}

// wantErr calls Read or Write of one byte and wants it to do nothing but fail.
func wantErr(t *testing.T, name string, f func([]byte) (int, error), want error) {
	t.Helper()
	if n, err := f(make([]byte, 1)); n != 0 || !errors.Is(err, want) {
		t.Errorf("%s: %d, %v; want 0, %v", name, n, err, want)
	}
}

func TestBytesGoBothWays(t *testing.T) {
	c, s := Pipe()
	for range 3 {
		_, _ = c.Write([]byte("hello, "))
		_, _ = c.Write(nil)
		_, _ = s.Write([]byte("goodbye"))
		_, _ = c.Write([]byte("server"))
		wantRead(t, s, "hello, server")
		wantRead(t, c, "goodbye")
	}
	if n, err := c.Read(nil); n != 0 || err != nil {
		t.Errorf("empty Read: %d, %v", n, err)
	}
}

func TestAddresses(t *testing.T) {
	c, s := Pipe()
	for _, a := range []net.Addr{c.LocalAddr(), c.RemoteAddr(), s.LocalAddr(), s.RemoteAddr()} {
		if a.Network() != "memory" || a.String() != "memory" {
			t.Errorf("address %s %s", a.Network(), a)
		}
	}
}

func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := Pipe()
		sent := make([]byte, 3*BufferSize+100)
		for i := range sent {
			sent[i] = byte(i >> 8)
		}
		written := make(chan int)
		go func() {
			n, err := c.Write(sent)
			if err != nil {
				t.Errorf("Write: %v", err)
			}
			written <- n
		}()
		synctest.Wait()
		select {
		case n := <-written:
			t.Fatalf("Write of %d bytes returned %d and nobody had read", len(sent), n)
		default:
		}
		if n := c.out.bytes.n; n != BufferSize {
			t.Errorf("%d bytes are buffered, want %d", n, BufferSize)
		}
		received := make([]byte, len(sent))
		if _, err := io.ReadFull(s, received); err != nil || !bytes.Equal(received, sent) {
			t.Errorf("ReadFull: %v; equal: %v", err, bytes.Equal(received, sent))
		}
		if n := <-written; n != len(sent) {
			t.Errorf("Write: %d, want %d", n, len(sent))
		}
	})
}

func TestPipeSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, size := range []int{1, 1000, 5 * BufferSize} {
			c, s := PipeSize(size)
			for _, ends := range [][2]net.Conn{{c, s}, {s, c}} {
				if n, err := ends[0].Write(make([]byte, size)); n != size || err != nil {
					t.Fatal(n, err)
				}
				ends[0].SetWriteDeadline(time.Now().Add(time.Second))
				if n, err := ends[0].Write([]byte("x")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("beyond %d bytes: %d, %v", size, n, err)
				}
				if n, err := io.ReadFull(ends[1], make([]byte, size)); n != size || err != nil {
					t.Errorf("%d, %v", n, err)
				}
			}
		}
	})
}

func TestWritesAreNotMixed(t *testing.T) {
	c, s := Pipe()
	const writers, size = 4, 2 * BufferSize
	var wg sync.WaitGroup
	for id := range writers {
		wg.Go(func() {
			for range 3 {
				if _, err := c.Write(bytes.Repeat([]byte{'a' + byte(id)}, size)); err != nil {
					t.Errorf("Write: %v", err)
				}
			}
		})
	}
	b := make([]byte, size)
	for range 3 * writers {
		for i := 0; i < size; i += 1024 { // a little at a time, so that room is what they wait for
			if _, err := io.ReadFull(s, b[i:i+1024]); err != nil {
				t.Fatal(err)
			}
		}
		if n := bytes.Count(b, b[:1]); n != size {
			t.Fatalf("only %d of %d bytes are of one writer", n, size)
		}
	}
	wg.Wait()
}

func TestCloseLetsThePeerReadTheRest(t *testing.T) {
	c, s := Pipe()
	_, _ = c.Write([]byte("last words"))
	_, _ = s.Write([]byte("never read"))
	for range 2 {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	wantErr(t, "Read of the closed end", c.Read, net.ErrClosed)
	wantErr(t, "Write of the closed end", c.Write, net.ErrClosed)
	wantErr(t, "Write to the closed end", s.Write, io.ErrClosedPipe)
	wantRead(t, s, "last words")
	wantErr(t, "Read from the closed end", s.Read, io.EOF)
	wantErr(t, "and again", s.Read, io.EOF)
	for name, set := range map[string]func(time.Time) error{
		"SetDeadline": c.SetDeadline, "SetReadDeadline": c.SetReadDeadline, "SetWriteDeadline": c.SetWriteDeadline,
	} {
		if err := set(time.Time{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s of the closed end: %v", name, err)
		}
	}
	if err := c.CloseWrite(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("CloseWrite of the closed end: %v", err)
	}
	if err := s.SetDeadline(time.Time{}); err != nil {
		t.Errorf("SetDeadline of the open end: %v", err)
	}
}

func TestHalfClose(t *testing.T) {
	c, s := Pipe()
	_, _ = c.Write([]byte("request"))
	closeWrite(t, c)
	closeWrite(t, c)
	wantErr(t, "Write after CloseWrite", c.Write, io.ErrClosedPipe)
	if err := c.SetWriteDeadline(time.Time{}); err != nil {
		t.Errorf("SetWriteDeadline after CloseWrite: %v", err)
	}
	wantRead(t, s, "request")
	wantErr(t, "Read after the peer's CloseWrite", s.Read, io.EOF)
	_, _ = s.Write([]byte("response"))
	wantRead(t, c, "response")
	closeWrite(t, s)
	wantErr(t, "Read of the other direction", c.Read, io.EOF)
	_ = c.Close()
	wantErr(t, "Write after Close", c.Write, net.ErrClosed)
}

func TestCloseFreesBuffersAndTimers(t *testing.T) {
	c, s := Pipe()
	for _, end := range []net.Conn{c, s} {
		_, _ = end.Write([]byte("x"))
		_ = end.SetDeadline(time.Now().Add(time.Hour))
	}
	_ = c.Close()
	_ = s.Close()
	for _, one := range []*stream{c.in, s.in} {
		if one.bytes.buf != nil {
			t.Errorf("a buffer of %d bytes is left", len(one.bytes.buf))
		}
		if one.readBy.timer.Stop() || one.writeBy.timer.Stop() {
			t.Error("a timer is left")
		}
	}
}

// A goroutine that waits in Read or Write is woken by a Close of either end.
func TestCloseWakes(t *testing.T) {
	full := make([]byte, BufferSize+1)
	for _, tc := range []struct {
		name  string
		wait  func(c net.Conn) (int, error)
		close func(c, s net.Conn)
		wantN int
		want  error
	}{
		{"Read, own", func(c net.Conn) (int, error) { return c.Read(full) }, func(c, s net.Conn) { _ = c.Close() }, 0, net.ErrClosed},
		{"Read, peer's", func(c net.Conn) (int, error) { return c.Read(full) }, func(c, s net.Conn) { _ = s.Close() }, 0, io.EOF},
		{"Read, peer's half", func(c net.Conn) (int, error) { return c.Read(full) }, func(c, s net.Conn) { _ = s.(halfCloser).CloseWrite() }, 0, io.EOF},
		{"Write, own", func(c net.Conn) (int, error) { return c.Write(full) }, func(c, s net.Conn) { _ = c.Close() }, BufferSize, net.ErrClosed},
		{"Write, own half", func(c net.Conn) (int, error) { return c.Write(full) }, func(c, s net.Conn) { _ = c.(halfCloser).CloseWrite() }, BufferSize, io.ErrClosedPipe},
		{"Write, peer's", func(c net.Conn) (int, error) { return c.Write(full) }, func(c, s net.Conn) { _ = s.Close() }, BufferSize, io.ErrClosedPipe},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := Pipe()
				woken := make(chan struct{})
				go func() {
					defer close(woken)
					if n, err := tc.wait(c); n != tc.wantN || !errors.Is(err, tc.want) {
						t.Errorf("%d, %v; want %d, %v", n, err, tc.wantN, tc.want)
					}
				}()
				synctest.Wait()
				tc.close(c, s)
				<-woken
			})
		})
	}
}

func TestAWriterThatWaitsForAnotherIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := Pipe()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := c.Write(make([]byte, 2*BufferSize)); !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("Write: %v", err)
				}
			})
		}
		synctest.Wait()
		_ = s.Close()
		wg.Wait()
	})
}

func TestUseFromManyGoroutines(t *testing.T) {
	c, s := Pipe()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			b := make([]byte, 100)
			for range 200 {
				_, _ = c.Write(b)
				_, _ = s.Read(b)
				_ = c.SetReadDeadline(time.Now().Add(time.Hour))
				_ = s.SetWriteDeadline(time.Time{})
				_, _ = s.Write(b)
				_, _ = c.Read(b)
				c.LocalAddr()
				s.RemoteAddr()
			}
		})
	}
	wg.Wait()
	_ = c.Close()
	_ = s.Close()
}

func TestReadAndWriteDoNotAllocate(t *testing.T) {
	c, s := Pipe()
	b := make([]byte, 1024)
	deadline := time.Now().Add(time.Hour)
	n := testing.AllocsPerRun(1000, func() {
		deadline = deadline.Add(time.Millisecond)
		_ = s.SetReadDeadline(deadline)
		_ = c.SetWriteDeadline(deadline)
		_, _ = c.Write(b)
		_, _ = s.Read(b)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}

	go func() { _, _ = io.Copy(s, s) }()
	if n := testing.AllocsPerRun(1000, func() {
		_, _ = c.Write(b)
		_, _ = io.ReadFull(c, b)
	}); n != 0 {
		t.Errorf("there and back through another goroutine: %v allocations", n)
	}
	_ = c.Close()
}

func TestDeadlineErrorIsATimeout(t *testing.T) {
	c, _ := Pipe()
	_ = c.SetDeadline(time.Unix(1, 0))
	_, err := c.Read(make([]byte, 1))
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v is no timeout", err)
	}
}

func BenchmarkPingPong(b *testing.B) {
	for _, tc := range []struct {
		name string
		pipe func() (net.Conn, net.Conn)
	}{{"memnet", func() (net.Conn, net.Conn) { return Pipe() }}, {"net.Pipe", net.Pipe}} {
		b.Run(tc.name, func(b *testing.B) {
			b.ReportAllocs()
			c, s := tc.pipe()
			go func() { _, _ = io.CopyBuffer(struct{ io.Writer }{s}, struct{ io.Reader }{s}, make([]byte, 512)) }()
			message := make([]byte, 200)
			for b.Loop() {
				_, _ = c.Write(message)
				_, _ = io.ReadFull(c, message)
			}
			_ = c.Close()
		})
	}
}

func BenchmarkWriteThenRead(b *testing.B) {
	b.ReportAllocs()
	c, s := Pipe()
	message := make([]byte, 200)
	b.SetBytes(int64(len(message)))
	for b.Loop() {
		_, _ = c.Write(message)
		_, _ = s.Read(message)
	}
}

func BenchmarkSetReadDeadline(b *testing.B) {
	c, _ := Pipe()
	at := time.Now().Add(time.Minute)
	for b.Loop() {
		at = at.Add(time.Microsecond)
		_ = c.SetReadDeadline(at)
	}
	_ = c.Close()
}

// Bytes that come while somebody reads are put where they are wanted; these are the ways
// in which that may go wrong.

func TestMoreThanAWaitingReadTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := Pipe()
		got := make(chan string)
		go func() {
			b := make([]byte, 3)
			n, _ := s.Read(b)
			synctest.Wait() // all is written before the next read
			rest, _ := io.ReadAll(s)
			got <- string(b[:n]) + string(rest)
		}()
		synctest.Wait()
		_, _ = c.Write([]byte("hello"))
		_, _ = c.Write([]byte(", world"))
		_ = c.Close()
		if all := <-got; all != "hello, world" {
			t.Errorf("read %q", all)
		}
	})
}

func TestReadThatGaveUpGetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := Pipe()
		_ = s.SetReadDeadline(time.Now().Add(time.Second))
		late := []byte("untouched")
		if n, err := s.Read(late); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read %d, %v", n, err)
		}
		_ = s.SetReadDeadline(time.Time{})
		_, _ = c.Write([]byte("something"))
		wantRead(t, s, "something")
		if string(late) != "untouched" {
			t.Errorf("the read that gave up got %q", late)
		}
	})
}

// A deadline that passes, or an end that is closed, when the bytes were handed over already.
func TestReadThatHasItsBytesEndsWell(t *testing.T) {
	for name, then := range map[string]func(c, s net.Conn){
		"deadline":   func(_, s net.Conn) { _ = s.SetReadDeadline(time.Unix(1, 0)) },
		"closed":     func(_, s net.Conn) { _ = s.Close() },
		"peer ended": func(c, _ net.Conn) { _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for range 200 { // mostly the reader has not run when then does
					c, s := Pipe()
					done := make(chan error)
					go func() {
						b := make([]byte, 8)
						n, err := s.Read(b)
						if err == nil && string(b[:n]) != "bytes" {
							err = errors.New("read " + string(b[:n]))
						}
						done <- err
					}()
					synctest.Wait()
					_, _ = c.Write([]byte("bytes"))
					then(c, s)
					if err := <-done; err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

func TestSeveralReadersShareWhatComes(t *testing.T) {
	const readers, size = 4, 1 << 20
	c, s := Pipe()
	counts := make(chan [256]int)
	for i := range readers {
		go func() {
			var count [256]int
			for b := make([]byte, 1+100*i); ; {
				n, err := s.Read(b)
				for _, x := range b[:n] {
					count[x]++
				}
				if err != nil {
					counts <- count
					return
				}
			}
		}()
	}
	go func() {
		message := make([]byte, 256)
		for i := range message {
			message[i] = byte(i)
		}
		for range size / len(message) {
			_, _ = c.Write(message)
		}
		_ = c.Close()
	}()
	var all [256]int
	for range readers {
		for x, n := range <-counts {
			all[x] += n
		}
	}
	for x, n := range all {
		if n != size/256 {
			t.Fatalf("byte %d came %d times", x, n)
		}
	}
}
