package main

import (
	"context"

	"github.com/gallop-http/gallop/examples/arena/profile"
)

// sums is the gRPC service.
type sums struct {
	profile.UnimplementedSumsServer
}

func (sums) Add(_ context.Context, in *profile.AddRequest) (*profile.AddResponse, error) {
	return &profile.AddResponse{Sum: in.A + in.B}, nil
}
