package server_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// Every change of a connection's state that is in the picture of internal/conn happens: in the simulation, or in one of the
// scenes here, for which the simulation would need TLS, a hook that panics, or more luck. A change that never happens is
// not covered by any test, or does not belong into the picture. All tests of this package panic if a change happens that
// is not in the picture.
func TestMoves(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	scenes := map[string]func(t *testing.T){
		"shaking→active":  tlsScene(func(t *testing.T, s *gallop.Server, ln *wiretest.KernelListener) { dialTLS(t, ln, nil).want("/", "") }),
		"shaking→closing": tlsScene(failHandshake),
		"shaking→ending":  tlsScene(shutdownInHandshake),
		"new→closing":     panicAtStateNew,
		"ending→started":  requestAfterTheEnd,
	}
	elsewhere := map[string]bool{"new→shaking": true}
	for move, scene := range scenes {
		elsewhere[move] = true
		t.Run(move, func(t *testing.T) {
			before := servertest.Moves()
			if scene(t); servertest.Moves()[move] == before[move] {
				t.Errorf("%s has not happened", move)
			}
		})
	}
	before := servertest.Moves()
	missing := func() (all []string) {
		for move, n := range servertest.Moves() {
			if n == before[move] && !elsewhere[move] {
				all = append(all, move)
			}
		}
		return all
	}
	const mostSeeds = 40 // five suffice
	for seed := range mostSeeds {
		if simulate(t, uint64(seed+1), 20_000, simForm{}); t.Failed() {
			return
		}
		if len(missing()) == 0 {
			t.Logf("%d seeds", seed+1)
			return
		}
	}
	t.Errorf("never happened in the simulation: %v", missing())
}

// tlsScene is a scene with a server on a loop that speaks TLS.
func tlsScene(scene func(*testing.T, *gallop.Server, *wiretest.KernelListener)) func(*testing.T) {
	return func(t *testing.T) {
		onTLSLoops(t, func() *gallop.Server { return &gallop.Server{Handler: func(*gallop.RequestCtx) {}} }, scene)
	}
}

func failHandshake(t *testing.T, _ *gallop.Server, ln *wiretest.KernelListener) {
	c := callIn(t, ln, "this is not TLS")
	_, _ = io.ReadAll(c)
	_ = c.Close()
}

func shutdownInHandshake(t *testing.T, s *gallop.Server, ln *wiretest.KernelListener) {
	c := callIn(t, ln, "")
	synctest.Wait()
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	_ = c.Close()
}

func panicAtStateNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &gallop.Server{Handler: servertest.Say, ConnState: func(_ net.Conn, state gallop.ConnState) {
			if state == gallop.StateNew {
				panic("boom")
			}
		}}
		ln, _ := serveInMemory(t, s)
		c, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(c)
		_ = c.Close()
	})
}

// requestAfterTheEnd sends a request that the loop has read when Shutdown ends the connection. It is answered.
func requestAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &gallop.Server{Handler: sayPath}
		ln, k := serveInMemory(t, s)
		c := talkers(t, ln, 1)[0]
		var wait sync.WaitGroup
		newGate(k, "after read").while(func() { c.ask("/late") }, func() {
			wait.Go(func() {
				if err := s.Shutdown(); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(10 * time.Millisecond)
		})
		c.want("/late")
		wait.Wait()
	})
}
