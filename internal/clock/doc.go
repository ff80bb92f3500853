// Package clock provides the engine's time functions. [AppendDate] caches the Date field for a second,
// [AppendHTTPDate] and [ParseHTTPDate] convert the HTTP dates of RFC 9110 §5.6.7, and [Wheel] is a timer wheel for
// the thousands of connections of one event loop.
//
// Nothing here starts a goroutine or a ticker. Functions get the time as an argument, so they work inside a
// testing/synctest bubble. ParseHTTPDate and [Watch] call time.Now themselves.
package clock
