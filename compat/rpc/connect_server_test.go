package rpc_test

import (
	"context"
	"errors"
	"io"
	"net/http"

	"connectrpc.com/connect"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// newConnect returns handlers of connect-go for the methods of the interoperability tests. They do the same as those of grpc-go.
func newConnect() http.Handler {
	mux := http.NewServeMux()
	for path, h := range map[string]http.Handler{
		testpb.TestService_UnaryCall_FullMethodName:           connect.NewUnaryHandler(testpb.TestService_UnaryCall_FullMethodName, unary),
		testpb.TestService_StreamingInputCall_FullMethodName:  connect.NewClientStreamHandler(testpb.TestService_StreamingInputCall_FullMethodName, sum),
		testpb.TestService_StreamingOutputCall_FullMethodName: connect.NewServerStreamHandler(testpb.TestService_StreamingOutputCall_FullMethodName, list),
		testpb.TestService_FullDuplexCall_FullMethodName:      connect.NewBidiStreamHandler(testpb.TestService_FullDuplexCall_FullMethodName, converse),
	} {
		mux.Handle(path, h)
	}
	return mux
}

const initialHeader, trailingHeader = "X-Grpc-Test-Echo-Initial", "X-Grpc-Test-Echo-Trailing-Bin"

func unary(_ context.Context, r *connect.Request[testpb.SimpleRequest]) (*connect.Response[testpb.SimpleResponse], error) {
	if err := statusOf(r.Msg.ResponseStatus); err != nil {
		return nil, err
	}
	resp := connect.NewResponse(&testpb.SimpleResponse{Payload: payload(r.Msg.ResponseSize)})
	if v := r.Header().Get(initialHeader); v != "" {
		resp.Header().Set(initialHeader, v)
	}
	if v := r.Header().Get(trailingHeader); v != "" {
		resp.Trailer().Set(trailingHeader, v)
	}
	return resp, nil
}

func statusOf(s *testpb.EchoStatus) error {
	if s.GetCode() == 0 {
		return nil
	}
	return connect.NewError(connect.Code(s.Code), errors.New(s.Message))
}

func payload(size int32) *testpb.Payload { return &testpb.Payload{Body: make([]byte, size)} }

func sum(_ context.Context, stream *connect.ClientStream[testpb.StreamingInputCallRequest]) (*connect.Response[testpb.StreamingInputCallResponse], error) {
	n := 0
	for stream.Receive() {
		n += len(stream.Msg().GetPayload().GetBody())
	}
	return connect.NewResponse(&testpb.StreamingInputCallResponse{AggregatedPayloadSize: int32(n)}), stream.Err()
}

type output = connect.ServerStream[testpb.StreamingOutputCallResponse]

func list(_ context.Context, r *connect.Request[testpb.StreamingOutputCallRequest], stream *output) error {
	return sendAll(r.Msg, stream.Send)
}

func sendAll(r *testpb.StreamingOutputCallRequest, send func(*testpb.StreamingOutputCallResponse) error) error {
	for _, p := range r.ResponseParameters {
		if err := send(&testpb.StreamingOutputCallResponse{Payload: payload(p.Size)}); err != nil {
			return err
		}
	}
	return nil
}

func converse(_ context.Context, stream *connect.BidiStream[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
	for {
		r, err := stream.Receive()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err = statusOf(r.ResponseStatus); err == nil {
			err = sendAll(r, stream.Send)
		}
		if err != nil {
			return err
		}
	}
}
