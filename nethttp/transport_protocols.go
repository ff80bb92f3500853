package nethttp

import (
	"net/http"

	"github.com/gallop-http/gallop"
)

// protocolsOf returns the set p as a HostClient takes it.
func protocolsOf(p *http.Protocols) *gallop.Protocols {
	if p == nil {
		return nil
	}
	var to gallop.Protocols
	to.SetHTTP1(p.HTTP1())
	to.SetHTTP2(p.HTTP2())
	to.SetUnencryptedHTTP2(p.UnencryptedHTTP2())
	return &to
}

// http2Of returns c as a HostClient takes it.
func http2Of(c *http.HTTP2Config) *gallop.HTTP2Config {
	if c == nil {
		return nil
	}
	return &gallop.HTTP2Config{
		MaxConcurrentStreams:          c.MaxConcurrentStreams,
		StrictMaxConcurrentRequests:   isStrict(c),
		MaxDecoderHeaderTableSize:     c.MaxDecoderHeaderTableSize,
		MaxEncoderHeaderTableSize:     c.MaxEncoderHeaderTableSize,
		MaxReadFrameSize:              c.MaxReadFrameSize,
		MaxReceiveBufferPerConnection: c.MaxReceiveBufferPerConnection,
		MaxReceiveBufferPerStream:     c.MaxReceiveBufferPerStream,
		SendPingTimeout:               c.SendPingTimeout,
		PingTimeout:                   c.PingTimeout,
		WriteByteTimeout:              c.WriteByteTimeout,
		PermitProhibitedCipherSuites:  c.PermitProhibitedCipherSuites,
		CountError:                    c.CountError,
	}
}
