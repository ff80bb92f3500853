package gallopgrpc_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"github.com/gallop-http/gallop"
	gallopgrpc "github.com/gallop-http/gallop/grpc"
)

// The interoperability cases of the gRPC project, with its client and its service. A case that fails ends the process.
var interopCases = []struct {
	name string
	run  func(ctx context.Context, tc testgrpc.TestServiceClient, args ...grpc.CallOption)
}{
	{"empty_unary", interop.DoEmptyUnaryCall},
	{"large_unary", interop.DoLargeUnaryCall},
	{"client_streaming", interop.DoClientStreaming},
	{"server_streaming", interop.DoServerStreaming},
	{"ping_pong", interop.DoPingPong},
	{"empty_stream", interop.DoEmptyStream},
	{"timeout_on_sleeping_server", interop.DoTimeoutOnSleepingServer},
	{"cancel_after_begin", interop.DoCancelAfterBegin},
	{"cancel_after_first_response", interop.DoCancelAfterFirstResponse},
	{"custom_metadata", interop.DoCustomMetadata},
	{"status_code_and_message", interop.DoStatusCodeAndMessage},
	{"special_status_message", interop.DoSpecialStatusMessage},
}

func TestInterop(t *testing.T) {
	onWays(t, func(rpc *gallopgrpc.Server, server *gallop.Server) {
		testgrpc.RegisterTestServiceServer(rpc, interop.NewTestServer())
	}, func(s *site) {
		cc := s.dial()
		for _, c := range interopCases {
			s.Run(c.name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				defer cancel()
				c.run(ctx, testgrpc.NewTestServiceClient(cc))
			})
		}
		s.Run("unimplemented_method", func(*testing.T) { interop.DoUnimplementedMethod(s.context(), cc) })
		s.Run("unimplemented_service", func(*testing.T) {
			interop.DoUnimplementedService(s.context(), testgrpc.NewUnimplementedServiceClient(cc))
		})
	})
}
