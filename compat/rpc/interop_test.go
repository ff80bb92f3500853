package rpc_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/interop"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// The cases of grpc-go end the process if they fail. Then they log why.
func TestMain(m *testing.M) {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(nothing{}, nothing{}, os.Stderr))
	os.Exit(m.Run())
}

type nothing struct{}

func (nothing) Write(p []byte) (int, error) { return len(p), nil }

// service adapts a case that needs the client of the test service.
func service(run func(context.Context, testpb.TestServiceClient, ...grpc.CallOption)) func(context.Context, *grpc.ClientConn) {
	return func(ctx context.Context, cc *grpc.ClientConn) { run(ctx, testpb.NewTestServiceClient(cc)) }
}

// interopCases are the cases of grpc-go's interoperability tests that need no account at a cloud:
// https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md
var interopCases = []struct {
	name string
	run  func(ctx context.Context, cc *grpc.ClientConn)
}{
	{"empty_unary", service(interop.DoEmptyUnaryCall)},
	{"large_unary", service(interop.DoLargeUnaryCall)},
	{"client_streaming", service(interop.DoClientStreaming)},
	{"server_streaming", service(interop.DoServerStreaming)},
	{"ping_pong", service(interop.DoPingPong)},
	{"empty_stream", service(interop.DoEmptyStream)},
	{"timeout_on_sleeping_server", service(interop.DoTimeoutOnSleepingServer)},
	{"cancel_after_begin", service(interop.DoCancelAfterBegin)},
	{"cancel_after_first_response", service(interop.DoCancelAfterFirstResponse)},
	{"status_code_and_message", service(interop.DoStatusCodeAndMessage)},
	{"special_status_message", service(interop.DoSpecialStatusMessage)},
	{"custom_metadata", service(interop.DoCustomMetadata)},
	{"unimplemented_method", interop.DoUnimplementedMethod},
	{"unimplemented_service", func(ctx context.Context, cc *grpc.ClientConn) {
		interop.DoUnimplementedService(ctx, testpb.NewUnimplementedServiceClient(cc))
	}},
}

// grpc-go's Server.ServeHTTP passes all interoperability tests as a handler of gallop, over TLS and without, with grpc-go's client.
func TestInterop(t *testing.T) {
	for where, serve := range handlers {
		for how, secure := range secrecy {
			t.Run(where+" "+how, func(t *testing.T) {
				t.Parallel()
				cc := dial(t, serve(t, newGRPC(), secure))
				for _, tc := range interopCases {
					t.Run(tc.name, func(t *testing.T) {
						ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
						defer cancel()
						tc.run(ctx, cc)
					})
				}
			})
		}
	}
}

// Many calls at once on one connection get their own responses.
func TestManyCalls(t *testing.T) {
	for where, serve := range handlers {
		for how, secure := range secrecy {
			t.Run(where+" "+how, func(t *testing.T) {
				t.Parallel()
				client := testpb.NewTestServiceClient(dial(t, serve(t, newGRPC(), secure)))
				var group sync.WaitGroup
				for i := range int32(300) {
					group.Go(func() {
						got, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{ResponseSize: 300 * i})
						if err != nil || len(got.GetPayload().GetBody()) != int(300*i) {
							t.Errorf("%d: %d bytes, %v", i, len(got.GetPayload().GetBody()), err)
						}
					})
				}
				group.Wait()
			})
		}
	}
}
