package gallopgrpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/gallop-http/gallop"
	gallopgrpc "github.com/gallop-http/gallop/grpc"
)

func TestMessageLimits(t *testing.T) {
	const limit = 100_000
	sv := &service{unary: func(_ context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		return &testpb.SimpleResponse{Payload: payload(int(in.ResponseSize))}, nil
	}, duplex: func(d testgrpc.TestService_FullDuplexCallServer) error {
		for {
			in, err := d.Recv()
			if err != nil {
				return endOf(err)
			}
			d.Send(&testpb.StreamingOutputCallResponse{Payload: payload(int(in.ResponseParameters[0].Size))}) // the error counts nevertheless
		}
	}}
	onWays(t, func(rpc *gallopgrpc.Server, server *gallop.Server) {
		serving(sv)(rpc, server)
		rpc.MaxRecvMsgSize, rpc.MaxSendMsgSize = limit, limit
	}, func(s *site) {
		c := s.client()
		for _, tc := range []struct {
			in, out int
			code    codes.Code
		}{{10, 10, codes.OK}, {limit - 20, limit - 20, codes.OK}, {limit, 10, codes.ResourceExhausted}, {10, limit, codes.ResourceExhausted}} {
			_, err := c.UnaryCall(s.context(), &testpb.SimpleRequest{Payload: payload(tc.in), ResponseSize: int32(tc.out)})
			s.wantCode(err, tc.code, "")
			d, err := c.FullDuplexCall(s.context())
			if err != nil {
				s.Fatal(err)
			}
			d.Send(&testpb.StreamingOutputCallRequest{Payload: payload(tc.in), ResponseParameters: []*testpb.ResponseParameters{{Size: int32(tc.out)}}})
			d.CloseSend()
			_, err = d.Recv()
			s.wantCode(err, tc.code, "")
		}
	})
}

// The default limit is 4 MiB for a message. Configure allows a body that is longer by the prefix.
func TestDefaultLimit(t *testing.T) {
	onWays(t, serving(&service{unary: func(_ context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		return &testpb.SimpleResponse{}, nil
	}}), func(s *site) {
		c := s.client()
		for over := range 2 {
			in := &testpb.SimpleRequest{Payload: payload(4<<20 - 10 + over)} // and ten bytes around it
			_, err := c.UnaryCall(s.context(), in)
			s.wantCode(err, []codes.Code{codes.OK, codes.ResourceExhausted}[over], "")
		}
	})
}

func TestCompression(t *testing.T) {
	text := strings.Repeat("compressible ", 1000)
	sv := &service{unary: func(ctx context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		for _, name := range metadata.ValueFromIncomingContext(ctx, "send") {
			if err := gallopgrpc.SetSendCompressor(ctx, name); err != nil {
				return nil, err
			}
		}
		return echo(ctx, in)
	}, duplex: echoAll}
	watch := &watcher{}
	onWays(t, func(rpc *gallopgrpc.Server, server *gallop.Server) {
		serving(sv)(rpc, server)
		rpc.StatsHandler = watch
	}, func(s *site) {
		c := s.client()
		for _, tc := range []struct {
			name, send string
			opts       []grpc.CallOption
			in, out    bool // compressed
			code       codes.Code
		}{
			{name: "neither"},
			{name: "both", opts: []grpc.CallOption{grpc.UseCompressor(gzip.Name)}, in: true, out: true},
			{name: "request", send: "identity", opts: []grpc.CallOption{grpc.UseCompressor(gzip.Name)}, in: true},
			{name: "response", send: gzip.Name, out: true},
			{name: "unknown", send: "nothing", code: codes.Internal},
		} {
			watch.reset()
			ctx := s.context()
			if tc.send != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "send", tc.send)
			}
			r, err := c.UnaryCall(ctx, textOf(text), tc.opts...)
			s.wantCode(err, tc.code, "")
			if err == nil && string(r.Payload.Body) != text {
				s.Errorf("%s: %d bytes", tc.name, len(r.Payload.Body))
			}
			if in, out := watch.wire(); in < len(text) != tc.in || err == nil && out < len(text) != tc.out {
				s.Errorf("%s: %d and %d bytes on the wire", tc.name, in, out)
			}
		}
		d, err := c.FullDuplexCall(s.context(), grpc.UseCompressor(gzip.Name))
		if err != nil {
			s.Fatal(err)
		}
		for range 3 {
			d.Send(&testpb.StreamingOutputCallRequest{Payload: textOf(text).Payload})
			if r, err := d.Recv(); err != nil || string(r.Payload.Body) != text {
				s.Errorf("%v, %v", r, err)
			}
		}
	})
	if err := gallopgrpc.SetSendCompressor(context.Background(), gzip.Name); err == nil {
		t.Error("set without a call")
	}
}

// jsonCodec is a codec of a program. It keeps what it decodes, as codecs may.
type jsonCodec struct{ kept [][]byte }

func (c *jsonCodec) Marshal(v any) ([]byte, error) { return json.Marshal(v) }
func (c *jsonCodec) Unmarshal(data []byte, v any) error {
	c.kept = append(c.kept, data)
	return json.Unmarshal(data, v)
}
func (c *jsonCodec) Name() string { return "json" }

var theJSON = &jsonCodec{}

func init() { encoding.RegisterCodec(theJSON) }

func TestCodecs(t *testing.T) {
	onWays(t, serving(&service{unary: echo}), func(s *site) {
		c := s.client()
		theJSON.kept = nil
		for i := range 3 {
			var header metadata.MD
			text := fmt.Sprint("number ", i)
			r, err := c.UnaryCall(s.context(), textOf(text), grpc.CallContentSubtype("json"), grpc.Header(&header))
			if err != nil || string(r.Payload.Body) != text || header.Get("content-type")[0] != "application/grpc+json" {
				s.Errorf("%v, %v, %v", r, err, header)
			}
		}
		for i, b := range theJSON.kept { // by the client, too
			if !json.Valid(b) {
				s.Errorf("%d: what a codec has kept became %q", i, b)
			}
		}
	})
}

// trail is what interceptors and handlers note.
type trail struct {
	mu    sync.Mutex
	steps []string
}

func (l *trail) note(step string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = append(l.steps, step)
}

func (l *trail) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	steps := l.steps
	l.steps = nil
	return steps
}

func TestInterceptors(t *testing.T) {
	type keyType struct{}
	for n := range 4 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var log trail
			sv := &service{unary: func(ctx context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
				log.note(fmt.Sprint("handler ", ctx.Value(keyType{})))
				return echo(ctx, in)
			}, duplex: func(d testgrpc.TestService_FullDuplexCallServer) error {
				log.note("handler")
				return echoAll(d)
			}}
			onWays(t, func(rpc *gallopgrpc.Server, server *gallop.Server) {
				serving(sv)(rpc, server)
				for i := range n {
					rpc.UnaryInterceptors = append(rpc.UnaryInterceptors, func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
						log.note(fmt.Sprint(i, " ", info.FullMethod))
						if string(req.(*testpb.SimpleRequest).GetPayload().GetBody()) == "stop" && i == n-1 {
							return nil, status.Error(codes.PermissionDenied, "stopped")
						}
						v, err := next(context.WithValue(ctx, keyType{}, i), req)
						log.note(fmt.Sprint(i, " after"))
						return v, err
					})
					rpc.StreamInterceptors = append(rpc.StreamInterceptors, func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
						log.note(fmt.Sprint(i, " ", info.FullMethod, info.IsClientStream, info.IsServerStream))
						err := next(srv, ss)
						log.note(fmt.Sprint(i, " after"))
						return err
					})
				}
			}, func(s *site) {
				c := s.client()
				if _, err := c.UnaryCall(s.context(), textOf("go")); err != nil {
					s.Error(err)
				}
				var want []string
				for i := range n {
					want = append(want, fmt.Sprint(i, " ", unaryPath))
				}
				value := any(nil)
				if n > 0 {
					value = n - 1
				}
				want = append(want, fmt.Sprint("handler ", value))
				for i := range n {
					want = append(want, fmt.Sprint(n-1-i, " after"))
				}
				if got := log.take(); !slices.Equal(got, want) {
					s.Errorf("got %q, want %q", got, want)
				}
				if _, err := c.UnaryCall(s.context(), textOf("stop")); n > 0 != (status.Code(err) == codes.PermissionDenied) {
					s.Error(err)
				}
				log.take()
				d, _ := c.FullDuplexCall(s.context())
				d.CloseSend()
				if _, err := d.Recv(); err != io.EOF {
					s.Error(err)
				}
				got := log.take()
				if len(got) != 2*n+1 || n > 0 && got[0] != "0 "+duplexPath+"true true" || got[n] != "handler" {
					s.Errorf("%q", got)
				}
			})
		})
	}
}

// watcher is a StatsHandler that remembers what it is told.
type watcher struct {
	mu      sync.Mutex
	events  []string
	in, out int
}

type watchedKey struct{}

func (w *watcher) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events, w.in, w.out = nil, 0, 0
}

func (w *watcher) wire() (in, out int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.in, w.out
}

func (w *watcher) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, watchedKey{}, info.FullMethodName)
}

func (w *watcher) HandleRPC(ctx context.Context, event stats.RPCStats) {
	metadata.FromIncomingContext(ctx) // must not wait for a lock
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.TrimPrefix(fmt.Sprintf("%T", event), "*stats.")
	switch e := event.(type) {
	case *stats.InPayload:
		w.in = e.CompressedLength
	case *stats.OutPayload:
		w.out = e.CompressedLength
	case *stats.InHeader:
		text += " " + e.FullMethod
	case *stats.End:
		text += fmt.Sprint(" ", status.Code(e.Error))
	}
	if ctx.Value(watchedKey{}) == nil || event.IsClient() {
		text += " without its tag"
	}
	w.events = append(w.events, text)
}

func (w *watcher) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (w *watcher) HandleConn(context.Context, stats.ConnStats)                       {}

func TestStatsHandler(t *testing.T) {
	watch := &watcher{}
	sv := &service{unary: func(ctx context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		if ctx.Value(watchedKey{}) != unaryPath {
			return nil, errors.New("not the context of TagRPC")
		}
		if len(in.GetPayload().GetBody()) == 0 {
			return nil, status.Error(codes.InvalidArgument, "empty")
		}
		return echo(ctx, in)
	}, duplex: echoAll}
	onWays(t, func(rpc *gallopgrpc.Server, server *gallop.Server) {
		serving(sv)(rpc, server)
		rpc.StatsHandler = watch
	}, func(s *site) {
		c := s.client()
		want := func(events ...string) {
			s.Helper()
			for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
				watch.mu.Lock()
				got := slices.Clone(watch.events)
				watch.mu.Unlock()
				if slices.Equal(got, events) {
					break
				}
				if time.Now().After(deadline) {
					s.Errorf("got  %q\nwant %q", got, events)
					break
				}
			}
			watch.reset()
		}
		watch.reset()
		c.UnaryCall(s.context(), textOf("text"))
		want("InHeader "+unaryPath, "Begin", "InPayload", "OutPayload", "OutHeader", "OutTrailer", "End OK")
		c.UnaryCall(s.context(), textOf(""))
		want("InHeader "+unaryPath, "Begin", "InPayload", "OutTrailer", "End InvalidArgument")
		d, _ := c.FullDuplexCall(s.context())
		d.Send(&testpb.StreamingOutputCallRequest{})
		d.Recv()
		d.CloseSend()
		d.Recv()
		want("InHeader "+duplexPath, "Begin", "InPayload", "OutHeader", "OutPayload", "OutTrailer", "End OK")
	})
}

// A handler that panics ends its call, and the log says where.
func TestPanics(t *testing.T) {
	sv := &service{unary: func(ctx context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		switch string(in.Payload.Body) {
		case "panic":
			panic("a mistake")
		case "abort":
			panic(gallop.ErrAbortHandler)
		}
		return echo(ctx, in)
	}, duplex: func(d testgrpc.TestService_FullDuplexCallServer) error {
		in, _ := d.Recv()
		d.Send(&testpb.StreamingOutputCallResponse{Payload: in.Payload})
		panic("later")
	}}
	onWays(t, serving(sv), func(s *site) {
		c := s.client()
		_, err := c.UnaryCall(s.context(), textOf("panic"))
		s.wantCode(err, codes.Internal, "panicked")
		_, err = c.UnaryCall(s.context(), textOf("abort"))
		s.wantCode(err, codes.Internal, "RST_STREAM")
		d, _ := c.FullDuplexCall(s.context())
		d.Send(&testpb.StreamingOutputCallRequest{Payload: textOf("first").Payload})
		if r, err := d.Recv(); err != nil || string(r.Payload.Body) != "first" {
			s.Errorf("%v, %v", r, err)
		}
		_, err = d.Recv()
		s.wantCode(err, codes.Internal, "panicked")
		if _, err := c.UnaryCall(s.context(), textOf("fine")); err != nil {
			s.Error(err)
		}
		if text := s.log.String(); !strings.Contains(text, unaryPath+": panic: a mistake") || !strings.Contains(text, "features_test.go") ||
			!strings.Contains(text, "later") {
			s.Errorf("the log is %q", text)
		}
	})
}

func TestHealthAndReflection(t *testing.T) {
	onWays(t, func(rpc *gallopgrpc.Server, server *gallop.Server) {
		serving(&service{})(rpc, server)
		h := health.NewServer()
		h.SetServingStatus("down", healthpb.HealthCheckResponse_NOT_SERVING)
		healthpb.RegisterHealthServer(rpc, h)
		reflection.Register(rpc)
	}, func(s *site) {
		cc := s.dial()
		h := healthpb.NewHealthClient(cc)
		if r, err := h.Check(s.context(), &healthpb.HealthCheckRequest{Service: "down"}); err != nil || r.Status != healthpb.HealthCheckResponse_NOT_SERVING {
			s.Errorf("%v, %v", r, err)
		}
		ctx, cancel := context.WithCancel(s.context())
		defer cancel()
		watch, err := h.Watch(ctx, &healthpb.HealthCheckRequest{})
		if err != nil {
			s.Fatal(err)
		}
		if r, err := watch.Recv(); err != nil || r.Status != healthpb.HealthCheckResponse_SERVING { // sent while the handler waits
			s.Errorf("%v, %v", r, err)
		}
		stream, err := reflectionpb.NewServerReflectionClient(cc).ServerReflectionInfo(ctx)
		if err != nil {
			s.Fatal(err)
		}
		stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
		r, err := stream.Recv()
		var names []string
		for _, sv := range r.GetListServicesResponse().GetService() {
			names = append(names, sv.Name)
		}
		if err != nil || !slices.Contains(names, "grpc.testing.TestService") || !slices.Contains(names, "grpc.health.v1.Health") {
			s.Errorf("%q, %v", names, err)
		}
		info := s.rpc.GetServiceInfo()["grpc.testing.TestService"]
		if i := slices.IndexFunc(info.Methods, func(m grpc.MethodInfo) bool { return m.Name == "FullDuplexCall" }); i < 0 ||
			!info.Methods[i].IsClientStream || !info.Methods[i].IsServerStream || info.Metadata == nil {
			s.Errorf("%+v", info)
		}
	})
}

func TestRegisterService(t *testing.T) {
	var rpc gallopgrpc.Server
	panics := func(f func()) (v any) {
		defer func() { v = recover() }()
		f()
		return nil
	}
	testgrpc.RegisterTestServiceServer(&rpc, &service{})
	if v := panics(func() { testgrpc.RegisterTestServiceServer(&rpc, &service{}) }); !strings.Contains(fmt.Sprint(v), "twice") {
		t.Error(v)
	}
	if v := panics(func() { rpc.RegisterService(&healthpb.Health_ServiceDesc, &service{}) }); !strings.Contains(fmt.Sprint(v), "does not implement") {
		t.Error(v)
	}
}

// Shutdown lets calls in flight end, and does not cancel them.
func TestShutdown(t *testing.T) {
	begun, release := make(chan bool, 2), make(chan bool)
	sv := &service{unary: func(ctx context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		done := ctx.Done()
		begun <- true
		<-release
		select {
		case <-done:
			return nil, ctx.Err()
		default:
			return echo(ctx, in)
		}
	}, duplex: func(d testgrpc.TestService_FullDuplexCallServer) error {
		begun <- true
		return echoAll(d)
	}}
	onWays(t, serving(sv), func(s *site) {
		c := s.client()
		d, err := c.FullDuplexCall(s.context())
		if err != nil {
			s.Fatal(err)
		}
		<-begun
		unary := make(chan error, 1)
		go func() {
			_, err := c.UnaryCall(s.context(), textOf("slow"))
			unary <- err
		}()
		<-begun
		down := make(chan error, 1)
		go func() { down <- s.server.Shutdown() }()
		time.Sleep(50 * time.Millisecond)
		release <- true
		if err := <-unary; err != nil {
			s.Error(err)
		}
		d.Send(&testpb.StreamingOutputCallRequest{Payload: textOf("still here").Payload})
		if r, err := d.Recv(); err != nil || string(r.Payload.Body) != "still here" {
			s.Errorf("%v, %v", r, err)
		}
		d.CloseSend()
		if _, err := d.Recv(); err != io.EOF {
			s.Error(err)
		}
		if err := <-down; err != nil {
			s.Error(err)
		}
	})
}

// The server's time limits are for requests, and not for streams whose client has nothing to say.
func TestIdleStream(t *testing.T) {
	onWays(t, func(rpc *gallopgrpc.Server, server *gallop.Server) {
		serving(&service{duplex: echoAll})(rpc, server)
		server.ReadTimeout, server.WriteTimeout = 200*time.Millisecond, 200*time.Millisecond
		server.IdleTimeout, server.TLSHandshakeTimeout = 10*time.Second, 10*time.Second // the machine may be slow
	}, func(s *site) {
		d, err := s.client().FullDuplexCall(s.context())
		if err != nil {
			s.Fatal(err)
		}
		for range 2 {
			time.Sleep(500 * time.Millisecond)
			d.Send(&testpb.StreamingOutputCallRequest{})
			if _, err := d.Recv(); err != nil {
				s.Fatal(err)
			}
		}
	})
}

// Messages of many sizes arrive whole and in order, however they are cut into frames, while both sides send.
func TestConcurrentCalls(t *testing.T) {
	sv := &service{unary: echo, duplex: echoAll, out: func(in *testpb.StreamingOutputCallRequest, out testgrpc.TestService_StreamingOutputCallServer) error {
		for i, p := range in.ResponseParameters {
			if err := out.Send(&testpb.StreamingOutputCallResponse{Payload: &testpb.Payload{Body: pattern(i, int(p.Size))}}); err != nil {
				return err
			}
		}
		return nil
	}}
	sizes := []int{0, 1, 100, 4090, 4096, 5000, 16384, 70_000, 3, 200_000, 7}
	onWays(t, serving(sv), func(s *site) {
		var wg sync.WaitGroup
		for range 2 {
			c := s.client()
			for range 8 {
				wg.Go(func() { manyCalls(s, c, sizes) })
			}
		}
		wg.Wait()
	})
}

func pattern(seed, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(seed + i)
	}
	return b
}

func manyCalls(s *site, c testgrpc.TestServiceClient, sizes []int) {
	in := &testpb.StreamingOutputCallRequest{}
	for i, n := range sizes {
		in.ResponseParameters = append(in.ResponseParameters, &testpb.ResponseParameters{Size: int32(n)})
		r, err := c.UnaryCall(s.context(), &testpb.SimpleRequest{Payload: &testpb.Payload{Body: pattern(i, n)}})
		if err != nil || !bytes.Equal(r.Payload.Body, pattern(i, n)) {
			s.Errorf("unary, %d bytes: %v", n, err)
			return
		}
	}
	out, err := c.StreamingOutputCall(s.context(), in)
	for i, n := range sizes {
		var r *testpb.StreamingOutputCallResponse
		if err == nil {
			r, err = out.Recv()
		}
		if err != nil || !bytes.Equal(r.Payload.Body, pattern(i, n)) {
			s.Errorf("output, %d bytes: %v", n, err)
			return
		}
	}
	d, err := c.FullDuplexCall(s.context())
	if err != nil {
		s.Error(err)
		return
	}
	go func() {
		for i, n := range sizes {
			d.Send(&testpb.StreamingOutputCallRequest{Payload: &testpb.Payload{Body: pattern(i, n)}})
		}
		d.CloseSend()
	}()
	for i, n := range sizes {
		if r, err := d.Recv(); err != nil || !bytes.Equal(r.Payload.Body, pattern(i, n)) {
			s.Errorf("duplex, %d bytes: %v", n, err)
			return
		}
	}
	if _, err := d.Recv(); err != io.EOF {
		s.Error(err)
	}
}

// A handler can receive in one goroutine while another one waits for the client to read.
func TestReceiveWhileSending(t *testing.T) {
	const n, size = 60, 20_000 // more than all windows hold
	sv := &service{duplex: func(d testgrpc.TestService_FullDuplexCallServer) error {
		sent := make(chan error, 1)
		go func() {
			for range n {
				if err := d.Send(&testpb.StreamingOutputCallResponse{Payload: payload(size)}); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		for {
			if _, err := d.Recv(); err == io.EOF {
				return <-sent
			} else if err != nil {
				return err
			}
		}
	}}
	onWays(t, serving(sv), func(s *site) {
		d, err := s.client(grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(64<<10)).FullDuplexCall(s.context())
		if err != nil {
			s.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // the handler's messages fill the window
		for range n {
			if err := d.Send(&testpb.StreamingOutputCallRequest{Payload: payload(size)}); err != nil {
				s.Fatal(err)
			}
		}
		d.CloseSend()
		for i := range n {
			if r, err := d.Recv(); err != nil || len(r.Payload.Body) != size {
				s.Fatalf("message %d: %v", i, err)
			}
		}
		if _, err := d.Recv(); err != io.EOF {
			s.Error(err)
		}
	})
}
