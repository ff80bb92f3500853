package clock

import "time"

// Watch returns the current time to callers that need it often. Measuring elapsed time costs half as much as reading
// the time of day, so a Watch reads the time of day only once a second. It may thus notice up to a second late that
// the machine's clock was set. The zero value is ready. A Watch is not safe for concurrent use.
type Watch struct{ looked time.Time }

// Start reads the time of day and returns it. It is quicker than the first call of Now.
func (w *Watch) Start() time.Time {
	w.looked = time.Now()
	return w.looked
}

// Now returns the time with an exact monotonic reading.
func (w *Watch) Now() time.Time {
	if passed := time.Since(w.looked); passed >= 0 && passed < time.Second {
		return w.looked.Add(passed)
	}
	return w.Start()
}
