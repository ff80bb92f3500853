package http2flood_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// Clients that do as much as they may are not cut off.
func TestBusyClients(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(a *attacker) error
	}{
		{"a browser that leaves a page with 100 loads", func(a *attacker) error {
			for range 3 {
				var ids []uint32
				for range 100 {
					id, err := a.open("GET", "/slow", true)
					if err != nil {
						return err
					}
					ids = append(ids, id)
				}
				for _, id := range ids {
					if err := a.WriteRSTStream(id, http2.ErrCodeCancel); err != nil {
						return err
					}
				}
				time.Sleep(200 * time.Millisecond)
			}
			return nil
		}},
		{"calls of which 5 % are cancelled", func(a *attacker) error {
			for i := range 2000 {
				id, err := a.open("GET", "/", true)
				if err == nil && i%20 == 0 {
					err = a.WriteRSTStream(id, http2.ErrCodeCancel)
				}
				if err != nil {
					return err
				}
				if i%50 == 49 {
					time.Sleep(5 * time.Millisecond) // no more than 100 are open
				}
			}
			return nil
		}},
		{"a ping for each round trip", func(a *attacker) error {
			for i := range 100 {
				if err := a.WritePing(false, [8]byte{byte(i)}); err != nil {
					return err
				}
				time.Sleep(5 * time.Millisecond)
			}
			return nil
		}},
		{"many small messages in one body", func(a *attacker) error {
			id, err := a.open("POST", "/body", false)
			for i := 0; i < 3000 && err == nil; i++ {
				if err = a.WriteData(id, false, []byte("message")); i%100 == 99 {
					time.Sleep(time.Millisecond)
				}
			}
			if err == nil {
				err = a.WriteData(id, true, nil)
			}
			return err
		}},
		{"windows opened for each frame", func(a *attacker) error {
			for range 50 {
				id, err := a.open("GET", "/", true)
				for range 10 {
					if err == nil {
						err = a.WriteWindowUpdate(0, 1000)
					}
				}
				if err == nil {
					err = a.WriteWindowUpdate(id, 1000)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			onEngines(t, func(t *testing.T, to *target) {
				a := attack(t, to)
				err := tt.run(a)
				before := to.called.Load()
				if err == nil {
					_, err = a.open("GET", "/", true)
				}
				for begun := time.Now(); err == nil && to.called.Load() == before; time.Sleep(time.Millisecond) {
					if time.Since(begun) > 5*time.Second {
						err = fmt.Errorf("no more requests are served")
					}
				}
				select {
				case code, ok := <-a.away:
					t.Errorf("the connection has ended: %v, %v", code, ok)
				default:
				}
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}
