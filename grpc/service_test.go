package gallopgrpc_test

import (
	"context"

	"google.golang.org/grpc"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// service is the test service of the gRPC project, with functions as methods. A function that is nil is not implemented.
type service struct {
	testgrpc.UnimplementedTestServiceServer
	unary  func(ctx context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error)
	out    func(in *testpb.StreamingOutputCallRequest, s testgrpc.TestService_StreamingOutputCallServer) error
	in     func(s testgrpc.TestService_StreamingInputCallServer) error
	duplex func(s testgrpc.TestService_FullDuplexCallServer) error
}

func (s *service) UnaryCall(ctx context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	if s.unary == nil {
		return s.UnimplementedTestServiceServer.UnaryCall(ctx, in)
	}
	return s.unary(ctx, in)
}

func (s *service) StreamingOutputCall(in *testpb.StreamingOutputCallRequest, out grpc.ServerStreamingServer[testpb.StreamingOutputCallResponse]) error {
	if s.out == nil {
		return s.UnimplementedTestServiceServer.StreamingOutputCall(in, out)
	}
	return s.out(in, out)
}

func (s *service) StreamingInputCall(in testgrpc.TestService_StreamingInputCallServer) error {
	if s.in == nil {
		return s.UnimplementedTestServiceServer.StreamingInputCall(in)
	}
	return s.in(in)
}

func (s *service) FullDuplexCall(d testgrpc.TestService_FullDuplexCallServer) error {
	if s.duplex == nil {
		return s.UnimplementedTestServiceServer.FullDuplexCall(d)
	}
	return s.duplex(d)
}

// payload returns a message with n bytes.
func payload(n int) *testpb.Payload { return &testpb.Payload{Body: make([]byte, n)} }

// textOf returns a request with a text, and its reverse gets the text.
func textOf(text string) *testpb.SimpleRequest {
	return &testpb.SimpleRequest{Payload: &testpb.Payload{Body: []byte(text)}}
}

// echo responds with the payload of the request.
func echo(_ context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	return &testpb.SimpleResponse{Payload: in.Payload}, nil
}

// echoAll responds to each message of a stream with a message that has the same payload.
func echoAll(s testgrpc.TestService_FullDuplexCallServer) error {
	for {
		in, err := s.Recv()
		if err != nil {
			return endOf(err)
		}
		if err := s.Send(&testpb.StreamingOutputCallResponse{Payload: in.Payload}); err != nil {
			return err
		}
	}
}
