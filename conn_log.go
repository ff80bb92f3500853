package gallop

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// logEvent is what a message says to an ErrorLog.
type logEvent struct {
	level  slog.Level
	text   string
	remote net.Addr // of the client; may be nil
	conn   uint64   // the ConnID, 0 for none
	status int      // that the client got, 0 for none
	err    any      // what went wrong; may be nil
	stack  []byte   // of a panic
}

func (e *logEvent) attrs() []slog.Attr {
	var attrs []slog.Attr
	if e.remote != nil {
		attrs = append(attrs, slog.String("remote", e.remote.String()))
	}
	if e.conn != 0 {
		attrs = append(attrs, slog.Uint64("conn", e.conn))
	}
	if e.status != 0 {
		attrs = append(attrs, slog.Int("status", e.status))
	}
	if e.err != nil {
		attrs = append(attrs, slog.Any("err", e.err))
	}
	if e.stack != nil {
		attrs = append(attrs, slog.String("stack", string(e.stack)))
	}
	return attrs
}

// printer is a log for lines of text.
type printer interface {
	Printf(format string, args ...any)
}

// limitedLog writes messages, but not more than logBurst a second of any kind: who
// sends rubbish at full speed must not fill disks. It counts what it left out. No
// message holds bytes that a client has sent.
type limitedLog struct {
	to         printer
	structured *slog.Logger // gets the messages instead, if it is not nil

	mu      sync.Mutex
	since   time.Time
	written int
	dropped int
}

const logBurst = 20

// printf writes a message that is about the server, and not about a connection.
func (l *limitedLog) printf(format string, args ...any) {
	l.write(nil, format, args...)
}

// write writes a message: e, or, without an ErrorLog, or if e is nil, the text of the other arguments.
func (l *limitedLog) write(e *logEvent, format string, args ...any) {
	ok, dropped := l.take(time.Now())
	if dropped > 0 {
		l.to.Printf("%d messages were left out", dropped)
	}
	switch {
	case !ok:
	case e != nil && l.structured != nil:
		l.structured.LogAttrs(context.Background(), e.level, e.text, e.attrs()...)
	default:
		l.to.Printf(format, args...)
	}
}

// take reports whether a message may be written now, and how many were left out
// before the second that has begun.
func (l *limitedLog) take(now time.Time) (ok bool, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= time.Second {
		dropped = l.dropped
		l.since, l.written, l.dropped = now, 0, 0
	}
	if l.written >= logBurst {
		l.dropped++
		return false, dropped
	}
	l.written++
	return true, dropped
}

// rejection logs that a connection was rejected.
func (l *limitedLog) rejection(from net.Addr, status int, reason error) {
	l.write(&logEvent{level: slog.LevelWarn, text: "connection refused", remote: from, status: status, err: reason},
		"connection from %s refused: %v", from, reason)
}

// panicked logs a panic with v, while the connection was served that is given by the address of the client and its ID.
func (l *limitedLog) panicked(from net.Addr, conn uint64, text string, v any) {
	stack := debug.Stack()
	l.write(&logEvent{level: slog.LevelError, text: text, remote: from, conn: conn, err: v, stack: stack}, "%s: %v\n%s", text, v, stack)
}

// connection logs how a connection ended. That clients go away is no news.
func (l *limitedLog) connection(from net.Addr, conn uint64, err error, all bool) {
	if !all && isNetwork(err) {
		return
	}
	l.write(&logEvent{level: slog.LevelWarn, text: "connection failed", remote: from, conn: conn, err: err}, "connection from %v: %v", from, err)
}

// accepting logs that no connections can be accepted for now.
func (l *limitedLog) accepting(ln net.Listener, pause time.Duration, err error) {
	l.write(&logEvent{level: slog.LevelError, text: "accepting failed, trying again", err: err},
		"accepting on %s failed, trying again in %v: %v", ln.Addr(), pause, err)
}

// isNetwork reports whether err is a failure of the network or of the client.
func isNetwork(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || isSyscall(err)
}

func isSyscall(err error) bool {
	var e *os.SyscallError
	var op *net.OpError
	return errors.As(err, &e) || errors.As(err, &op)
}
