package rpc_test

import (
	"testing"
	"time"

	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// A client may pause between two messages for longer than MinBodyRate would permit.
func TestPause(t *testing.T) {
	for where, serve := range handlers {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			at := serve(t, newGRPC(), false)
			own, err := testpb.NewTestServiceClient(dial(t, at)).FullDuplexCall(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			connected := newCaller(httpClient(t, "gallop", at), at.url(), protocols["grpc"]...).duplex.CallBidiStream(t.Context())
			if err := connected.Send(asks(1)); err != nil {
				t.Error(err)
			}
			time.Sleep(6 * time.Second) // MinBodyRate would permit five seconds
			if err := own.Send(asks(1)); err != nil {
				t.Error(err)
			}
			if _, err := own.Recv(); err != nil {
				t.Error(err)
			}
			if err := connected.Send(asks(1)); err != nil {
				t.Error(err)
			}
			for range 2 {
				if _, err := connected.Receive(); err != nil {
					t.Error(err)
				}
			}
			connected.CloseRequest()
			connected.CloseResponse()
		})
	}
}
