// Package clock holds what the engine does with time: the Date field that is
// formatted once a second, HTTP dates of RFC 9110 §5.6.7 read and written, and a
// timer wheel for thousands of connections on one event loop.
//
// Nothing here starts a goroutine or a ticker. Functions that depend on the time
// take it as an argument (but for [ParseHTTPDate], which has to ask for the
// century), so they behave inside a testing/synctest bubble as they do outside.
package clock
