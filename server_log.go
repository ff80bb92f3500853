package gallop

import (
	"errors"
	"io"
	"log"
	"net"
	"os"
	"sync"
	"time"
)

func (s *Server) logger() Logger {
	if s.Logger != nil {
		return s.Logger
	}
	return defaultLogger
}

var defaultLogger Logger = log.New(os.Stderr, "gallop: ", log.LstdFlags)

// limitedLog writes messages, but not more than logBurst a second of any kind: who
// sends rubbish at full speed must not fill disks. It counts what it left out. No
// message holds bytes of a request.
type limitedLog struct {
	to Logger

	mu      sync.Mutex
	since   time.Time
	written int
	dropped int
}

const logBurst = 20

func (l *limitedLog) printf(format string, args ...any) {
	ok, dropped := l.take(time.Now())
	if dropped > 0 {
		l.to.Printf("%d messages were left out", dropped)
	}
	if ok {
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

// refusal logs that a request was refused.
func (l *limitedLog) refusal(from net.Addr, status int, reason error) {
	l.printf("request from %v refused with %d: %v", from, status, reason)
}

// connection logs how a connection ended. That clients go away is no news.
func (l *limitedLog) connection(from net.Addr, err error, all bool) {
	var broken *streamError
	if !all && !(errors.As(err, &broken) && !isNetwork(broken.err)) && isNetwork(err) {
		return
	}
	l.printf("connection from %v: %v", from, err)
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
