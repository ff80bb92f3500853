package memnet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var _ net.Listener = (*Listener)(nil)

// accept accepts one connection in the background.
func accept(t *testing.T, ln *Listener) <-chan net.Conn {
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			t.Errorf("Accept: %v", err)
		}
		accepted <- c
	}()
	return accepted
}

func TestDialAndAccept(t *testing.T) {
	ln := NewListener()
	for _, dial := range []func() (net.Conn, error){
		ln.Dial,
		func() (net.Conn, error) { return ln.DialContext(context.Background(), "", "") },
		func() (net.Conn, error) { return ln.DialWithLocalAddr(nil) },
	} {
		accepted := accept(t, ln)
		c, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		s := <-accepted
		_, _ = c.Write([]byte("hello"))
		wantRead(t, s, "hello")
		_, _ = s.Write([]byte("welcome"))
		wantRead(t, c, "welcome")
		if c.RemoteAddr() != (Addr{}) || c.LocalAddr() != (Addr{}) {
			t.Errorf("addresses %v, %v", c.LocalAddr(), c.RemoteAddr())
		}
	}
}

func TestAddressesOfBothEnds(t *testing.T) {
	server := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
	client := &net.TCPAddr{IP: net.IPv4(198, 51, 100, 7), Port: 4321}
	ln := NewListener()
	if ln.Addr() != (Addr{}) {
		t.Errorf("at first the address is %v", ln.Addr())
	}
	ln.SetLocalAddr(server)
	accepted := accept(t, ln)
	c, err := ln.DialWithLocalAddr(client)
	if err != nil {
		t.Fatal(err)
	}
	s := <-accepted
	if ln.Addr() != server || s.LocalAddr() != server || c.RemoteAddr() != server {
		t.Errorf("server: %v, %v, %v; want %v", ln.Addr(), s.LocalAddr(), c.RemoteAddr(), server)
	}
	if c.LocalAddr() != client || s.RemoteAddr() != client {
		t.Errorf("client: %v, %v; want %v", c.LocalAddr(), s.RemoteAddr(), client)
	}
	ln.SetLocalAddr(nil)
	if ln.Addr() != (Addr{}) || s.LocalAddr() != server {
		t.Errorf("after SetLocalAddr(nil): %v, connection %v", ln.Addr(), s.LocalAddr())
	}
}

func TestDialWaitsForAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := NewListener()
		begun := time.Now()
		go func() {
			time.Sleep(time.Second)
			_, _ = ln.Accept()
		}()
		if _, err := ln.Dial(); err != nil || time.Since(begun) != time.Second {
			t.Errorf("Dial: %v after %v", err, time.Since(begun))
		}
	})
}

func TestDialContextGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := NewListener()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := ln.DialContext(ctx, "", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("DialContext: %v", err)
		}
		go func() { _, _ = ln.Accept() }()
		synctest.Wait()
		for range 20 { // a choice at random would be right at times
			if _, err := ln.DialContext(ctx, "", ""); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("DialContext that is over: %v", err)
			}
		}
		_ = ln.Close()
	})
}

func TestListenerClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := NewListener()
		accepted := accept(t, ln)
		c, _ := ln.Dial()
		s := <-accepted

		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := ln.Accept(); err != ErrListenerClosed {
				t.Errorf("Accept during Close: %v", err)
			}
		})
		synctest.Wait()
		for range 2 {
			if err := ln.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
		wg.Wait()
		for name, call := range map[string]func() (net.Conn, error){"Accept": ln.Accept, "Dial": ln.Dial} {
			if _, err := call(); err != ErrListenerClosed || !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s after Close: %v", name, err)
			}
		}
		_, _ = c.Write([]byte("still here"))
		wantRead(t, s, "still here")
	})
}

func TestCloseEndsADialThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := NewListener()
		time.AfterFunc(time.Second, func() { _ = ln.Close() })
		if _, err := ln.Dial(); err != ErrListenerClosed {
			t.Errorf("Dial: %v", err)
		}
	})
}

// The client and server of net/http are demanding users of a net.Conn.
func TestNetHTTPOverIt(t *testing.T) {
	ln := NewListener()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		_, _ = io.Copy(w, r.Body)
	})}
	go func() { _ = server.Serve(ln) }()
	transport := &http.Transport{DialContext: ln.DialContext}
	client := &http.Client{Transport: transport}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				pr, pw := io.Pipe()
				go func() {
					_, _ = pw.Write(make([]byte, 100_000))
					_, _ = pw.Write(make([]byte, 100_000))
					_ = pw.Close()
				}()
				resp, err := client.Post("http://memory/", "text/plain", pr)
				if err != nil {
					t.Error(err)
					return
				}
				n, err := io.Copy(io.Discard, resp.Body)
				if n != 200_000 || err != nil {
					t.Errorf("body of %d bytes, %v", n, err)
				}
				_ = resp.Body.Close()
			}
		})
	}
	wg.Wait()
	transport.CloseIdleConnections()
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
