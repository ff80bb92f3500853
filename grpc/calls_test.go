package gallopgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/gallop-http/gallop"
	gallopgrpc "github.com/gallop-http/gallop/grpc"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// serving returns a function for onWays that registers sv.
func serving(sv *service) func(*gallopgrpc.Server, *gallop.Server) {
	return func(rpc *gallopgrpc.Server, _ *gallop.Server) { testgrpc.RegisterTestServiceServer(rpc, sv) }
}

// endOf returns nil for the end of a stream, and any other error.
func endOf(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

func (s *site) client(opts ...grpc.DialOption) testgrpc.TestServiceClient {
	s.Helper()
	return testgrpc.NewTestServiceClient(s.dial(opts...))
}

// wantCode fails the test if err has another code, or does not contain text.
func (s *site) wantCode(err error, code codes.Code, text string) {
	s.Helper()
	if status.Code(err) != code || err != nil && !strings.Contains(status.Convert(err).Message(), text) {
		s.Errorf("got %v, want %v with %q", err, code, text)
	}
}

// wantMD fails the test if md does not have these values.
func (s *site) wantMD(md metadata.MD, name string, values ...string) {
	s.Helper()
	if got := md.Get(name); !slices.Equal(got, values) {
		s.Errorf("%s: got %q, want %q", name, got, values)
	}
}

func TestMetadata(t *testing.T) {
	// handle checks the metadata of a request, and sends some.
	handle := func(s *site, ctx context.Context) {
		md, ok := metadata.FromIncomingContext(ctx)
		if !ok {
			s.Error("no metadata")
		}
		s.wantMD(md, "plain", "one", "two, three")
		s.wantMD(md, "data-bin", "\x00\xff", "", "abc")
		s.wantMD(md, "content-type", "application/grpc")
		if len(md[":authority"]) != 1 || len(md["user-agent"]) != 1 || len(md["te"]) > 0 || len(md["grpc-timeout"]) > 0 || len(md["host"]) > 0 {
			s.Errorf("metadata %v", md)
		}
		if got := metadata.ValueFromIncomingContext(ctx, "Plain"); len(got) != 2 {
			s.Errorf("Plain: %q", got)
		}
		if m, ok := grpc.Method(ctx); !ok || !strings.HasPrefix(m, "/grpc.testing.TestService/") {
			s.Errorf("method %q", m)
		}
		for _, err := range []error{
			grpc.SetHeader(ctx, metadata.Pairs("h", "1", "h-bin", "\x01\x02")),
			grpc.SetHeader(ctx, metadata.Pairs("h", "2", "grpc-status", "5", "content-length", "7", ":path", "/", "connection", "close")),
			grpc.SetTrailer(ctx, metadata.Pairs("t", "1", "t-bin", "\xfe", "grpc-message", "no")),
			grpc.SetTrailer(ctx, metadata.Pairs("t", "2")),
		} {
			if err != nil {
				s.Error(err)
			}
		}
		for _, bad := range []metadata.MD{{"Upper": {"1"}}, {"sp ace": {"1"}}, {"": {"1"}}, {"text": {"\n"}}, {"text": {"ü"}}} {
			s.wantCode(grpc.SetHeader(ctx, bad), codes.Internal, "")
			s.wantCode(grpc.SetTrailer(ctx, bad), codes.Internal, "")
		}
	}
	check := func(s *site, header, trailer metadata.MD) {
		s.Helper()
		s.wantMD(header, "h", "1", "2")
		s.wantMD(header, "h-bin", "\x01\x02")
		s.wantMD(header, "content-type", "application/grpc")
		s.wantMD(trailer, "t", "1", "2")
		s.wantMD(trailer, "t-bin", "\xfe")
	}
	for _, early := range []bool{false, true} {
		t.Run(fmt.Sprint("SendHeader ", early), func(t *testing.T) {
			var at *site
			more := func(ctx context.Context) {
				if handle(at, ctx); !early {
					return
				}
				if err := grpc.SendHeader(ctx, metadata.Pairs("early", "yes")); err != nil {
					at.Error(err)
				}
				at.wantCode(grpc.SendHeader(ctx, nil), codes.Internal, "sent")
				at.wantCode(grpc.SetHeader(ctx, metadata.Pairs("late", "1")), codes.Internal, "sent")
			}
			sv := &service{unary: func(ctx context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
				more(ctx)
				if string(in.Payload.GetBody()) == "fail" {
					return nil, status.Error(codes.Aborted, "as asked")
				}
				return echo(ctx, in)
			}, duplex: func(d testgrpc.TestService_FullDuplexCallServer) error {
				more(d.Context())
				return echoAll(d)
			}}
			onWays(t, serving(sv), func(s *site) {
				at = s
				ctx := metadata.AppendToOutgoingContext(s.context(), "plain", "one", "plain", "two, three", "data-bin", "\x00\xff",
					"data-bin", "", "data-bin", "abc")
				c := s.client()
				for _, text := range []string{"fail", "fine"} {
					var header, trailer metadata.MD
					_, err := c.UnaryCall(ctx, textOf(text), grpc.Header(&header), grpc.Trailer(&trailer))
					check(s, header, trailer)
					if (text == "fail") != (status.Code(err) == codes.Aborted) {
						s.Error(err)
					}
				}
				d, err := c.FullDuplexCall(ctx)
				if err != nil {
					s.Fatal(err)
				}
				if early { // although no message was sent
					if header, err := d.Header(); err != nil || len(header["early"]) != 1 {
						s.Errorf("header %v, %v", header, err)
					}
				}
				d.CloseSend()
				if _, err := d.Recv(); err != io.EOF {
					s.Error(err)
				}
				header, _ := d.Header()
				check(s, header, d.Trailer())
			})
		})
	}
}

func TestPeer(t *testing.T) {
	var got *peer.Peer
	onWays(t, serving(&service{unary: func(ctx context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		got, _ = peer.FromContext(ctx)
		return echo(ctx, in)
	}}), func(s *site) {
		var server peer.Peer
		if _, err := s.client().UnaryCall(s.context(), textOf("hello"), grpc.Peer(&server)); err != nil {
			s.Fatal(err)
		}
		if got.Addr.String() != server.LocalAddr.String() || got.LocalAddr.String() != s.addr {
			s.Errorf("peer %v, the client is %v", got, server.LocalAddr)
		}
		info, ok := got.AuthInfo.(credentials.TLSInfo)
		if ok != (s.server.TLSConfig != nil) || ok && (info.State.NegotiatedProtocol != "h2" || info.SecurityLevel != credentials.PrivacyAndIntegrity) {
			s.Errorf("%+v", got.AuthInfo)
		}
	})
}

func TestStatus(t *testing.T) {
	detailed, err := status.New(codes.NotFound, "no such thing").WithDetails(textOf("a detail"))
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		err  error
		code codes.Code
		text string
	}{
		{"status", status.Error(codes.DataLoss, "lost"), codes.DataLoss, "lost"},
		{"special characters", status.Error(codes.Unknown, "\t100%\r\nünï \U0001F600 \xff"), codes.Unknown, "\t100%\r\nünï \U0001F600 \uFFFD"},
		{"no message", status.Error(codes.OutOfRange, ""), codes.OutOfRange, ""},
		{"unknown code", status.Error(codes.Code(77), "far"), codes.Code(77), "far"},
		{"plain error", errors.New("plain"), codes.Unknown, "plain"},
		{"wrapped", fmt.Errorf("outer: %w", status.Error(codes.FailedPrecondition, "inner")), codes.FailedPrecondition, "outer: "},
		{"canceled", context.Canceled, codes.Canceled, "canceled"},
		{"deadline", fmt.Errorf("slow: %w", context.DeadlineExceeded), codes.DeadlineExceeded, "slow"},
		{"details", detailed.Err(), codes.NotFound, "no such thing"},
	}
	byName := map[string]error{}
	for _, c := range cases {
		byName[c.name] = c.err
	}
	sv := &service{unary: func(_ context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		return &testpb.SimpleResponse{}, byName[string(in.Payload.Body)]
	}, duplex: func(d testgrpc.TestService_FullDuplexCallServer) error {
		in, err := d.Recv()
		if err != nil {
			return err
		}
		d.Send(&testpb.StreamingOutputCallResponse{})
		return byName[string(in.Payload.Body)]
	}}
	onWays(t, serving(sv), func(s *site) {
		c := s.client()
		for _, tc := range cases {
			_, err := c.UnaryCall(s.context(), textOf(tc.name))
			s.wantCode(err, tc.code, tc.text)
			if want, got := status.Convert(tc.err).Details(), status.Convert(err).Details(); len(want) != len(got) {
				s.Errorf("details %v, want %v", got, want)
			}
			d, err := c.FullDuplexCall(s.context())
			if err != nil {
				s.Fatal(err)
			}
			d.Send(&testpb.StreamingOutputCallRequest{Payload: textOf(tc.name).Payload})
			if _, err := d.Recv(); err != nil {
				s.Errorf("%s: %v", tc.name, err)
			}
			_, err = d.Recv()
			s.wantCode(err, tc.code, tc.text)
			if want, got := status.Convert(tc.err).Details(), status.Convert(err).Details(); len(want) != len(got) {
				s.Errorf("details %v, want %v", got, want)
			}
		}
	})
}

func TestUnknownMethods(t *testing.T) {
	for _, handled := range []bool{false, true} {
		t.Run(fmt.Sprint("UnknownServiceHandler ", handled), func(t *testing.T) {
			onWays(t, func(rpc *gallopgrpc.Server, _ *gallop.Server) {
				testgrpc.RegisterTestServiceServer(rpc, &service{})
				if handled {
					rpc.UnknownServiceHandler = func(impl any, ss grpc.ServerStream) error {
						m, _ := grpc.MethodFromServerStream(ss)
						in := &testpb.SimpleRequest{}
						if err := ss.RecvMsg(in); err != nil {
							return err
						}
						return ss.SendMsg(&testpb.SimpleResponse{Username: m, Payload: in.Payload})
					}
				}
			}, func(s *site) {
				cc := s.dial()
				for _, tc := range []struct{ path, text string }{
					{"/some.Service/Do", "unknown service some.Service"},
					{"/grpc.testing.TestService/Nothing", "unknown method Nothing for service grpc.testing.TestService"},
				} {
					var out testpb.SimpleResponse
					err := cc.Invoke(s.context(), tc.path, textOf("hi"), &out)
					switch {
					case !handled:
						s.wantCode(err, codes.Unimplemented, tc.text)
					case err != nil || out.Username != tc.path || string(out.Payload.Body) != "hi":
						s.Errorf("%v, %v", &out, err)
					}
				}
			})
		})
	}
}

func TestDeadline(t *testing.T) {
	failed := make(chan error, 1)
	var limit, begun atomic.Int64
	sv := &service{unary: func(ctx context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		begun.Add(1)
		if at, ok := ctx.Deadline(); !ok || time.Until(at) > time.Duration(limit.Load())+100*time.Millisecond {
			failed <- fmt.Errorf("deadline %v, %v", at, ok)
			return nil, nil
		}
		sub, cancel := context.WithCancel(ctx)
		defer cancel()
		<-sub.Done()
		failed <- ctx.Err()
		return nil, ctx.Err()
	}, duplex: func(d testgrpc.TestService_FullDuplexCallServer) error {
		begun.Add(1)
		_, err := d.Recv()
		failed <- err
		return err
	}, out: func(_ *testpb.StreamingOutputCallRequest, out testgrpc.TestService_StreamingOutputCallServer) (err error) {
		for err == nil {
			err = out.Send(&testpb.StreamingOutputCallResponse{Payload: payload(10000)})
		}
		failed <- err
		return err
	}}
	out := sv.out
	sv.out = func(in *testpb.StreamingOutputCallRequest, to testgrpc.TestService_StreamingOutputCallServer) error {
		begun.Add(1)
		return out(in, to)
	}
	onWays(t, serving(sv), func(s *site) {
		c := s.client()
		for name, call := range map[string]func(ctx context.Context) error{
			"unary": func(ctx context.Context) error {
				_, err := c.UnaryCall(ctx, textOf(""))
				return err
			},
			"receiving": func(ctx context.Context) error {
				d, err := c.FullDuplexCall(ctx)
				if err == nil {
					_, err = d.Recv()
				}
				return err
			},
			"sending": func(ctx context.Context) error {
				d, err := c.StreamingOutputCall(ctx, &testpb.StreamingOutputCallRequest{})
				<-ctx.Done() // and do not read
				for err == nil {
					_, err = d.Recv()
				}
				return err
			},
		} {
			for d := range wiretest.LongerLimits(200 * time.Millisecond) { // until the machine calls the handler in time
				before := begun.Load()
				limit.Store(int64(d))
				ctx, cancel := context.WithTimeout(context.Background(), d)
				s.wantCode(call(ctx), codes.DeadlineExceeded, "")
				cancel()
				select {
				case err := <-failed:
					if !endsCall(err) { // the client gives up at the same time
						s.Errorf("%s: the handler got %v", name, err)
					}
				case <-time.After(5 * time.Second):
					if begun.Load() > before {
						s.Fatalf("%s: the handler still waits", name)
					}
					continue
				}
				break
			}
		}
	})
}

// endsCall reports whether a handler got err because of its deadline or because its client has given up.
func endsCall(err error) bool {
	switch status.Code(err) {
	case codes.Canceled, codes.DeadlineExceeded:
		return true
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// A handler learns that its client has given up: by its context, and by errors when it receives or sends.
func TestCancel(t *testing.T) {
	begun, failed := make(chan bool, 1), make(chan error, 1)
	sv := &service{unary: func(ctx context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		begun <- true
		<-ctx.Done()
		failed <- ctx.Err()
		return nil, ctx.Err()
	}, duplex: func(d testgrpc.TestService_FullDuplexCallServer) error {
		begun <- true
		_, err := d.Recv()
		failed <- err
		return err
	}, in: func(d testgrpc.TestService_StreamingInputCallServer) error {
		begun <- true
		<-d.Context().Done()
		failed <- d.Context().Err()
		return nil
	}, out: func(_ *testpb.StreamingOutputCallRequest, out testgrpc.TestService_StreamingOutputCallServer) (err error) {
		begun <- true
		for err == nil {
			err = out.Send(&testpb.StreamingOutputCallResponse{Payload: payload(10000)})
		}
		failed <- err
		return err
	}}
	onWays(t, serving(sv), func(s *site) {
		c := s.client()
		for name, call := range map[string]func(ctx context.Context){
			"unary":     func(ctx context.Context) { c.UnaryCall(ctx, textOf("")) },
			"receiving": func(ctx context.Context) { c.FullDuplexCall(ctx) },
			"waiting":   func(ctx context.Context) { c.StreamingInputCall(ctx) },
			"sending":   func(ctx context.Context) { c.StreamingOutputCall(ctx, &testpb.StreamingOutputCallRequest{}) },
		} {
			ctx, cancel := context.WithCancel(s.context())
			go call(ctx)
			<-begun
			time.Sleep(20 * time.Millisecond)
			cancel()
			select {
			case err := <-failed:
				if !endsCall(err) || status.Code(err) == codes.DeadlineExceeded {
					s.Errorf("%s: the handler got %v", name, err)
				}
			case <-time.After(5 * time.Second):
				s.Fatalf("%s: the handler still waits", name)
			}
		}
	})
}

// A context and what it contains may be used after the handler has returned.
func TestKeptContext(t *testing.T) {
	type keyType struct{}
	kept := make(chan context.Context, 1)
	sv := &service{unary: func(ctx context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		if ctx.Err() != nil || ctx.Value("user") != "value of the request" || ctx.Value(keyType{}) != nil {
			return nil, errors.New("wrong context")
		}
		sub := context.WithValue(ctx, keyType{}, 1)
		kept <- sub
		return echo(ctx, in)
	}}
	onWays(t, serving(sv), func(s *site) {
		c := s.client()
		for range 20 {
			md := metadata.Pairs("name", "value")
			if _, err := c.UnaryCall(metadata.NewOutgoingContext(s.context(), md), textOf("first")); err != nil {
				s.Fatal(err)
			}
			ctx := <-kept
			c.UnaryCall(s.context(), textOf("another call, which uses the same memory"))
			<-kept
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Second):
				s.Fatal("the context does not end")
			}
			if ctx.Err() != context.Canceled || ctx.Value(keyType{}) != 1 || ctx.Value("user") != nil {
				s.Errorf("%v", ctx)
			}
			got, _ := metadata.FromIncomingContext(ctx)
			s.wantMD(got, "name", "value")
			s.wantCode(grpc.SetHeader(ctx, md), codes.Internal, "")
			s.wantCode(grpc.SetTrailer(ctx, md), codes.Internal, "")
			s.wantCode(grpc.SendHeader(ctx, md), codes.Internal, "")
		}
	})
}
