// Package gallopgrpc serves gRPC on a gallop server, so that gRPC and HTTP share one server and one port. Generated code works
// unchanged, because [Server] implements [grpc.ServiceRegistrar]:
//
//	var rpc gallopgrpc.Server
//	pb.RegisterGreeterServer(&rpc, &greeter{})
//	s := &gallop.Server{Handler: pages}
//	rpc.Configure(s)
//	log.Fatal(s.ListenAndServe(":8080"))
//
// The package uses the interfaces, the codecs, the compressors and the status type of google.golang.org/grpc. It uses neither
// grpc-go's server nor net/http. gallop's HTTP/2 server handles connections, flow control, keepalive pings, limits and
// shutdown.
//
// # Calls
//
// Handlers get everything that they get from grpc-go: metadata, the peer, deadlines, cancellation, interceptors, and the
// functions grpc.SetHeader, grpc.SendHeader, grpc.SetTrailer and grpc.Method. The context may be used after the handler has
// returned. It is then canceled.
//
// A message that a handler sends on a stream leaves when the handler receives, waits or returns, or when 16 KiB are
// waiting. Messages that are sent in a row therefore leave together.
//
// If a handler panics, the server logs the panic, and the call fails with the code Internal.
//
// # Shutdown
//
// [gallop.Server.Shutdown] waits for calls in flight. It does not cancel their contexts.
//
// # What does not work
//
//   - grpc.SetSendCompressor: use [SetSendCompressor] of this package. grpc.ClientSupportedCompressors fails.
//   - grpc.PreparedMsg, binary logs and channelz.
//   - Options of grpc.NewServer about connections. Use the fields of gallop.Server, such as HTTP2.
//   - Trailers with names that RFC 9110 §6.5.1 does not allow, such as "authorization". The server logs them.
package gallopgrpc
