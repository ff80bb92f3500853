package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// protocols are the protocols of connect-go's client.
var protocols = map[string][]connect.ClientOption{
	"connect":  nil,
	"grpc":     {connect.WithGRPC()},
	"grpc-web": {connect.WithGRPCWeb()},
	"gzip":     {connect.WithSendGzip()},
}

// caller calls the methods of a service with connect-go's client.
type caller struct {
	unary  *connect.Client[testpb.SimpleRequest, testpb.SimpleResponse]
	input  *connect.Client[testpb.StreamingInputCallRequest, testpb.StreamingInputCallResponse]
	output *connect.Client[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]
	duplex *connect.Client[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]
}

func newCaller(client *http.Client, url string, options ...connect.ClientOption) *caller {
	return &caller{
		connect.NewClient[testpb.SimpleRequest, testpb.SimpleResponse](client, url+testpb.TestService_UnaryCall_FullMethodName, options...),
		connect.NewClient[testpb.StreamingInputCallRequest, testpb.StreamingInputCallResponse](client, url+testpb.TestService_StreamingInputCall_FullMethodName, options...),
		connect.NewClient[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse](client, url+testpb.TestService_StreamingOutputCall_FullMethodName, options...),
		connect.NewClient[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse](client, url+testpb.TestService_FullDuplexCall_FullMethodName, options...),
	}
}

// connect-go's client makes calls of all kinds, in all its protocols, over HTTP/2 with and without TLS. The transports are gallop's
// and net/http's. The servers are connect-go on gallop and on net/http, grpc-go on gallop, and grpc-go's own server.
func TestConnect(t *testing.T) {
	for how, secure := range secrecy {
		for where, serve := range handlers {
			t.Run("connect-go on "+where+" "+how, func(t *testing.T) {
				t.Parallel()
				at := serve(t, newConnect(), secure)
				for protocol, options := range protocols {
					callWith(t, at, protocol, options)
				}
			})
			t.Run("grpc-go on "+where+" "+how, func(t *testing.T) {
				t.Parallel()
				callWith(t, serve(t, newGRPC(), secure), "grpc", protocols["grpc"])
			})
		}
		t.Run("grpc-go "+how, func(t *testing.T) {
			t.Parallel()
			callWith(t, grpcOwn(t, secure), "grpc", protocols["grpc"])
		})
	}
}

// callWith makes calls in a protocol with each transport.
func callWith(t *testing.T, at site, protocol string, options []connect.ClientOption) {
	for name := range transports {
		t.Run(protocol+" with "+name, func(t *testing.T) {
			t.Parallel()
			c := newCaller(httpClient(t, name, at), at.url(), options...)
			for kind, call := range map[string]func(*testing.T, context.Context, *caller){
				"unary": callUnary, "error": callError, "client stream": callInput, "server stream": callOutput, "full duplex": callDuplex,
				"error in a stream": callDuplexError, "deadline": callDeadline, "cancel": callCancel, "many": callMany,
			} {
				t.Run(kind, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					defer cancel()
					call(t, ctx, c)
				})
			}
		})
	}
}

// callUnary sends and gets a large message, metadata and binary trailers.
func callUnary(t *testing.T, ctx context.Context, c *caller) {
	r := connect.NewRequest(&testpb.SimpleRequest{Payload: payload(271828), ResponseSize: 314159})
	r.Header().Set(initialHeader, "initial value")
	r.Header().Set(trailingHeader, connect.EncodeBinaryHeader([]byte{0, 0xab, 0xff}))
	resp, err := c.unary.CallUnary(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(resp.Msg.Payload.Body); n != 314159 || resp.Header().Get(initialHeader) != "initial value" {
		t.Errorf("%d bytes, header %v", n, resp.Header())
	}
	if got, err := connect.DecodeBinaryHeader(resp.Trailer().Get(trailingHeader)); !bytes.Equal(got, []byte{0, 0xab, 0xff}) {
		t.Errorf("trailers %v, %v", resp.Trailer(), err)
	}
}

// special has to be encoded as a status message.
const special = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n"

func callError(t *testing.T, ctx context.Context, c *caller) {
	_, err := c.unary.CallUnary(ctx, connect.NewRequest(&testpb.SimpleRequest{ResponseStatus: &testpb.EchoStatus{Code: 9, Message: special}}))
	wantError(t, err, connect.CodeFailedPrecondition, special)
}

func wantError(t *testing.T, err error, code connect.Code, message string) {
	t.Helper()
	var failed *connect.Error
	if !errors.As(err, &failed) || failed.Code() != code || !strings.Contains(failed.Message(), message) {
		t.Errorf("%v, want %v: %s", err, code, message)
	}
}

func callInput(t *testing.T, ctx context.Context, c *caller) {
	stream := c.input.CallClientStream(ctx)
	for _, size := range []int32{27182, 8, 1828, 45904} {
		if err := stream.Send(&testpb.StreamingInputCallRequest{Payload: payload(size)}); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := stream.CloseAndReceive()
	if err != nil || resp.Msg.AggregatedPayloadSize != 74922 {
		t.Error(resp, err)
	}
}

func callOutput(t *testing.T, ctx context.Context, c *caller) {
	r := &testpb.StreamingOutputCallRequest{}
	sizes := []int32{31415, 0, 2653, 58979, 500_000}
	for _, size := range sizes {
		r.ResponseParameters = append(r.ResponseParameters, &testpb.ResponseParameters{Size: size})
	}
	stream, err := c.output.CallServerStream(ctx, connect.NewRequest(r))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for _, size := range sizes {
		if !stream.Receive() || len(stream.Msg().Payload.GetBody()) != int(size) {
			t.Fatalf("%d of %d bytes, %v", len(stream.Msg().Payload.GetBody()), size, stream.Err())
		}
	}
	if stream.Receive() || stream.Err() != nil {
		t.Errorf("another message, or %v", stream.Err())
	}
}

// asks returns a request for a response of a size.
func asks(size int32) *testpb.StreamingOutputCallRequest {
	return &testpb.StreamingOutputCallRequest{ResponseParameters: []*testpb.ResponseParameters{{Size: size}}, Payload: payload(size)}
}

// callDuplex sends each message only after the response to the one before.
func callDuplex(t *testing.T, ctx context.Context, c *caller) {
	stream := c.duplex.CallBidiStream(ctx)
	for _, size := range []int32{1, 31415, 0, 300_000, 7} {
		if err := stream.Send(asks(size)); err != nil {
			t.Fatal(err)
		}
		got, err := stream.Receive()
		if err != nil || len(got.GetPayload().GetBody()) != int(size) {
			t.Fatalf("%d of %d bytes, %v", len(got.GetPayload().GetBody()), size, err)
		}
	}
	if err := stream.CloseRequest(); err != nil {
		t.Error(err)
	}
	if _, err := stream.Receive(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if err := stream.CloseResponse(); err != nil {
		t.Error(err)
	}
}

func callDuplexError(t *testing.T, ctx context.Context, c *caller) {
	stream := c.duplex.CallBidiStream(ctx)
	defer stream.CloseResponse()
	defer stream.CloseRequest()
	r := asks(10)
	if err := stream.Send(r); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Receive(); err != nil {
		t.Fatal(err)
	}
	r.ResponseStatus = &testpb.EchoStatus{Code: 8, Message: special}
	if err := stream.Send(r); err != nil {
		t.Fatal(err)
	}
	_, err := stream.Receive()
	wantError(t, err, connect.CodeResourceExhausted, special)
}

// callDeadline waits for a message that the server does not send.
func callDeadline(t *testing.T, ctx context.Context, c *caller) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	stream := c.duplex.CallBidiStream(ctx)
	defer stream.CloseResponse()
	defer stream.CloseRequest()
	stream.Send(nil)
	_, err := stream.Receive()
	wantError(t, err, connect.CodeDeadlineExceeded, "")
}

func callCancel(t *testing.T, ctx context.Context, c *caller) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := c.duplex.CallBidiStream(ctx)
	defer stream.CloseResponse()
	defer stream.CloseRequest()
	if err := stream.Send(asks(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Receive(); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err := stream.Receive()
	wantError(t, err, connect.CodeCanceled, "")
}

// callMany makes many calls at once.
func callMany(t *testing.T, ctx context.Context, c *caller) {
	var group sync.WaitGroup
	for i := range int32(40) {
		group.Go(func() {
			got, err := c.unary.CallUnary(ctx, connect.NewRequest(&testpb.SimpleRequest{ResponseSize: 1000 * i}))
			if err != nil || len(got.Msg.Payload.GetBody()) != int(1000*i) {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	group.Wait()
}
