package clock

import "time"

// Watch tells what time it is to those who ask often. How much time has passed costs half as
// much as what time it is, so it asks for the latter once a second: later than that it does not
// know when somebody sets the clock of the machine. The zero value is ready. It is for one
// goroutine at a time.
type Watch struct{ looked time.Time }

// Now returns the time, with a monotonic reading that is exact.
func (w *Watch) Now() time.Time {
	if passed := time.Since(w.looked); passed >= 0 && passed < time.Second {
		return w.looked.Add(passed)
	}
	w.looked = time.Now()
	return w.looked
}
