package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/examples/arena/profile"
	gallopgrpc "github.com/gallop-http/gallop/grpc"
)

// tableSize is the number of items in the database.
const tableSize = 100_000

// listener is a port with its protocols.
type listener struct {
	net.Listener
	protocols gallop.Protocols
	tls       *tls.Config
}

// listen opens all ports, so that the program fails at once if one of them is taken.
func listen(o options) (all []listener, err error) {
	defer func() {
		if err != nil {
			for _, l := range all {
				l.Close()
			}
		}
	}()
	var h1, h2, h2c gallop.Protocols
	h1.SetHTTP1(true)
	h2.SetHTTP2(true)
	h2.SetHTTP1(true)
	h2c.SetUnencryptedHTTP2(true)
	ports := []struct {
		address   string
		protocols gallop.Protocols
		secure    bool
	}{{o.plain, h1, false}, {o.tls1, h1, true}, {o.h2c, h2c, false}, {o.tls2, h2, true}}
	var config *tls.Config
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return nil, err
		}
		config = &tls.Config{Certificates: []tls.Certificate{pair}}
	}
	for _, p := range ports {
		if p.address == "" || p.secure && config == nil {
			continue
		}
		l, err := net.Listen("tcp", p.address)
		if err != nil {
			return all, err
		}
		all = append(all, listener{Listener: l, protocols: p.protocols})
		if p.secure {
			all[len(all)-1].tls = config
		}
	}
	return all, nil
}

// serveAll serves all ports until ctx is done or one of the servers fails.
func (a *arena) serveAll(ctx context.Context, listeners []listener) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error)
	for _, l := range listeners {
		go func() { ended <- a.serve(ctx, l) }()
	}
	for range listeners {
		err = errors.Join(err, <-ended)
		stop() // if one server fails, the others end too
	}
	return err
}

// serve serves a port until ctx is done.
func (a *arena) serve(ctx context.Context, l listener) error {
	s := &gallop.Server{
		Handler:            a.handle,
		HeaderReceived:     streamUploads,
		MaxRequestBodySize: 64 << 10, // of all routes but the upload
		Protocols:          &l.protocols,
		TLSConfig:          l.tls,
		ShutdownTimeout:    5 * time.Second,
	}
	if l.protocols.UnencryptedHTTP2() {
		var rpc gallopgrpc.Server
		profile.RegisterSumsServer(&rpc, sums{})
		rpc.Configure(s)
	}
	if l.tls != nil {
		return s.RunTLS(ctx, l, "", "")
	}
	return s.Run(ctx, l)
}
