package gallopgrpc_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"log"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/galloptest"
	gallopgrpc "github.com/gallop-http/gallop/grpc"
)

// site is a gallop server with a gRPC server, and how clients reach it.
type site struct {
	*testing.T
	rpc    *gallopgrpc.Server
	server *gallop.Server
	addr   string
	creds  credentials.TransportCredentials
	log    *logText
}

// way is a way in which a site serves.
type way struct {
	name   string
	engine gallop.EngineType
	tls    bool
	plain  bool // without Configure
}

var ways = []way{
	{name: "loop", engine: gallop.EngineLoop},
	{name: "goroutine", engine: gallop.EngineGoroutine},
	{name: "loop TLS", engine: gallop.EngineLoop, tls: true},
	{name: "goroutine TLS", engine: gallop.EngineGoroutine, tls: true},
	{name: "loop without Configure", engine: gallop.EngineLoop, plain: true},
	{name: "goroutine without Configure", engine: gallop.EngineGoroutine, plain: true},
}

// onWays runs a test on sites that serve in each way. set registers services, and sets fields of both servers.
func onWays(t *testing.T, set func(rpc *gallopgrpc.Server, server *gallop.Server), test func(s *site)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { test(newSite(t, w, set)) })
	}
}

// logText is a log that a test can read.
type logText struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newSite(t *testing.T, w way, set func(rpc *gallopgrpc.Server, server *gallop.Server)) *site {
	s := &site{T: t, rpc: &gallopgrpc.Server{}, server: &gallop.Server{Engine: w.engine}, creds: insecure.NewCredentials(), log: &logText{}}
	s.server.Logger = log.New(s.log, "", 0)
	if set != nil {
		set(s.rpc, s.server)
	}
	if w.plain {
		s.server.Handler, s.server.StreamRequestBody = s.rpc.Handler, true
		s.server.Protocols = new(gallop.Protocols)
		s.server.Protocols.SetHTTP2(true)
		s.server.Protocols.SetUnencryptedHTTP2(true)
	} else {
		s.rpc.Configure(s.server)
	}
	serve := s.server.Handler
	s.server.Handler = func(ctx *gallop.RequestCtx) {
		ctx.SetUserValue("user", "value of the request")
		serve(ctx)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = ln.Addr().String()
	served := make(chan error, 1)
	if w.tls {
		cert, pool := galloptest.Certificate("localhost")
		s.server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}}
		s.creds = credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "localhost"})
		go func() { served <- s.server.ServeTLS(ln, "", "") }()
	} else {
		go func() { served <- s.server.Serve(ln) }()
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.server.ShutdownWithContext(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

// dial returns a connection of grpc-go's client, which is closed when the test ends.
func (s *site) dial(opts ...grpc.DialOption) *grpc.ClientConn {
	s.Helper()
	cc, err := grpc.NewClient("passthrough:///"+s.addr, append([]grpc.DialOption{grpc.WithTransportCredentials(s.creds)}, opts...)...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { cc.Close() })
	return cc
}

// context returns the context for a call that must not take long.
func (s *site) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	s.Cleanup(cancel)
	return ctx
}
