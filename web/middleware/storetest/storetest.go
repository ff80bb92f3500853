// Package storetest checks that a middleware.Store does what its interfaces promise.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) middleware.Store { return newStore(t) })
//	}
//
// The tests use the real clock, but a slow machine does not make them fail.
//
//	storetest.go   Run, and code that the tests share
//	basic.go       keys, values, contexts
//	expiry.go      when values expire
//	steps.go       Adder, Swapper, Counter, Toucher
//	take.go        Taker
package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop/web/middleware"
)

// Run tests the Store that the function open returns. If the Store implements Adder, Swapper, Counter, Toucher or Taker, Run
// tests these interfaces, too.
//
// Each test calls the function open once. The function may return the same Store each time, because each test uses its own
// keys. The exception is the empty key, which several tests use. The Store may hold other values. The Store needs room for
// a few hundred values of up to 64 KiB.
//
// With the flag -short, fewer goroutines call the Store at the same time.
func Run(t *testing.T, open func(t *testing.T) middleware.Store) {
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			if c.needs != nil && !c.needs(s) {
				t.Skipf("%T does not implement the interface", s)
			}
			for _, problem := range c.on(t.Context(), s, 10*time.Second) {
				t.Error(problem)
			}
		})
	}
}

// check is a test of a store.
type check struct {
	name  string
	needs func(middleware.Store) bool // nil if the methods of Store are enough
	test  func(*session)
}

func checks() (all []check) {
	for _, some := range [][]check{basicChecks, expiryChecks, addChecks, swapChecks, countChecks, touchChecks, takeChecks} {
		all = append(all, some...)
	}
	return all
}

// on runs the check on a store and returns what is wrong with it.
func (c check) on(ctx context.Context, s middleware.Store, patience time.Duration) (problems []string) {
	r := &session{ctx: ctx, store: s, patience: patience, prefix: rand.Text() + ":"}
	defer func() {
		if value := recover(); value != nil && value != any(errStop) {
			panic(value)
		}
		problems = r.problems
	}()
	c.test(r)
	return nil
}

// has reports whether a store implements T.
func has[T middleware.Store](s middleware.Store) bool {
	_, ok := s.(T)
	return ok
}

// session is one run of a check.
type session struct {
	ctx      context.Context
	store    middleware.Store
	patience time.Duration // how late the store may notice that a value has expired
	prefix   string        // of all keys

	mu       sync.Mutex
	problems []string
}

var errStop = fmt.Errorf("the test cannot go on")

// errorf reports a problem. Any number of goroutines may call it.
func (s *session) errorf(format string, arguments ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.problems) < 10 {
		s.problems = append(s.problems, fmt.Sprintf(format, arguments...))
	}
}

// ok stops the check if there is an error.
func (s *session) ok(err error, doing string) {
	if err != nil {
		s.errorf("%s: %v", doing, err)
		panic(errStop)
	}
}

// is reports a problem unless got is want.
func is[T comparable](s *session, what string, got, want T) {
	if got != want {
		s.errorf("%s: %v, want %v", what, got, want)
	}
}

func (s *session) key(name string) string { return s.prefix + name }

func (s *session) set(key, value string, ttl time.Duration) {
	s.ok(s.store.Set(s.ctx, key, []byte(value), ttl), "Set")
}

// get returns the value of a key as text, or "missing". Values in the checks are other texts.
func (s *session) get(key string) string {
	value, found, err := s.store.Get(s.ctx, key)
	s.ok(err, "Get")
	switch {
	case found:
		return string(value)
	case len(value) > 0:
		s.errorf("Get returns a value and found == false")
	}
	return missing
}

const missing = "missing"

// want reports a problem unless the key has the value, which may be missing.
func (s *session) want(what, key, value string) {
	if got := s.get(key); got != value {
		s.errorf("%s: the value is %s, want %s", what, show(got), show(value))
	}
}

// show returns a value as it may stand in a message.
func show(value string) string {
	if value == missing {
		return value
	}
	return fmt.Sprintf("%.40q", value)
}

// goroutines is how many calls a test makes at once, or as good as that: the race detector allows only 8128.
func goroutines() (all, atOnce int) {
	if testing.Short() {
		return 1000, 1000
	}
	return 10_000, 2000
}

// together calls f by many goroutines.
func (s *session) together(n, atOnce int, f func(i int)) {
	var all sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for i := range n {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			f(i)
		})
	}
	all.Wait()
}
