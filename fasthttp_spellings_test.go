package gallop

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTimersFireOnceAndOnTime(t *testing.T) {
	for timers.Get() != nil { // those that were made outside of the bubble
	}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		first := AcquireTimer(time.Second)
		time.Sleep(2 * time.Second) // it fires, and nobody takes what it sent
		ReleaseTimer(first)

		second := AcquireTimer(time.Minute)
		<-second.C
		if took := time.Since(begun); took != time.Minute+2*time.Second {
			t.Errorf("a timer of a minute fired after %v", took-2*time.Second)
		}
		ReleaseTimer(second)
		select {
		case <-second.C:
			t.Error("a released timer fired")
		default:
		}
		for timers.Get() != nil { // those of this bubble end with it
		}
	})
}
