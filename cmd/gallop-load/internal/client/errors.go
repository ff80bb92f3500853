package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/gallop-http/gallop"
)

// kindOf returns the kind of an error, one of those that result.Error lists.
func kindOf(err error) string {
	var dns *net.DNSError
	var closed *gallop.ClosedError
	switch {
	case isLocal(err):
		return "local"
	case errors.Is(err, gallop.ErrTimeout), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return "timeout"
	case errors.As(err, &dns):
		return "dns"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case isTLS(err):
		return "tls"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	case errors.As(err, &closed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gallop.ErrConnectionClosed):
		return "closed"
	case isProtocol(err):
		return "protocol"
	}
	return "other"
}

// isLocal reports whether this machine is to blame: it lacks ports, descriptors or memory.
func isLocal(err error) bool {
	for _, local := range []error{syscall.EADDRNOTAVAIL, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.EADDRINUSE} {
		if errors.Is(err, local) {
			return true
		}
	}
	return false
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

func isTLS(err error) bool {
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &verify) || errors.As(err, &unknown) || errors.As(err, &host)
}

// isProtocol reports whether the server's bytes were wrong: the call failed while it read, and not because of the network.
func isProtocol(err error) bool {
	var call *gallop.CallError
	var network *net.OpError
	return errors.As(err, &call) && !errors.As(err, &network)
}
