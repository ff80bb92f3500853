package raw

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
)

const (
	// directly is how many bytes a thread writes itself before it hears from the server again. They fit into the buffer of
	// the socket, so the thread does not wait.
	directly = 16 << 10

	// atOnce is how many bytes a goroutine writes before it asks for more.
	atOnce = 64 << 10
)

// write writes a few bytes directly, and leaves more of them to a goroutine.
func (l *link) write(p []byte) (int, error) {
	l.mu.Lock()
	if l.busy {
		l.mu.Unlock()
		return 0, nil
	}
	if l.unheard+len(p) <= directly {
		l.mu.Unlock()
		l.unheard += len(p)
		return l.nc.Write(p)
	}
	p = p[:min(len(p), atOnce)]
	l.out, l.busy = append(l.out[:0], p...), true
	l.unheard += len(p)
	l.mu.Unlock()
	l.d.readers.Add(1)
	go l.writeOut()
	return len(p), nil
}

// writeOut writes out. Errors are left to the reading goroutine, except for those that only a writer notices.
func (l *link) writeOut() {
	defer l.d.readers.Done()
	_, err := l.nc.Write(l.out)
	l.mu.Lock()
	l.busy = false
	if l.shuts && err == nil {
		err = closeWrite(l.nc)
	}
	l.mu.Unlock()
	if err != nil {
		l.post(netEvent{what: netEnded, err: err})
		return
	}
	l.post(netEvent{what: netWritable})
}

// shut ends the direction in which this side sends, when everything was written.
func (l *link) shut() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy {
		l.shuts = true
		return nil
	}
	return closeWrite(l.nc)
}

// closeWrite half-closes a connection. TLS says so to the server, and leaves its socket open.
func closeWrite(nc net.Conn) error { return nc.(interface{ CloseWrite() error }).CloseWrite() }

// reset makes closing the connection reset it. Unix sockets have no reset.
func (l *link) reset() {
	nc := l.nc
	if tc, isTLS := nc.(*tls.Conn); isTLS {
		nc = tc.NetConn()
	}
	if tcp, isTCP := nc.(*net.TCPConn); isTCP {
		_ = tcp.SetLinger(0)
	}
}

// endOf returns the meaning of an error of reading.
func endOf(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errClosed
	}
	return err
}

// handshakeFailure returns the meaning of an error of a handshake.
func handshakeFailure(err error) error {
	if kind := kindOf(err); kind != "other" && kind != "closed" {
		return &failure{kind, err}
	}
	var record tls.RecordHeaderError
	if errors.As(err, &record) {
		return &failure{"tls", err}
	}
	return &failure{"tls", &handshakeError{err}}
}
