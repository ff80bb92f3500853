package conn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
)

// Event is what a message says to an ErrorLog.
type Event struct {
	Level  slog.Level
	Text   string
	Remote net.Addr // of the client; may be nil
	Conn   uint64   // the ConnID, 0 for none
	Status int      // that the client got, 0 for none
	Err    any      // what went wrong; may be nil
	stack  []byte   // of a panic
}

func (e *Event) attrs() []slog.Attr {
	var attrs []slog.Attr
	if e.Remote != nil {
		attrs = append(attrs, slog.String("remote", e.Remote.String()))
	}
	if e.Conn != 0 {
		attrs = append(attrs, slog.Uint64("conn", e.Conn))
	}
	if e.Status != 0 {
		attrs = append(attrs, slog.Int("status", e.Status))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("err", e.Err))
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

// Log writes messages, but not more than logBurst a second of any kind: who
// sends rubbish at full speed must not fill disks. It counts what it left out. No
// message holds bytes that a client has sent.
type Log struct {
	To         printer
	Structured *slog.Logger // gets the messages instead, if it is not nil

	mu      sync.Mutex
	since   time.Time
	written int
	dropped int
}

const logBurst = 20

// printf writes a message that is about the server, and not about a connection.
func (l *Log) printf(format string, args ...any) {
	l.Write(nil, format, args...)
}

// Write writes a message: e, or, without an ErrorLog, or if e is nil, the text of the other arguments.
func (l *Log) Write(e *Event, format string, args ...any) {
	ok, dropped := l.take(time.Now())
	if dropped > 0 {
		l.To.Printf("%d messages were left out", dropped)
	}
	switch {
	case !ok:
	case e != nil && l.Structured != nil:
		l.Structured.LogAttrs(context.Background(), e.Level, e.Text, e.attrs()...)
	default:
		l.To.Printf(format, args...)
	}
}

// take reports whether a message may be written now, and how many were left out
// before the second that has begun.
func (l *Log) take(now time.Time) (ok bool, dropped int) {
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
func (l *Log) rejection(from net.Addr, status int, reason error) {
	l.Write(&Event{Level: slog.LevelWarn, Text: "connection refused", Remote: from, Status: status, Err: reason},
		"connection from %s refused: %v", from, reason)
}

// Panicked logs a panic with v, while the connection was served that is given by the address of the client and its ID.
func (l *Log) Panicked(from net.Addr, conn uint64, text string, v any) {
	stack := debug.Stack()
	l.Write(&Event{Level: slog.LevelError, Text: text, Remote: from, Conn: conn, Err: v, stack: stack}, "%s: %v\n%s", text, v, stack)
}

// Connection logs how a connection ended. That clients go away is no news.
func (l *Log) Connection(from net.Addr, conn uint64, err error, all bool) {
	if !all && IsNetwork(err) {
		return
	}
	l.Write(&Event{Level: slog.LevelWarn, Text: "connection failed", Remote: from, Conn: conn, Err: err}, "connection from %v: %v", from, err)
}

// accepting logs that no connections can be accepted for now.
func (l *Log) accepting(ln net.Listener, pause time.Duration, err error) {
	if errors.Is(err, syscall.EMFILE) {
		err = fmt.Errorf("%w; raise the limit of descriptors, or set Server.Concurrency below it", err)
	}
	l.Write(&Event{Level: slog.LevelError, Text: "accepting failed, trying again", Err: err},
		"accepting on %s failed, trying again in %v: %v", ln.Addr(), pause, err)
}

// IsNetwork reports whether err is a failure of the network or of the client.
func IsNetwork(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || isSyscall(err)
}

func isSyscall(err error) bool {
	var e *os.SyscallError
	var op *net.OpError
	return errors.As(err, &e) || errors.As(err, &op)
}
