package middleware_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/web/middleware"
)

var _ middleware.Store = (*middleware.MemoryStore)(nil)

func TestMemoryStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s middleware.MemoryStore
		ctx := t.Context()
		want := func(key, value string) {
			t.Helper()
			got, err := s.Get(ctx, key)
			if err != nil || string(got) != value || (got != nil) != (value != "") {
				t.Errorf("%s: %q, %v, want %q", key, got, err, value)
			}
		}
		want("a", "")
		value := []byte("one")
		s.Set(ctx, "a", value, time.Minute)
		value[0] = 'X'
		want("a", "one")
		got, _ := s.Get(ctx, "a")
		got[0] = 'X'
		want("a", "one")
		s.Set(ctx, "a", []byte("two"), 0)
		s.Set(ctx, "b", []byte("b"), time.Minute)
		time.Sleep(time.Minute - time.Nanosecond)
		want("b", "b")
		time.Sleep(time.Nanosecond)
		want("b", "")
		want("a", "two")
		time.Sleep(1000 * time.Hour)
		want("a", "two")
		for range 2 {
			if err := s.Delete(ctx, "a"); err != nil {
				t.Error(err)
			}
		}
		want("a", "")
		s.Set(ctx, "empty", nil, 0)
		if got, err := s.Get(ctx, "empty"); got == nil || len(got) > 0 || err != nil {
			t.Errorf("an empty value: %v, %v", got, err)
		}
	})
}

func TestMemoryStoreIsBounded(t *testing.T) {
	s := middleware.MemoryStore{MaxBytes: 10 * (128 + 2 + 100)}
	ctx := t.Context()
	value := []byte(strings.Repeat("x", 100))
	has := func(i int) bool {
		got, _ := s.Get(ctx, fmt.Sprintf("%02d", i))
		return got != nil
	}
	for i := range 10 {
		s.Set(ctx, fmt.Sprintf("%02d", i), value, 0)
	}
	if !has(0) {
		t.Error("the first one is gone")
	}
	s.Set(ctx, "10", value, 0)
	s.Set(ctx, "10", value, 0) // in place of itself
	for i := range 11 {
		if has(i) != (i != 1) { // the one not used for the longest time
			t.Errorf("%d: %t", i, has(i))
		}
	}
	if err := s.Set(ctx, "xx", make([]byte, 10*(128+2+100)), 0); !errors.Is(err, middleware.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if !has(10) {
		t.Error("what is too large has driven others out")
	}
	s.Set(ctx, "yy", make([]byte, 10*(128+2+100)-130), 0)
	if got, _ := s.Get(ctx, "yy"); got == nil || has(10) {
		t.Error("what is as large as the store is not all there is")
	}
}

func TestMemoryStoreByMany(t *testing.T) {
	s := middleware.MemoryStore{MaxBytes: 2000}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				key := fmt.Sprint((g + i) % 20)
				s.Set(t.Context(), key, []byte(key), time.Duration(i%3))
				if got, err := s.Get(t.Context(), key); err != nil || got != nil && string(got) != key {
					t.Errorf("%q, %v", got, err)
				}
				s.Delete(t.Context(), key)
			}
		})
	}
	wg.Wait()
}
