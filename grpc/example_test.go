package gallopgrpc_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/gallop-http/gallop"
	gallopgrpc "github.com/gallop-http/gallop/grpc"
)

// greeter implements a service. The service of this example is the one for health checks, because its generated code is in
// grpc-go.
type greeter struct {
	healthpb.UnimplementedHealthServer
}

func (greeter) Check(ctx context.Context, in *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if in.Service == "" {
		return nil, status.Error(codes.InvalidArgument, "the name is missing")
	}
	grpc.SetHeader(ctx, metadata.Pairs("greeting", "hello "+in.Service))
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

func (greeter) Watch(in *healthpb.HealthCheckRequest, stream healthpb.Health_WatchServer) error {
	for range 3 {
		if err := stream.Send(&healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}); err != nil {
			return err
		}
	}
	return nil
}

func page(ctx *gallop.RequestCtx) { ctx.SetBodyString("a page\n") }

func Example() {
	var rpc gallopgrpc.Server
	healthpb.RegisterHealthServer(&rpc, greeter{})

	s := &gallop.Server{Handler: page}
	rpc.Configure(s)

	ln, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		log.Fatal(err)
	}
	go s.Serve(ln)
	defer s.Shutdown()

	conn, err := grpc.NewClient(ln.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := healthpb.NewHealthClient(conn)

	var header metadata.MD
	r, err := client.Check(context.Background(), &healthpb.HealthCheckRequest{Service: "world"}, grpc.Header(&header))
	fmt.Println(r.GetStatus(), header.Get("greeting"), err)

	_, err = client.Check(context.Background(), &healthpb.HealthCheckRequest{})
	fmt.Println(status.Code(err), status.Convert(err).Message())

	code, body, err := gallop.Get(nil, "http://"+ln.Addr().String()+"/")
	fmt.Printf("%d %s%v\n", code, body, err)
	// Output:
	// SERVING [hello world] <nil>
	// InvalidArgument the name is missing
	// 200 a page
	// <nil>
}

func logCalls(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	start := time.Now()
	reply, err := handler(ctx, req)
	log.Println(info.FullMethod, status.Code(err), time.Since(start))
	return reply, err
}

func ExampleServer() {
	rpc := gallopgrpc.Server{
		MaxRecvMsgSize:    16 << 20,
		UnaryInterceptors: []grpc.UnaryServerInterceptor{logCalls},
	}
	healthpb.RegisterHealthServer(&rpc, health.NewServer())
	reflection.Register(&rpc)
	fmt.Println(len(rpc.GetServiceInfo()))
	// Output: 3
}
