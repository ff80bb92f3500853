package raw

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/http2"
)

// failure is why a request failed. It is what script.Response.Err holds.
type failure struct {
	kind string // as in result.Error
	err  error
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// protocol returns the failure of a request whose response breaks the protocol.
func protocol(reason string) *failure { return &failure{"protocol", errors.New(reason)} }

var (
	errTimeout     = &failure{"timeout", errors.New("no complete response within the timeout of the request")}
	errStaysOpen   = &failure{"timeout", errors.New("server has not closed the connection after the response")}
	errDialTimeout = &failure{"timeout", errors.New("no connection within the timeout of dialing")}
	errClosed      = &failure{"closed", errors.New("connection closed before the response")}
	errCut         = &failure{"closed", errors.New("connection closed within the response")}
	errOther       = &failure{"closed", errors.New("connection closed because of another request")}
	errBehind      = protocol("bytes after the end of the response")
	errWrongALPN   = &failure{"tls", errors.New("server did not choose the protocol of the run by ALPN")}
)

// local are errors that this machine causes.
var local = []syscall.Errno{syscall.EADDRNOTAVAIL, syscall.EADDRINUSE, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EACCES, syscall.EPERM}

// classify returns the failure for an error of a connection.
func classify(err error) *failure {
	var known *failure
	if errors.As(err, &known) {
		return known
	}
	return &failure{kindOf(err), err}
}

func kindOf(err error) string {
	for _, errno := range local {
		if errors.Is(err, errno) {
			return "local"
		}
	}
	var http1Err *http1.Error
	var http2Err *http2.Error
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EAGAIN):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return "reset"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return "timeout"
	case errors.As(err, &http1Err), errors.As(err, &http2Err):
		return "protocol"
	case errors.As(err, &dns):
		return "dns"
	case isTLS(err):
		return "tls"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "closed"
	}
	return "other"
}

// isTLS reports whether an error is about TLS or a certificate.
func isTLS(err error) bool {
	var (
		alert    tls.AlertError
		record   tls.RecordHeaderError
		verify   *tls.CertificateVerificationError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		shaken   *handshakeError
	)
	return errors.As(err, &alert) || errors.As(err, &record) || errors.As(err, &verify) || errors.As(err, &unknown) ||
		errors.As(err, &hostname) || errors.As(err, &invalid) || errors.As(err, &shaken)
}

// handshakeError is an error of a handshake that has no type of its own.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return fmt.Sprintf("TLS handshake: %v", e.err) }

func (e *handshakeError) Unwrap() error { return e.err }
