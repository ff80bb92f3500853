package middleware

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"time"
)

// libraries are the shares of the standard library in rows.
var libraries = []struct {
	row  string
	work func() func()
}{
	{
		// log/slog makes a record with the attributes of a request, and slog.TextHandler formats it. fiber formats a shorter line itself.
		row: "Logger",
		work: func() func() {
			handler := slog.NewTextHandler(nowhere{}, nil)
			return func() {
				r := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0)
				r.AddAttrs(slog.String("method", "GET"), slog.String("path", "/"), slog.Int("status", 200), slog.Duration("duration", time.Microsecond),
					slog.String("client", "192.0.2.1"), slog.String("route", "/"), slog.Int("bytes", len(hello)))
				handler.Handle(context.Background(), r)
			}
		},
	},
	{
		// A strong tag needs a hash without collisions. fiber uses CRC-32.
		row: "ETag",
		work: func() func() {
			body := []byte(hello)
			return func() { sum = sha256.Sum256(body) }
		},
	},
	{
		// The scope of the key, and the request with its body, which is empty. Each is one block of SHA-256. fiber uses the key as it is, and
		// does not notice if it comes with another request.
		row: "IdempotencyReplay",
		work: func() func() {
			scope, request := []byte("2"+"0"+"0"+host+"0/"+"0"+idempotencyKey), []byte("0POST"+"0/"+"0"+"b0")
			return func() {
				sum = sha256.Sum256(scope)
				sum = sha256.Sum256(request)
			}
		},
	},
}

// sum keeps the compiler from leaving out a hash.
var sum [sha256.Size]byte
