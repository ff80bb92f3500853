package memnet

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestOperationsOnOddStates shows what calls of no bytes and of one byte do, which is what TCP's do.
func TestOperationsOnOddStates(t *testing.T) {
	past := time.Now().Add(-time.Hour)
	for _, tc := range []struct {
		name        string
		before      func(c, peer net.Conn)
		read, write error // of one byte
		none        error // of writing no bytes
	}{
		{"closed", func(c, _ net.Conn) { c.Close() }, net.ErrClosed, net.ErrClosed, net.ErrClosed},
		{"closed twice", func(c, _ net.Conn) { c.Close(); c.Close() }, net.ErrClosed, net.ErrClosed, net.ErrClosed},
		{"closed after half", func(c, _ net.Conn) { c.(halfCloser).CloseWrite(); c.Close() }, net.ErrClosed, net.ErrClosed, net.ErrClosed},
		{"closed by the peer", func(_, peer net.Conn) { peer.Close() }, io.EOF, io.ErrClosedPipe, io.ErrClosedPipe},
		{"half closed by both", func(c, peer net.Conn) { c.(halfCloser).CloseWrite(); peer.(halfCloser).CloseWrite() }, io.EOF, io.ErrClosedPipe, io.ErrClosedPipe},
		{"past deadlines", func(c, _ net.Conn) { c.SetDeadline(past) }, os.ErrDeadlineExceeded, os.ErrDeadlineExceeded, os.ErrDeadlineExceeded},
		{"closed with past deadlines", func(c, _ net.Conn) { c.SetDeadline(past); c.Close() }, net.ErrClosed, net.ErrClosed, net.ErrClosed},
	} {
		c, peer := Pipe()
		tc.before(c, peer)
		wantErr(t, tc.name+": Read", c.Read, tc.read)
		wantErr(t, tc.name+": Write", c.Write, tc.write)
		if n, err := c.Write(nil); n != 0 || !errors.Is(err, tc.none) {
			t.Errorf("%s: Write of nothing: %d, %v", tc.name, n, err)
		}
		c.Close()
		peer.Close()
		for _, set := range []func(time.Time) error{c.SetDeadline, c.SetReadDeadline, c.SetWriteDeadline} {
			if err := set(time.Now()); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: deadline of a closed end: %v", tc.name, err)
			}
		}
	}
}

// A huge Write, and calls that wait, end when either end is closed by several goroutines at once.
func TestConcurrentClose(t *testing.T) {
	for _, ends := range []string{"client", "server", "both"} {
		synctest.Test(t, func(t *testing.T) {
			c, s := Pipe()
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					if n, err := c.Write(make([]byte, 16<<20)); err == nil || n > BufferSize+10 {
						t.Errorf("Write: %d, %v", n, err)
					}
				})
				all.Go(func() {
					if _, err := c.Read(make([]byte, 1)); err == nil {
						t.Error("Read succeeded")
					}
				})
			}
			synctest.Wait()
			for range 4 {
				if ends != "server" {
					all.Go(func() { c.Close() })
				}
				if ends != "client" {
					all.Go(func() { s.Close() })
				}
			}
			all.Wait()
		})
	}
}

// Dials and accepts that race with Close and with the end of a context end, and never with half a connection.
func TestDialsRaceWithClose(t *testing.T) {
	for range 200 {
		ln := NewListener()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if c, err := ln.Accept(); (c == nil) == (err == nil) {
					t.Errorf("Accept: %v, %v", c, err)
				}
			})
			all.Go(func() {
				if c, err := ln.DialContext(ctx, "", ""); (c == nil) == (err == nil) {
					t.Errorf("Dial: %v, %v", c, err)
				}
			})
		}
		all.Go(func() { ln.Close() })
		all.Go(func() { ln.Close() })
		all.Go(cancel)
		all.Wait()
		if _, err := ln.Accept(); err != ErrListenerClosed {
			t.Errorf("Accept after Close: %v", err)
		}
	}
}
