package gallopgrpc

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/stats"
)

// Server serves gRPC services on a [gallop.Server]. The zero value is ready for use: register services, and then call
// [Server.Configure]. Set the fields before the first call arrives, and do not copy a Server.
//
// A Server implements [grpc.ServiceRegistrar], so generated code registers services on it. Services may be registered at
// any time.
type Server struct {
	// MaxRecvMsgSize limits the size of a received message in bytes, before and after decompression. Zero means 4 MiB.
	// A negative value means no limit.
	MaxRecvMsgSize int

	// MaxSendMsgSize limits the size of a sent message in bytes, after compression. Zero or a negative value means no
	// limit.
	MaxSendMsgSize int

	// UnaryInterceptors are called for each unary call. The first one is the outermost.
	UnaryInterceptors []grpc.UnaryServerInterceptor

	// StreamInterceptors are called for each streaming call. The first one is the outermost.
	StreamInterceptors []grpc.StreamServerInterceptor

	// UnknownServiceHandler is called for methods that are not registered, as a bidirectional stream. If
	// UnknownServiceHandler is nil, such calls fail with the code Unimplemented.
	UnknownServiceHandler grpc.StreamHandler

	// Codec encodes and decodes all messages. If Codec is nil, the content type of a request chooses a registered codec.
	Codec encoding.CodecV2

	// StatsHandler is told about each call: [stats.Handler.TagRPC] and [stats.Handler.HandleRPC]. TagConn and HandleConn
	// are not called.
	StatsHandler stats.Handler

	mu       sync.Mutex
	services map[string]*service
	methods  atomic.Pointer[map[string]*method] // by path

	once    sync.Once
	unary   grpc.UnaryServerInterceptor // all of them, or nil
	stream  grpc.StreamServerInterceptor
	maxRecv int
	maxSend int
	unknown *method
	proto   encoding.CodecV2
	plain   bool // proto is the codec of grpc-go
}

var (
	_ grpc.ServiceRegistrar = (*Server)(nil)
	_ reflection.GRPCServer = (*Server)(nil)
)

// service is a registered service.
type service struct {
	methods  []grpc.MethodInfo
	metadata any
}

// method is a method of a service.
type method struct {
	path  string // with both slashes
	impl  any
	unary grpc.MethodHandler // nil for a streaming method
	serve grpc.StreamHandler // nil for a unary method
	info  grpc.StreamServerInfo
}

// defaultMaxRecv is the default of MaxRecvMsgSize.
const defaultMaxRecv = 4 << 20

// resolve fills in defaults. It runs once, before the first call.
func (s *Server) resolve() {
	s.maxRecv = cmp.Or(s.MaxRecvMsgSize, defaultMaxRecv)
	if s.maxRecv < 0 {
		s.maxRecv = math.MaxInt
	}
	if s.maxSend = s.MaxSendMsgSize; s.maxSend <= 0 {
		s.maxSend = math.MaxInt
	}
	s.unary = chainUnary(s.UnaryInterceptors)
	s.stream = chainStream(s.StreamInterceptors)
	if s.UnknownServiceHandler != nil {
		s.unknown = &method{serve: s.UnknownServiceHandler, info: grpc.StreamServerInfo{IsClientStream: true, IsServerStream: true}}
	}
	s.proto = encoding.GetCodecV2(proto.Name)
	s.plain = isPlainProto(s.proto)
}

// isPlainProto reports whether c is grpc-go's codec for protocol buffers. Programs can register another one with its name.
func isPlainProto(c encoding.CodecV2) bool {
	t := reflect.TypeOf(c)
	return t != nil && t.Kind() == reflect.Pointer && t.Elem().PkgPath() == "google.golang.org/grpc/encoding/proto"
}

// RegisterService registers a service and its implementation. Generated functions like RegisterGreeterServer call
// RegisterService. RegisterService panics if impl does not implement the service, or if the service is registered already.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	if impl != nil && desc.HandlerType != nil {
		want := reflect.TypeOf(desc.HandlerType).Elem()
		if have := reflect.TypeOf(impl); !have.Implements(want) {
			panic(fmt.Sprintf("gallopgrpc: %v does not implement the service %s: it is not a %v", have, desc.ServiceName, want))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.services[desc.ServiceName] != nil {
		panic(fmt.Sprintf("gallopgrpc: the service %s is registered twice", desc.ServiceName))
	}
	if s.services == nil {
		s.services = map[string]*service{}
	}
	methods := map[string]*method{}
	if old := s.methods.Load(); old != nil {
		maps.Copy(methods, *old)
	}
	s.services[desc.ServiceName] = addMethods(methods, desc, impl)
	s.methods.Store(&methods)
}

// addMethods adds the methods of a service to all.
func addMethods(all map[string]*method, desc *grpc.ServiceDesc, impl any) *service {
	sv := &service{metadata: desc.Metadata}
	for _, d := range desc.Methods {
		path := "/" + desc.ServiceName + "/" + d.MethodName
		all[path] = &method{path: path, impl: impl, unary: d.Handler}
		sv.methods = append(sv.methods, grpc.MethodInfo{Name: d.MethodName})
	}
	for _, d := range desc.Streams {
		path := "/" + desc.ServiceName + "/" + d.StreamName
		info := grpc.StreamServerInfo{FullMethod: path, IsClientStream: d.ClientStreams, IsServerStream: d.ServerStreams}
		all[path] = &method{path: path, impl: impl, serve: d.Handler, info: info}
		sv.methods = append(sv.methods, grpc.MethodInfo{Name: d.StreamName, IsClientStream: d.ClientStreams, IsServerStream: d.ServerStreams})
	}
	return sv
}

// GetServiceInfo returns the registered services by name. Package reflection calls GetServiceInfo.
func (s *Server) GetServiceInfo() map[string]grpc.ServiceInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	infos := make(map[string]grpc.ServiceInfo, len(s.services))
	for name, sv := range s.services {
		infos[name] = grpc.ServiceInfo{Methods: append([]grpc.MethodInfo(nil), sv.methods...), Metadata: sv.metadata}
	}
	return infos
}

// find returns the method with this path, or nil.
func (s *Server) find(path []byte) *method {
	if all := s.methods.Load(); all != nil {
		if m := (*all)[string(path)]; m != nil {
			return m
		}
	}
	return s.unknown
}

// whyUnknown returns what is wrong with the path of a method that was not found.
func (s *Server) whyUnknown(path string) string {
	name, ok := strings.CutPrefix(path, "/")
	slash := strings.LastIndexByte(name, '/')
	if !ok || slash < 0 {
		return fmt.Sprintf("malformed method name: %q", path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.services[name[:slash]] == nil {
		return fmt.Sprintf("unknown service %s", name[:slash])
	}
	return fmt.Sprintf("unknown method %s for service %s", name[slash+1:], name[:slash])
}
