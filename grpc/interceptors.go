package gallopgrpc

import (
	"context"

	"google.golang.org/grpc"
)

// chainUnary returns an interceptor that calls all of them, the first one as the outermost. It returns nil without any.
func chainUnary(all []grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	first, rest := all[0], chainUnary(all[1:])
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		return first(ctx, req, info, func(ctx context.Context, req any) (any, error) { return rest(ctx, req, info, handler) })
	}
}

// chainStream is chainUnary for streams.
func chainStream(all []grpc.StreamServerInterceptor) grpc.StreamServerInterceptor {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	first, rest := all[0], chainStream(all[1:])
	return func(impl any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		return first(impl, ss, info, func(impl any, ss grpc.ServerStream) error { return rest(impl, ss, info, handler) })
	}
}
