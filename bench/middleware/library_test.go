package middleware

import (
	"crypto/sha256"
	"log/slog"
	"slices"
	"time"
)

// libraries are the shares of the standard library in rows. A share is the difference between a request with the work of the library and
// one without, as for the row itself. On its own, the library would have the processor's caches for itself, and the row would count the
// difference as the middleware's.
var libraries = []struct {
	row           string
	with, without func() func()
}{
	{
		// log/slog makes the record of a request, and slog.TextHandler formats it, in the place of a handler that does nothing. fiber
		// formats a shorter line itself. Both read the clock twice, so that is no part of the share.
		row: "Logger",
		with: func() func() {
			serve, now := serving("Logger"), time.Now()
			return func() {
				serve()
				r := slog.NewRecord(now, slog.LevelInfo, "request", 0)
				r.AddAttrs(slog.String("path", "/"), slog.Int("status", 200), slog.Duration("duration", time.Microsecond),
					slog.String("client", "192.0.2.1"), slog.Int("bytes", len(hello)))
				record = r
			}
		},
		without: func() func() { return serving("LoggerRecord") },
	},
	{
		// A strong tag needs a hash without collisions. fiber uses CRC-32.
		row: "ETag",
		with: func() func() {
			serve, body := bare(), []byte(hello)
			return func() {
				serve()
				sum = sha256.Sum256(body)
			}
		},
		without: bare,
	},
	{
		// The scope of the key, and the request with its body, which is empty. Each is one block of SHA-256. fiber uses the key as it is, and
		// does not notice if it comes with another request.
		row: "IdempotencyReplay",
		with: func() func() {
			serve, scope, request := bare(), []byte("2"+"0"+"0"+host+"0/"+"0"+idempotencyKey), []byte("0POST"+"0/"+"0"+"b0")
			return func() {
				serve()
				sum = sha256.Sum256(scope)
				sum = sha256.Sum256(request)
			}
		},
		without: bare,
	},
}

// serving returns a function that passes gallop the request of a row.
func serving(name string) func() {
	r := &rows[slices.IndexFunc(rows, func(r row) bool { return r.name == name })]
	h := r.gallop(true)
	return h.prepare(r.requestFor(framework{"gallop", r.gallop}, h))
}

// bare returns a function that passes gallop a request without middleware.
func bare() func() { return ofGallop(nil)(false).prepare(request{method: "GET", target: "/"}) }

// sum and record keep the compiler from leaving out work.
var (
	sum    [sha256.Size]byte
	record slog.Record
)
